# SPDX-License-Identifier: BSD-2-Clause
#
# To ctest, a program of GoogleTest that is one test has passed though cases in it were skipped:
#   skips.py run LOG COMMAND...   runs the program, and keeps what it prints; without tests it fails
#   skips.py list LOG             prints which cases it skipped, and why; status 77: there are some
import os
import re
import subprocess
import sys

SKIPPED = 77


def run(log, command):
    with open(log, "wb") as kept:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for line in child.stdout:
            for out in (sys.stdout.buffer, kept):
                out.write(line)
                out.flush()
        status = child.wait()
    if status < 0:
        os.kill(os.getpid(), -status)
    if status == 0 and not has_run(read(log)):
        print("no test was run, which GoogleTest calls a success")
        return 1
    return status


def read(log):
    with open(log, encoding="utf-8", errors="replace") as file:
        return file.read()


def has_run(text):
    """Whether it came to its end, and not without a test: a filter may match nothing."""
    return re.search(r"^\[==========\] [1-9]\d* tests? from .* ran\.", text, re.MULTILINE)


def skips(text):
    """Case and reason of each: what GoogleTest prints between the lines that begin and end it."""
    found = []
    for case, output in re.findall(
            r"^\[ RUN      \] (\S+)$(.*?)^\[  SKIPPED \] \1 ", text, re.DOTALL | re.MULTILINE):
        reason = re.search(r"NOT TESTED HERE: (.*)", output)
        found.append((case, reason[1] if reason else "no reason given"))
    return found


def main(verb, log, *command):
    if verb == "run":
        return run(log, command)
    text = read(log)
    if not has_run(text):
        print(f"{log}: no run of GoogleTest that came to its end")
        return 1
    found = skips(text)
    for case, reason in found:
        print(f"{case}: {reason}")
    if len(found) != len(re.findall(r"^\[  SKIPPED \] \S+ \(\d+ ms\)$", text, re.MULTILINE)):
        print(f"{log}: skips that this script does not understand")
        return 1
    return SKIPPED if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
