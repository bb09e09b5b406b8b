# SPDX-License-Identifier: BSD-2-Clause
#
# The build refuses a kernel file without a row, a row without a file, a row given twice and a
# kernels.def without rows; a CPU that arch/ does not know gets the generic kernels: kernel_rows.py
# ROOT. Each is tried on a copy of the sources, and so is the unchanged copy, which must configure.
import os
import shutil
import subprocess
import sys
import tempfile

import report


def configure(root, folder, change, *options):
    source = os.path.join(folder, "source")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(source)
    shutil.copy(os.path.join(root, "CMakeLists.txt"), source)
    for name in ("arch", "cmake", "include", "lib"):
        shutil.copytree(os.path.join(root, name), os.path.join(source, name))
    change(os.path.join(source, "arch"))
    return subprocess.run(
        ["cmake", "-G", "Ninja", "-S", source, "-B", os.path.join(folder, "build"),
         "-DHPZERO_CORE_ONLY=ON", *options],
        text=True, capture_output=True)


def append(path, text, mode="a"):
    with open(path, mode, encoding="utf-8") as file:
        file.write(text)


ROW = 'HPZ_KERNEL({}, none, none, kCached, kOrdered, 1, 0, "x")\n'
CASES = [
    ("unchanged", lambda arch: None, [], None),
    ("file without row", lambda arch: append(f"{arch}/generic/stray.cpp", "\n"), [], "has no row"),
    ("row without file", lambda arch: append(f"{arch}/generic/kernels.def", ROW.format("ghost")),
     [], "has no file"),
    ("two rows", lambda arch: append(f"{arch}/generic/kernels.def", ROW.format("word64")), [],
     "has two rows"),
    ("no rows", lambda arch: append(f"{arch}/generic/kernels.def", "", "w"), [], "no rows"),
    # A CPU without a directory of its own has the generic kernels.
    ("unknown CPU", lambda arch: None,
     ["-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=vax"], None),
]


def check(root):
    violations = []
    with tempfile.TemporaryDirectory() as folder:
        for name, change, options, message in CASES:
            done = configure(root, os.path.join(folder, "try"), change, *options)
            text = " ".join(done.stderr.split())
            if message is None and done.returncode:
                violations.append(f"{name}: does not configure: {text}")
            if message is not None and (done.returncode == 0 or message not in text):
                violations.append(f"{name}: expected the error '{message}', got: {text or 'none'}")
    return violations, len(CASES)


if __name__ == "__main__":
    report.finish(*check(sys.argv[1]), "configurations")
