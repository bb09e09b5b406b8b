# SPDX-License-Identifier: BSD-2-Clause
#
# Every public header compiles alone, twice over, pedantically, by each compiler: headers.py
# INCLUDE_DIR COMPILER_PAIR..., a pair being "cc,c++". C headers as C11 and C++17, the C++ header as
# C++17 and C++20.
import os
import subprocess
import sys

import report

FLAGS = ["-fsyntax-only", "-pedantic-errors", "-Wall", "-Wextra", "-Wshadow", "-Wconversion",
         "-Wundef", "-Werror"]


def check(include, pairs):
    violations = []
    checked = 0
    for name in sorted(os.listdir(os.path.join(include, "hpzero"))):
        languages = [("c++", "c++17"), ("c++", "c++20" if name.endswith(".hpp") else "c++11")]
        if name.endswith(".h"):
            languages.append(("c", "c11"))
        source = f"#include <hpzero/{name}>\n" * 2 + "extern int unused;\n"
        for pair in pairs:
            for language, standard in languages:
                compiler = pair.split(",")[language == "c++"]
                checked += 1
                done = subprocess.run(
                    [compiler, "-x", language, f"-std={standard}", *FLAGS, "-I", include, "-"],
                    input=source, text=True, capture_output=True)
                if done.returncode:
                    violations.append(f"{name} as {standard} by {compiler}:\n{done.stderr}")
    return violations, checked


if __name__ == "__main__":
    report.finish(*check(sys.argv[1], sys.argv[2:]), "compilations")
