# SPDX-License-Identifier: BSD-2-Clause
#
# clang-format would change nothing: format.py ROOT. Tables of rows (.def) are laid out by hand.
import os
import subprocess
import sys

import report
import tree


def check(root):
    names = [name for name in tree.files(root) if name.endswith(tree.SOURCES)
             and not name.endswith(".def")]
    if not names:
        return [], 0
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", *names], cwd=root, text=True,
                          capture_output=True)
    return ([done.stderr] if done.returncode else []), len(names)


if __name__ == "__main__":
    report.finish(*check(os.path.abspath(sys.argv[1])), "sources")
