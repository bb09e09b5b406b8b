# SPDX-License-Identifier: BSD-2-Clause
#
# The files of a source tree, without build products: what git would keep, or, where the tree is not
# a git checkout (a release archive, a test's copy), everything outside build/.
import os
import subprocess

SOURCES = (".c", ".cpp", ".h", ".hpp", ".inc", ".def")


def files(root):
    if os.path.exists(os.path.join(root, ".git")):
        # safe.directory: continuous integration may run as another user than the checkout's owner.
        listed = subprocess.run(
            ["git", "-c", f"safe.directory={root}", "-C", root, "ls-files", "-z", "--cached",
             "--others", "--exclude-standard"],
            check=True, capture_output=True).stdout.decode().split("\0")
        return sorted({name for name in listed
                       if name and os.path.isfile(os.path.join(root, name))})
    found = []
    for folder, folders, names in os.walk(root):
        if folder == root:
            folders[:] = [name for name in folders if name not in ("build", ".git")]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(found)


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8", errors="surrogateescape",
              newline="") as file:
        return file.read()
