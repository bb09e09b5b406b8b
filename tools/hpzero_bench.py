# SPDX-License-Identifier: BSD-2-Clause
#
# hpzero-bench as tools/measure and tools/measure_pairs run it: built as packaged, and without what
# the caller's environment tells the library, for what it does by itself is judged.
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build", "release")
BENCH = os.path.join(BUILD, "bench", "hpzero-bench")


def build():
    for command in (["tools/setup", "build"], ["cmake", "--preset", "release"],
                    ["cmake", "--build", "--preset", "release"]):
        done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
        if done.returncode != 0:
            sys.exit(f"{done.stdout}{done.stderr}{sys.argv[0]}: {' '.join(command)} failed")


def commit():
    done = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=12"],
                          text=True, capture_output=True)
    return done.stdout.strip() or "unknown"


def run(*arguments):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HPZ_")}
    return subprocess.run([BENCH, *arguments], stdout=subprocess.PIPE, text=True, env=environment)
