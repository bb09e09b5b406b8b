# SPDX-License-Identifier: BSD-2-Clause
#
# The file of --json is as bench/README.md documents it: json_test.py HPZERO_BENCH CLASS.TEST. Each
# subcommand writes one, on tiny settings.
import json
import os
import subprocess
import sys
import tempfile
import unittest

import json_keys
import memory
import one_test

BENCH = ""
SMALL = "--pages 4k --repetitions 1"
RUNS = {
    "run": f"{SMALL} --size 64KiB,1GiB --set 1GiB --memory cold",
    "overhead": "--repetitions 2",
    "parallel": SMALL,
    "populate": f"{SMALL} --size 16MiB --set 64MiB",
    "mapping": f"{SMALL} --size 2MiB --set 64MiB",
    "twice": f"{SMALL} --size 16MiB",
    "metadata": "--size 1GiB --repetitions 1",
    "pool": f"{SMALL} --size 16MiB",
    "bystander": f"{SMALL} --kernel memset --size 64MiB --set 1MiB",
    "tune": f"{SMALL} --set 64MiB --force --output profile",
}
# Machines may lack what these are about: another thread's cache, a job long enough to be cancelled.
OF_SOME_MACHINES = {"cancel_...", "l2_warm_pass_ns", "l2_pass_ns", "llc_warm_pass_ns",
                    "llc_pass_ns"}


class Keys(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def bench(self, *arguments):
        done = subprocess.run([BENCH, *arguments], cwd=self.folder, text=True, capture_output=True,
                              timeout=280)
        self.assertEqual(done.returncode, 0, (arguments, done.stderr))
        return done.stdout

    def test_all_that_is_written_is_documented_and_the_other_way_round(self):
        if memory.available_bytes() < 3 << 30:
            self.skipTest("less than 3 GiB of memory: some keys are of 1 GiB alone")
        listed = self.bench("--help").split("\ncommands:\n")[1].split("\n\n")[0].splitlines()
        commands = {line.split()[0] for line in listed if line[2] != " "}
        self.assertEqual({name for name in commands
                          if "\n  --json FILE " in self.bench(name, "--help")}, set(RUNS))
        written = [set(), set()]
        for name, arguments in RUNS.items():
            self.bench(name, *arguments.split(), "--json", "out.json")
            with open(os.path.join(self.folder, "out.json"), encoding="utf-8") as file:
                results = json.load(file)
            self.assertEqual(json_keys.undocumented(results), [], name)
            written[0] |= set(results["context"])
            written[1] |= {key for sample in results["benchmarks"] for key in sample}
        for keys, names in zip(written, json_keys.documented()):
            idle = [name for name in names if name not in OF_SOME_MACHINES
                    and not any(json_keys.is_among(key, [name]) for key in keys)]
            self.assertEqual(idle, [], "documented, and written by nobody")

    def test_what_is_not_documented_is_seen(self):
        self.assertEqual(json_keys.undocumented({"context": {"linux": "6", "cpu_x": "", "linu": ""},
                                                 "benchmarks": [{"ns": 1, "nss": 1}]}),
                         ["context: linu", "sample: nss"])


if __name__ == "__main__":
    sys.exit(one_test.main())
