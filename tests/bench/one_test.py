# SPDX-License-Identifier: BSD-2-Clause
#
# What the test programs of hpzero-bench have in common: PROGRAM.py HPZERO_BENCH CLASS.TEST runs one
# test, PROGRAM.py --list names them. The program under test is left in the module's BENCH.
import os
import sys
import unittest

NOT_TESTED_HERE = 77  # SKIP_RETURN_CODE of the ctest tests: seen in their list, and not green


def main():
    module = sys.modules["__main__"]
    if sys.argv[1] == "--list":
        suites = unittest.defaultTestLoader.loadTestsFromModule(module)
        names = [test.id().removeprefix("__main__.") for suite in suites for test in suite]
        print("\n".join(names))
        return 0
    module.BENCH = os.path.abspath(sys.argv[1])
    suite = unittest.defaultTestLoader.loadTestsFromName(sys.argv[2], module)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    if not result.wasSuccessful() or result.testsRun != 1:
        return 1
    return NOT_TESTED_HERE if result.skipped else 0
