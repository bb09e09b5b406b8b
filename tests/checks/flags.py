# SPDX-License-Identifier: BSD-2-Clause
#
# What the compiler was told: flags.py ROOT COMPILE_COMMANDS. No file is compiled for more than the
# baseline CPU (an ISA comes from function attributes in arch/ alone), arch/ never with builtins,
# the libraries without exceptions and RTTI.
import json
import os
import re
import shlex
import sys

import report
import tree

LIBRARY_FLAGS = ["-fno-exceptions", "-fno-rtti", "-fvisibility=hidden", "-fPIC"]
# Not of an ISA.
HARMLESS = {"-mno-outline-atomics"}
PRAGMA = re.compile(r"#\s*pragma\s+(GCC\s+target|clang\s+attribute)|_Pragma\(\"GCC target")


def check(root, commands):
    violations = []
    checked = 0
    for entry in commands:
        name = os.path.relpath(entry["file"], root)
        if name.startswith(".."):
            continue  # of another source tree: GoogleTest's
        flags = shlex.split(entry["command"])
        checked += 1
        for flag in flags:
            if re.match(r"-m(?!usl)", flag) and flag not in HARMLESS:
                violations.append(f"{name}: compiled with {flag}")
        if name.startswith(("arch/", "lib/")):
            for flag in LIBRARY_FLAGS + ["-fno-builtin"] * name.startswith("arch/"):
                if flag not in flags:
                    violations.append(f"{name}: compiled without {flag}")
    for name in tree.files(root):
        if name.endswith(tree.SOURCES):
            for number, line in enumerate(tree.read(root, name).splitlines(), 1):
                if PRAGMA.search(line):
                    violations.append(f"{name}:{number}: a pragma gives included inline functions "
                                      "the ISA, too; use the function's attribute")
    return violations, checked


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8") as file:
        report.finish(*check(os.path.abspath(sys.argv[1]), json.load(file)), "compilations")
