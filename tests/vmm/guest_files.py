# SPDX-License-Identifier: BSD-2-Clause
#
# Kernel and initramfs for the guests of qemu_test.cpp, in the way of tests/guest/boot.py:
# guest_files.py KERNEL_FOLDER FOLDER INIT PROGRAM. Boots nothing.
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "guest"))
import boot  # pylint: disable=wrong-import-position


def main(kernel_folder, folder, init, program):
    try:
        print(boot.kernel(kernel_folder))
        print(boot.initramfs(folder, init, program))
    except boot.Failure as failure:
        print(f"guest_files.py: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
