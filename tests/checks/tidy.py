# SPDX-License-Identifier: BSD-2-Clause
#
# clang-tidy: tidy.py ROOT BUILD_DIR FOLDER... The checks are those of .clang-tidy at the root.
import json
import os
import subprocess
import sys

import report


def tidy(build, source):
    done = subprocess.run(["clang-tidy", "--quiet", "-p", build, source], text=True,
                          capture_output=True)
    # stderr counts the warnings suppressed in system headers, also where all is well.
    return done.stdout + done.stderr if done.returncode else ""


def check(root, build, folders):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        sources = sorted({entry["file"] for entry in json.load(file)})
    sources = [source for source in sources
               if os.path.relpath(source, root).startswith(folders)]
    texts = (tidy(build, source) for source in sources)
    return [text for text in texts if text], len(sources)


if __name__ == "__main__":
    report.finish(*check(os.path.abspath(sys.argv[1]), sys.argv[2], tuple(sys.argv[3:])), "sources")
