# SPDX-License-Identifier: BSD-2-Clause
#
# One libFuzzer target for a bounded time. Fails on a finding, whose input is kept and named, and
# also where too little was tried to mean anything. The corpus given is read, never written.
import argparse
import os
import re
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--keep", required=True)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--at-least", type=int, required=True)
    arguments = parser.parse_args()
    if not os.listdir(arguments.corpus):
        sys.exit(f"{arguments.corpus} is empty: the target would begin from nothing")
    os.makedirs(arguments.keep, exist_ok=True)
    with tempfile.TemporaryDirectory() as found:
        done = subprocess.run(
            [arguments.target, f"-max_total_time={arguments.seconds}", "-print_final_stats=1",
             f"-artifact_prefix={arguments.keep}/", "-timeout=20", found, arguments.corpus],
            text=True, errors="replace", capture_output=True)
    if done.returncode:
        print(done.stderr[-20000:])
        sys.exit(f"finding; its input is kept in {arguments.keep}")
    executed = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
    executed = int(executed[1]) if executed else 0
    print(f"{executed} executions in {arguments.seconds} s")
    if executed < arguments.at_least:
        print(done.stderr[-5000:])
        sys.exit(f"fewer than {arguments.at_least} executions")


if __name__ == "__main__":
    main()
