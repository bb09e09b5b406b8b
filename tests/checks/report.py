# SPDX-License-Identifier: BSD-2-Clause
#
# How every check ends: it prints each violation on a line of its own and fails, or says how much it
# looked at. Having looked at nothing is a failure, too.
import sys


def finish(violations, looked_at, what):
    for violation in violations:
        print(violation)
    if violations:
        print(f"{len(violations)} violations")
        sys.exit(1)
    if not looked_at:
        print(f"nothing checked: no {what}")
        sys.exit(1)
    print(f"{looked_at} {what} checked")
