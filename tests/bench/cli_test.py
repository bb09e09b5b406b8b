# SPDX-License-Identifier: BSD-2-Clause
#
# hpzero-bench from the command line: cli_test.py HPZERO_BENCH. Exit codes, refusals in one
# sentence, arithmetic recomputed from the JSON, nothing left behind. Tiny settings: no speed is
# checked.
import json
import os
import re
import resource
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

import huge_pools
import json_keys
import memory
import one_test

BENCH = ""
TINY = ["--set", "64MiB", "--pages", "4k", "--size", "4KiB,64KiB", "--repetitions", "3"]
POOL = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"


def bench(*arguments, **more):
    return subprocess.run([BENCH, *arguments], text=True, capture_output=True, timeout=200, **more)


class Folder(unittest.TestCase):
    """Each test has an empty folder, and leaves no more huge pages than there were."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.pages = huge_pools.pages()

    def tearDown(self):
        # What others have reserved meanwhile goes again; what is left behind stays.
        deadline = time.monotonic() + 60
        while self.left_reserved() and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(self.left_reserved(), {}, "huge pages left reserved")

    def left_reserved(self):
        return huge_pools.more_than(self.pages)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def files(self):
        return sorted(os.listdir(self.folder.name))

    def read_rows(self):
        """json, and rows of it: runs by name."""
        with open(self.path("out.json"), encoding="utf-8") as file:
            self.json = json.load(file)
        self.assertEqual(json_keys.undocumented(self.json), [])
        self.rows = {}
        for run in self.json["benchmarks"]:
            self.rows.setdefault(run["name"], []).append(run)


class Words(Folder):
    def test_help_and_version(self):
        done = bench("--help")
        self.assertEqual(done.returncode, 0)
        for word in ("run", "list", "explain SIZE", "tune", "parallel", "populate", "mapping",
                     "twice", "metadata", "pool", "bystander", "compare A.json B.json", "--peers",
                     "--json", "--reference", "--threads", "--fail-below"):
            self.assertIn(word, done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)
        done = bench("--version")
        self.assertRegex(done.stdout, r"^hpzero-bench \d+\.\d+\.\d+\n$")

    def test_help_of_a_command_has_its_options_and_what_is_usual(self):
        for words, has, lacks in ((("mapping",), ("--kernel", "1GiB"), "--threads"),
                                  (("twice",), ("pages 2m and thp; 2GiB",), "--set"),
                                  (("metadata",), ("512GiB", "multiples of 1GiB"), "--pages"),
                                  (("pool",), ("pages 1g and 2m", "8GiB"), "--threads"),
                                  (("explain", "2MiB"), ("explain SIZE",), "--size"),
                                  (("run",), ("--reference", "recycled and cold"), "--threads")):
            done = bench(*words, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)
            for word in has:
                self.assertIn(word, done.stdout, words)
            self.assertNotRegex(done.stdout, rf"(?m)^  {lacks} ", words)
            self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)

    def test_list_names_every_kernel_and_why_not(self):
        done = bench("list", env={**os.environ, "HPZ_CPU_DISABLE": "avx2"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for kernel in ("memset", "word64", "hwy_stream", "xsimd_st"):
            self.assertRegex(done.stdout, rf"(?m)^  {kernel} +(usable|lacks)")
        if re.search(r"(?m)^  avx2_nt ", done.stdout):
            self.assertRegex(done.stdout, r"(?m)^  avx2_nt +lacks avx2")

    def test_explain_says_what_and_why(self):
        done = bench("explain", "2MiB")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for word in ("hpz_zero(p, 2MiB): ", "hpz_zero_cached(p, 2MiB): ", "USED by", "plan: ",
                     "caches as the CPU reports them", "probe of hpz_zero", "features: "):
            self.assertIn(word, done.stdout)

    def test_explain_obeys_the_environment(self):
        done = bench("explain", "2MiB", env={**os.environ, "HPZ_KERNEL": "word64"})
        self.assertIn("hpz_zero_stream, hpz_zero_pages(p, 2MiB): word64", done.stdout)


class Refusals(Folder):
    def refused(self, *arguments, says, **more):
        done = bench(*arguments, **more)
        self.assertEqual(done.returncode, 2, (arguments, done.stderr))
        self.assertEqual(done.stdout, "", arguments)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        # What is wrong, a colon, what to do.
        self.assertRegex(lines[0], r"^hpzero-bench: .+: .+", arguments)
        self.assertIn(says, lines[0])
        self.assertEqual(self.files(), [])

    def test_sizes(self):
        self.refused("--size", "4K", says="write 4KiB or 4kB")
        self.refused("--size", "1G", says="write 1GiB or 1GB")
        self.refused("--size", "4096", says="write 4096B")
        self.refused("--size", "8KiB..4KiB", says="4KiB..8KiB")
        self.refused("explain", "4k", says="write 4KiB or 4kB")
        self.refused("--size", "1000GiB", says="does not fit")
        self.refused("--size", "1000GiB", "--pages", "4k", says="use sizes up to")
        self.refused("--set", "1000GiB", "--pages", "2m", says="use --set")

    def test_names(self):
        self.refused("--kernel", "nosuch", says="hpzero-bench list")
        self.refused("--reference", "nosuch", says="hpzero-bench list")
        self.refused("--pages", "16k", says="4k, thp, 2m or 1g")
        self.refused("--memory", "warm", says="hot, recycled, cold or fresh")
        self.refused("--frobnicate", says="--help")
        self.refused("frobnicate", says="run, list, explain, tune")
        self.refused("explain", says="explain SIZE")
        self.refused("list", "--json", "x", says="leave it out")

    def test_threads_and_jobs(self):
        for command in ("parallel", "populate"):
            self.refused(command, "--threads", "0", says="from 1 to 16384")
            self.refused(command, "--threads", "99999", says="from 1 to 16384")
            self.refused(command, "--threads", "two", says="'two' is no value")
            self.refused(command, "--threads", "16384", says="use --threads up to")
            self.refused(command, "--size", "1000GiB", says="does not fit")
            self.refused(command, "--size", "1000GiB", "--pages", "4k", says="use sizes up to")
            self.refused(command, "--size", "64KiB", "--pages", "4k", says="from 1MiB on")
            self.refused(command, "--memory", "cold", says="leave it out")
            self.refused(command, "--json", self.path("no/such/folder.json"), says="--json")
        for option in ("--json", "--output"):
            self.refused("tune", option, self.path("no/such/folder"), says=option)
        for command in ("mapping", "twice", "pool"):
            self.refused(command, "--size", "1000GiB", says="does not fit")
            self.refused(command, "--size", "1000GiB", "--pages", "4k", says="use sizes up to")
            self.refused(command, "--size", "3MiB", "--pages", "thp", says="multiples of 2MiB")
            self.refused(command, "--memory", "cold", says="leave it out")
            self.refused(command, "--threads", "1", says="leave it out")
            self.refused(command, "--json", self.path("no/such/folder.json"), says="--json")
        self.refused("mapping", "--kernel", "nosuch", says="hpzero-bench list")
        self.refused("mapping", "--kernel", "hpz_zero", says="is no kernel")
        self.refused("mapping", "--kernel", "word64,memset", says="write --kernel word64")
        self.refused("mapping", "--size", "4MiB", "--set", "2MiB", "--pages", "4k",
                     says="use --set 4MiB or more")
        self.refused("mapping", "--size", "2MiB", "--set", "1000GiB", "--pages", "4k",
                     says="use a smaller --set")
        self.refused("bystander", "--size", "1GiB,2GiB", says="write --size 2GiB")
        self.refused("bystander", "--size", "1000GiB", "--pages", "4k", says="use a smaller --size")
        self.refused("bystander", "--set", "1000GiB", "--size", "4MiB", "--pages", "4k",
                     says="use a smaller --set")
        self.refused("bystander", "--kernel", "nosuch", says="hpzero-bench list")
        self.refused("bystander", "--threads", "1", says="leave it out")
        self.refused("parallel", "--peers", says="leave it out")
        self.refused("metadata", "--size", "1MiB", says="multiples of 1GiB")
        self.refused("metadata", "--size", "1GiB,2GiB", says="write --size 2GiB")
        self.refused("metadata", "--pages", "4k", says="leave it out")
        self.refused("run", "--threads", "1", says="leave it out")
        self.refused("parallel", "--kernel", "nosuch", says="hpzero-bench list")
        self.refused("parallel", "--kernel", "hpz_zero", says="is no kernel")
        self.refused("populate", "--set", "1000GiB", "--pages", "4k", says="use --set")
        self.refused("populate", "--set", "1MiB", "--pages", "4k", says="of at least 16MiB")
        self.refused("populate", "--size", "3MiB", "--pages", "thp", says="multiples of 2MiB")

    def test_a_kernel_that_this_cpu_lacks(self):
        kernels = bench("list").stdout
        if not re.search(r"(?m)^  avx2_nt +usable", kernels):
            self.skipTest("this CPU has no AVX2 that could be taken away")
        self.refused("--kernel", "avx2_nt", says="lacks avx2",
                     env={**os.environ, "HPZ_CPU_DISABLE": "avx2"})

    def test_json_into_nowhere_is_refused_before_anything_is_measured(self):
        # A run of so many rounds would not be over before this gives up.
        forever = ("--repetitions", "100000", "--pages", "4k", "--size", "1MiB")
        self.refused("--json", self.path("no/such/folder.json"), *forever, says="--json")
        self.refused("--json", self.folder.name, *forever, says="is a directory")

    def test_refusal_after_the_file_was_opened_leaves_no_file(self):
        self.refused("--json", self.path("x.json"), "--size", "1000GiB", says="does not fit")
        self.refused("--json", self.path("x.json"), "--kernel", "nosuch", says="nosuch")

    def test_pages_that_cannot_be_had(self):
        # More 1 GiB pages than any machine's memory has are refused by size; one that the pool has
        # not, by the pool. As nobody, so that none can be reserved.
        if os.geteuid() != 0:
            self.skipTest("needs root to become nobody")
        if huge_pools.pages().get("hugepages-1048576kB", 0) != 0:
            self.skipTest("this machine has 1 GiB pages")
        if memory.available_bytes() < 3 << 30:
            self.skipTest("less than 3 GiB of memory: refused for another reason")
        self.refused("--pages", "1g", "--size", "4KiB", says="hugepages-1048576kB",
                     preexec_fn=lambda: os.setuid(65534))


class Json(Folder):
    def setUp(self):
        super().setUp()
        self.file = self.path("out.json")
        self.done = bench("run", *TINY, "--reference", "memset", "--json", self.file)
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertEqual(self.files(), ["out.json"])
        with open(self.file, encoding="utf-8") as file:
            self.json = json.load(file)

    def samples(self):
        """{name: samples by repetition_index}"""
        rows = {}
        for run in self.json["benchmarks"]:
            rows.setdefault(run["name"], {})[run["repetition_index"]] = run
        return rows

    def test_all(self):
        self.assertEqual(self.done.stderr, "")  # no progress line without a terminal
        self.check_context()
        self.check_every_sample_is_kept()
        self.check_arithmetic()
        self.check_table_is_made_of_the_samples()
        self.check_nothing_faulted()
        self.check_warnings_say_what_to_do()

    def check_context(self):
        for key in ("date", "cpu_model", "cpu_microcode", "cpu_caches", "cpu_governor",
                    "transparent_huge_pages", "huge_pages_2m", "hpzero_version", "hpzero_kernels",
                    "hpzero_plan_source", "pinned_to_cpu", "clock_cost_ns"):
            self.assertTrue(self.json["context"].get(key), key)

    def check_every_sample_is_kept(self):
        rows = self.samples()
        for name, samples in rows.items():
            self.assertEqual(sorted(samples), [0, 1, 2], name)
        for row in ("hpz_zero", "hpz_zero_cached", "hpz_zero_stream", "memset", "word64"):
            for state in ("recycled", "cold"):
                for size in ("4KiB", "64KiB"):
                    self.assertIn(f"{row}/{size}/{state}/4k", rows)
        self.assertIn("hpz_zero_pages_x256/4KiB/cold/4k", rows)
        self.assertIn("release_populate/4KiB/cold/4k", rows)

    def check_arithmetic(self):
        for run in self.json["benchmarks"]:
            name = run["name"]
            if "/limit/" in name:
                continue
            self.assertEqual(run["time_unit"], "ns")
            self.assertEqual(run["iterations"], 1)
            self.assertGreater(run["ns"], 0, name)
            self.assertAlmostEqual(run["real_time"] / run["ns"], 1, 9, name)
            seconds = run["ns"] / 1e9
            self.assertAlmostEqual(run["bytes_per_second"] / (run["bytes"] / seconds), 1, 6, name)
            size = int(re.search(r"/(\d+)KiB/", name)[1]) * 1024
            self.assertEqual(run["bytes"], run["ranges"] * size, name)
            # Between a tape and a fantasy: a slip by 1000 is found.
            self.assertTrue(0.01 < run["bytes"] / run["ns"] < 2000, (name, run))

    def check_table_is_made_of_the_samples(self):
        rates = {name: statistics.median(run["bytes"] / run["ns"] for run in samples.values())
                 for name, samples in self.samples().items()}
        checked = 0
        state = None
        for line in self.done.stdout.splitlines():
            heading = re.match(r"(recycled|cold) on ", line)
            if heading:
                state = heading[1]
            if line.startswith("  ratio to"):
                state = None
            cells = re.match(r"  (hpz_zero|memset|word64) +(.*)", line)
            if state is None or not cells or "+-" not in line:
                continue
            printed = [float(value) for value in re.findall(r"([\d.]+) \+-", cells[2])]
            self.assertEqual(len(printed), 2, line)
            for size, value in zip(("4KiB", "64KiB"), printed):
                measured = rates[f"{cells[1]}/{size}/{state}/4k"]
                # Three digits are printed.
                self.assertAlmostEqual(value / measured, 1, delta=0.006, msg=line)
                checked += 1
        self.assertEqual(checked, 12)

    def check_nothing_faulted(self):
        runs = [run for run in self.json["benchmarks"] if "release_populate" not in run["name"]]
        faulted = [run["name"] for run in runs if run["page_faults"] > 0]
        # The kernel may move a page now and then; it may not do so in every row.
        self.assertLess(len(faulted), len(runs) / 20, faulted)

    def check_warnings_say_what_to_do(self):
        warnings = re.findall(r"(?m)^warning: (.*)", self.done.stdout)
        # Memory was measured, too.
        self.assertFalse(any("show caches" in line for line in warnings), self.done.stdout)
        for line in warnings:
            self.assertRegex(line, r".+: .+")
        self.assertIn("GB/s: decimal", self.done.stdout)


class Runs(Folder):
    def test_regret_and_marks(self):
        done = bench("run", *TINY)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"regret +best kernel +GB/s +hpz_zero picks +hpz_zero "
                                      r"+hpz_zero_cached\n  4KiB .*\d\.\d\d +\d\.\d\d\n")
        self.assertRegex(done.stdout, r"(?m)^  \w+ +.*\* [\d.]+ \+-")

    def test_only_what_was_asked_for(self):
        done = bench("run", *TINY, "--kernel", "word64", "--reference", "memset",
                     "--memory", "hot")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^  word64 ")
        self.assertRegex(done.stdout, r"(?m)^  memset +1\.00 +1\.00$")
        self.assertNotRegex(done.stdout, r"(?m)^  hpz_zero_cached ")

    def test_fresh_is_named_as_what_it_is(self):
        done = bench("run", *TINY, "--memory", "fresh", "--kernel", "memset")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("PAGE FAULT AND THE KERNEL'S CLEARING INCLUDED", done.stdout)

    def test_one_mebibyte_is_called_cache(self):
        done = bench("run", "--size", "1MiB", "--pages", "4k", "--memory", "hot", "--repetitions",
                     "3", "--kernel", "memset")
        self.assertRegex(done.stdout, r"warning: .*1MiB show caches and not memory: ")

    def test_overhead(self):
        done = bench("overhead", "--repetitions", "3", "--json", self.path("o.json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"first hpz_zero of a process: [\d.]+ us")
        with open(self.path("o.json"), encoding="utf-8") as file:
            context = json.load(file)["context"]
        self.assertGreater(float(context["first_call_us"]), 0)
        self.assertGreater(float(context["init_us"]), 0)

    def test_full_disk_is_a_failure(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([BENCH, "list"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)

    def test_closed_output_is_a_failure_and_no_file_is_taken_for_it(self):
        target = self.path("x.json")
        for closed in (">&-", "2>&-", "<&- >&- 2>&-"):
            words = shlex.join([BENCH, "run", *TINY, "--kernel", "memset", "--json", target])
            done = subprocess.run(["sh", "-c", f"{words} {closed}"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, timeout=200)
            self.assertEqual(done.returncode, 0 if closed == "2>&-" else 1, closed)
            with open(target, encoding="utf-8") as file:
                json.load(file)
            self.assertEqual(self.files(), ["x.json"])

    def test_output_keeps_its_mode_and_links_to_nothing_are_refused(self):
        target = self.path("x.json")
        with open(target, "w", encoding="ascii"):
            os.chmod(target, 0o600)
        self.assertEqual(bench("run", *TINY, "--kernel", "memset", "--json", target).returncode, 0)
        self.assertEqual(os.stat(target).st_mode & 0o777, 0o600)
        os.symlink(self.path("nothing"), self.path("link"))
        for name in (self.path("link"), ""):
            done = bench("run", *TINY, "--kernel", "memset", "--json", name)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(self.files(), ["link", "x.json"])

    def test_file_that_may_not_grow_is_told_of(self):
        words = shlex.join([BENCH, "run", *TINY, "--kernel", "memset", "--json",
                            self.path("x.json")])
        done = subprocess.run(["sh", "-c", f"ulimit -f 1; {words}"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=200)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("File too large", done.stderr)
        self.assertEqual(self.files(), [])

    def test_names_do_not_steer_the_terminal(self):
        done = bench("compare", self.path("a\x1b]0;x\x07.json"), self.path("b.json"))
        self.assertEqual(done.returncode, 2)
        self.assertNotIn("\x1b", done.stderr)
        self.assertIn("a?]0;x?.json", done.stderr)

    def test_json_may_be_a_pipe_but_is_then_not_replaced(self):
        done = bench("run", *TINY, "--kernel", "memset", "--json", "/dev/null")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(os.path.isfile("/dev/null"))

    def test_json_replaces_what_was_there(self):
        target = self.path("x.json")
        with open(target, "w", encoding="ascii") as file:
            file.write("old")
        done = bench("run", *TINY, "--kernel", "memset", "--json", target)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(target, encoding="utf-8") as file:
            json.load(file)
        self.assertEqual(self.files(), ["x.json"])


class Bystander(Folder):
    """What clearing costs others, what others clear with, and the most there is to reach."""

    def load(self):
        self.read_rows()
        for line in re.findall(r"(?m)^(?:warning|note): (.*)", self.done.stdout):
            self.assertRegex(line, r".+: .+")

    def slow_down(self, name, level):
        runs = self.rows[name]
        undisturbed = [run for run in runs if run["preempted"] == 0]
        return statistics.median(run[f"{level}_pass_ns"] / run[f"{level}_warm_pass_ns"]
                                 for run in undisturbed or runs)

    def test_bystander(self):
        self.done = bench("bystander", "--pages", "4k", "--size", "16MiB", "--set", "4MiB",
                          "--kernel", "word64,memset", "--repetitions", "2", "--json",
                          self.path("out.json"))
        self.assertEqual((self.done.returncode, self.done.stderr), (0, ""))
        self.load()
        self.assertIn("same L2  same LLC", self.done.stdout)
        self.assertIn("known, Zen 5", self.done.stdout)
        context = self.json["context"]
        self.assertEqual(int(context["bystander_llc_bytes"]), 4 << 20)
        self.assertGreater(int(context["bystander_l2_bytes"]), 0)
        has_other = context["bystander_neighbour"] != "none"
        for row in ("word64", "memset", "nothing"):
            for run in self.rows[f"{row}/16MiB/same_thread/4k"]:
                self.assertEqual(run["bytes"], 0 if row == "nothing" else 16 << 20)
            printed = re.search(rf"(?m)^  {row if row != 'nothing' else '.nothing.*?'} +[-\d.]+ +"
                                r"([\d.]+) +([\d.]+) +(\S+) +(\S+) +[\d.]+$", self.done.stdout)
            self.assertTrue(printed, self.done.stdout)
            figures = [("same_thread", "l2"), ("same_thread", "llc")]
            if has_other:
                figures += [("other_thread_l2", "l2"), ("other_thread_llc", "llc")]
            for at, (kind, level) in enumerate(figures):
                self.assertAlmostEqual(float(printed[at + 1]),
                                       self.slow_down(f"{row}/16MiB/{kind}/4k", level), delta=0.006)
            if not has_other:
                self.assertEqual((printed[3], printed[4]), ("-", "-"))

    def test_one_cpu_has_no_other_thread(self):
        cpu = min(os.sched_getaffinity(0))
        self.done = bench("bystander", "--pages", "4k", "--size", "4MiB", "--set", "1MiB",
                          "--kernel", "memset", "--repetitions", "1", "--json",
                          self.path("out.json"),
                          preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        self.assertEqual((self.done.returncode, self.done.stderr), (0, ""))
        self.load()
        self.assertRegex(self.done.stdout, r"(?m)^note: nothing of other threads: ")
        self.assertEqual(sorted(self.rows), ["memset/4MiB/same_thread/4k",
                                             "nothing/4MiB/same_thread/4k"])

    def test_a_gibibyte_has_the_column(self):
        if memory.available_bytes() < 3 << 30:
            self.skipTest("less than 3 GiB of memory")
        self.done = bench("run", "--pages", "thp", "--size", "2MiB,1GiB", "--memory", "cold",
                          "--set", "1GiB", "--kernel", "memset", "--repetitions", "1", "--json",
                          self.path("out.json"))
        self.assertEqual((self.done.returncode, self.done.stderr), (0, ""))
        self.load()
        self.assertRegex(self.done.stdout, r"GB/s +2MiB +1GiB +L2 after\n")
        times = re.search(r"(?m)^  memset .* ([\d.]+)$", self.done.stdout)[1]
        self.assertAlmostEqual(float(times), self.slow_down("memset/1GiB/cold/thp", "l2"),
                               delta=0.006)
        self.assertNotIn("l2_pass_ns", self.rows["memset/2MiB/cold/thp"][0])

    def test_peers_are_rows_of_the_table(self):
        self.done = bench("run", *TINY, "--kernel", "memset", "--memory", "cold", "--peers",
                          "--json", self.path("out.json"))
        self.assertEqual((self.done.returncode, self.done.stderr), (0, ""))
        self.load()
        notes = "\n".join(re.findall(r"(?m)^note: (.*)", self.done.stdout))
        for row, title, lacks in (
                ("std_fill", "std::fill", "never missing"),
                ("pmem_memset", "libpmem pmem_memset", "libpmem1"),
                ("memset_no_stosb", "memset, tuned: no REP STOSB", "memset, tuned|tunables"),
                ("map_populate", r"kernel mmap\+populate", "mmap.populate|MADV_POPULATE_WRITE"),
                ("punch_populate", r"kernel punch\+populate",
                 "punch.populate|MADV_POPULATE_WRITE")):
            if f"{row}/64KiB/cold/4k" not in self.rows:
                self.assertRegex(notes, lacks, row)
                continue
            self.assertRegex(self.done.stdout, rf"(?m)^  {title} +[\d.]+ \+-")
            for size in (4, 64):
                runs = self.rows[f"{row}/{size}KiB/cold/4k"]
                self.assertEqual(len(runs), 3)
                for run in runs:
                    self.assertEqual(run["bytes"], run["ranges"] * size * 1024)
        done = bench("run", *TINY, "--kernel", "memset", "--memory", "cold")
        self.assertNotIn("std::fill", done.stdout)

    def asked_child(self, parent):
        """A process of a tuned memset's own, once it has answered."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                    its_parent = int(file.read().rsplit(")", 1)[1].split()[1])
                with open(f"/proc/{pid}/io", encoding="ascii") as file:
                    written = int(re.search(r"wchar: (\d+)", file.read())[1])
            except OSError:  # it may be gone, or somebody else's
                continue
            if its_parent == parent and written > len("ready\n"):
                return int(pid)
        return None

    def test_a_peer_that_ends_is_named(self):
        if not os.path.exists("/proc/self/io"):
            self.skipTest("NOT TESTED HERE: this kernel does not count what processes write")
        command = [BENCH, "run", "--set", "16MiB", "--pages", "4k", "--size", "4KiB,64KiB,1MiB",
                   "--memory", "cold", "--peers", "--seconds", "30"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            try:
                while process.poll() is None and not (child := self.asked_child(process.pid)):
                    time.sleep(0.01)
                if process.returncode is None:
                    os.kill(child, signal.SIGKILL)
                output, error = process.communicate(timeout=200)
            finally:
                process.kill()
        if "memset with tunables" in output:
            self.skipTest("NOT TESTED HERE: this C library's memset has no tunables")
        self.assertEqual(process.returncode, 1, error)
        self.assertRegex(error, r"\Ahpzero-bench: the process of memset, tuned: .* ended\n\Z")

    def test_the_limit_and_what_is_reached_of_it(self):
        for command, tail, more in (
                ("run", "16MiB/limit/4k", ("--set", "16MiB", "--memory", "cold")),
                ("parallel", "16MiB/touched/4k", ())):
            self.done = bench(command, "--pages", "4k", "--size",
                              "4KiB" if command == "run" else "16MiB", *more, "--repetitions", "2",
                              "--json", self.path("out.json"))
            self.assertEqual((self.done.returncode, self.done.stderr), (0, ""))
            self.load()
            suffix = "" if command == "run" else "_16MiB_4k"
            context = self.json["context"]
            rates = {name: statistics.median(run["bytes"] / run["ns"] for run in runs)
                     for name, runs in self.rows.items() if name.endswith(tail)}
            single = [name for name in rates
                      if all(run.get("threads_worked", 1) == 1 for run in self.rows[name])]
            for key, names in (("limit_one_thread", single), ("limit", list(rates))):
                if key + suffix not in context:
                    self.assertEqual(len(single), len(rates))
                    continue
                best = max(names, key=rates.get)
                self.assertEqual(context[key + suffix], best.split("/")[0])
                self.assertAlmostEqual(float(context[f"{key}{suffix}_gb_per_s"]), rates[best],
                                       delta=0.001)
                reached = float(context[f"{key}{suffix}_reached_by_hpz_zero"])
                by_round = [{run["repetition_index"]: run["bytes"] / run["ns"]
                             for run in self.rows[name]} for name in (f"hpz_zero/{tail}", best)]
                self.assertAlmostEqual(
                    reached, statistics.median(by_round[0][at] / by_round[1][at] for at in (0, 1)),
                    delta=0.0002)
            self.assertRegex(self.done.stdout, r"(?m)^limit, 1 thread: [\d.]+ GB/s \(.*\); of it: "
                                               r".*hpz_zero [\d.]+")


class Jobs(Folder):
    """parallel and populate: rows of teams, of plain threads and of one thread."""

    def run_jobs(self, *arguments):
        self.done = bench(*arguments, "--repetitions", "2", "--json", self.path("out.json"))
        self.assertEqual((self.done.returncode, self.done.stderr), (0, ""))
        self.read_rows()
        self.counts = sorted({1, int(self.json["context"]["team_threads"])})

    def check_rows(self, tail, rows, size):
        for row in rows:
            name = f"{row}/{tail}"
            self.assertIn(name, self.rows)
            self.assertEqual(len(self.rows[name]), 2, name)
            for run in self.rows[name]:
                self.assertEqual(run["bytes"], size, name)
                self.assertGreater(run["ns"], 0, name)
                self.assertGreaterEqual(run["threads_worked"], 1, name)
                asked = re.search(r"_t(\d+)/", name)
                if asked:
                    self.assertLessEqual(run["threads_worked"], int(asked[1]), name)
                # CPU time cannot be more than that of all threads. The clocks tick differently.
                self.assertLess(run["cpu_ns"], 1.1 * run["ns"] * run["threads_worked"] + 1e6, name)

    def check_table(self, heading):
        self.assertIn(heading, self.done.stdout)
        self.assertRegex(self.done.stdout, r"threads +GB/s +ratio +CPU s/GiB +local +remote\n")
        self.assertRegex(self.done.stdout, r"(?m)^  team, 1 +1 +[\d.]+ \+- \d+% +[\d.]+ +[\d.]+ ")
        for line in re.findall(r"(?m)^(?:warning|note): (.*)", self.done.stdout):
            self.assertRegex(line, r".+: .+")

    def teams(self, row):
        return [f"{row}_t{count}" for count in self.counts] + [f"{row}_auto"]

    def test_parallel(self):
        self.run_jobs("parallel", "--pages", "4k", "--size", "16MiB", "--kernel", "word64")
        size = 16 << 20
        rows = ["hpz_zero", "hpz_zero_stream", "release_populate", *self.teams("team"),
                *(f"{row}_t{count}" for row in ("memset", "word64") for count in self.counts)]
        self.check_rows("16MiB/touched/4k", rows, size)
        self.check_rows("16MiB/scattered/4k", ["hpz_zero_pages", "memset", *self.teams("team")],
                        size // 2)
        for run in self.rows["team_auto/16MiB/touched/4k"]:
            self.assertEqual(run["local_bytes"] + run["remote_bytes"], size)
        self.check_table("16MiB on 4 KiB pages")
        self.assertRegex(self.done.stdout, r"(?m)^knee of zero: ")
        self.assertRegex(self.done.stdout, r"2048 extents in one job")
        for key in ("team_create_us", "team_first_create_us", "futex_round_trip_us",
                    "wake_by_futex", "knee_zero_4k"):
            self.assertTrue(self.json["context"].get(key), key)
        self.assertRegex(self.done.stdout, r"(?m)^  bare futex round trip +[\d.]+$")

    def test_populate(self):
        self.run_jobs("populate", "--pages", "4k", "--size", "4MiB", "--set", "64MiB")
        size = 4 << 20
        self.check_rows("4MiB/fresh/4k",
                        ["madv_populate", "touch_t1", "memset", *self.teams("populate")], size)
        self.check_rows("4MiB/resident/4k", ["madv_dontneed", *self.teams("release")], size)
        self.check_rows("64MiB/sparse/anonymous",
                        ["zero_whole_t1", "zero_whole_auto", *self.teams("reset_4k"),
                         *self.teams("reset_thp")], 64 << 20)
        self.check_table("== 4MiB on 4 KiB pages")
        self.assertIn("THE KERNEL CLEARS", self.done.stdout)
        context = self.json["context"]
        touched = int(context["reset_4k_touched_bytes"])
        self.assertEqual(touched, (64 * 256 + 99) // 100 * 4096)
        self.assertEqual(int(context["reset_4k_resident_before_bytes"]), touched)
        self.assertEqual(int(context["reset_4k_resident_after_bytes"]), touched)
        self.assertEqual(int(context["reset_4k_most_resident_growth_bytes"]), 0)

    def test_one_thread_and_no_more(self):
        done = bench("parallel", "--pages", "4k", "--size", "2MiB", "--threads", "1",
                     "--repetitions", "1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^  team, 1 ")
        self.assertNotRegex(done.stdout, r"(?m)^  team, [2-9]")

    def test_pool_pages_are_put_back(self):
        # Few, reserved if need be: tearDown looks after them.
        for command in ("parallel", "populate"):
            done = bench(command, "--pages", "2m", "--size", "8MiB", "--repetitions", "1")
            if done.returncode == 2 and "can be had" in done.stderr:
                self.skipTest("no huge pages to be had")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("8MiB on 2 MiB pages", done.stdout)
            # Reset is of anonymous memory, which nobody asked for.
            self.assertNotIn("== reset of", done.stdout)


class Zeroes(Folder):
    """mapping, twice and metadata: times of ways to have zeroes, and parts of them."""

    def run_times(self, *arguments):
        self.done = bench(*arguments, "--repetitions", "2", "--json", self.path("out.json"))
        if self.done.returncode == 2 and "can be had" in self.done.stderr:
            self.skipTest("no huge pages to be had")
        self.assertEqual((self.done.returncode, self.done.stderr), (0, ""))
        self.read_rows()
        for name, runs in self.rows.items():
            self.assertEqual(sorted(run["repetition_index"] for run in runs), [0, 1], name)
            self.assertTrue(all(run["ns"] > 0 for run in runs), name)
        for line in re.findall(r"(?m)^(?:warning|note): (.*)", self.done.stdout):
            self.assertRegex(line, r".+: .+")

    def check_rows(self, tail, rows, size):
        self.assertEqual(sorted(name for name in self.rows if name.endswith(f"/{tail}")),
                         sorted(f"{row}/{tail}" for row in rows))
        for row in rows:
            for run in self.rows[f"{row}/{tail}"]:
                self.assertEqual(run["bytes"], run["ranges"] * size, row)

    def time_part(self, row, other):
        """Median over rounds, as the program has it."""
        def rates(name):
            return {run["repetition_index"]: run["bytes"] / run["ns"] for run in self.rows[name]}
        return statistics.median(rates(other)[at] / rate for at, rate in rates(row).items())

    PIECES = ["fenced_pieces", "barrier_pieces"]
    WAYS = ["pieces", "direct", "space_direct", "file_lasting", "punch", "punch_populate"]

    def with_stosb(self, rows):
        has_stosb = re.search(r"(?m)^  rep_stosb +usable", bench("list").stdout)
        return [*rows, *(f"{row}_rep_stosb" for row in rows)] if has_stosb else rows

    def check_ways(self, tail, pieces, windows):
        rows = [*self.with_stosb([*pieces, "pieces"]), *self.WAYS[1:],
                *(f"window_{window}" for window in windows)]
        self.check_rows(tail, rows, 2 << 20)
        self.assertIn("2MiB cleared, 2 iterations of 8 pieces\n", self.done.stdout)

    def check_saved(self, title, row, tail):
        printed = re.search(rf"(?m)^  {title} +\S+ \S+ +\S+ \S+ +(-?\d+) % ", self.done.stdout)
        self.assertTrue(printed, self.done.stdout)
        saved = (1 - self.time_part(f"{row}/{tail}", f"mapped_pieces/{tail}")) * 100
        self.assertAlmostEqual(int(printed[1]), saved, delta=0.51)

    def test_mapping(self):
        self.run_times("mapping", "--pages", "4k", "--size", "2MiB", "--set", "16MiB",
                       "--kernel", "word64")
        tail = "2MiB/cold/4k"
        self.check_ways(tail, ["mapped_pieces", *self.PIECES], ["4KiB", "64KiB", "2MiB"])
        self.assertIn("published, arm64 kernel: 349.5 us -> 131 us, 62 % less", self.done.stdout)
        self.check_saved("direct, whole extent", "direct", tail)
        self.check_saved("hpz_space_file, windows of 64KiB", "window_64KiB", tail)
        for sentence, row, other in (
                (r"the whole extent at its address takes ([\d.]+) of a mapping", "direct",
                 "mapped_pieces"),
                (r"with compiler barriers, piece by piece takes ([\d.]+) of the whole extent",
                 "barrier_pieces", "direct")):
            part = re.search(sentence, self.done.stdout)[1]
            self.assertAlmostEqual(
                float(part) / self.time_part(f"{row}/{tail}", f"{other}/{tail}"), 1, delta=0.06)
        self.assertEqual(self.json["context"]["mapping_kernel"], "word64")
        self.assertIn("HPZ_KERNEL=word64", self.json["context"]["hpzero_plan_source"])
        self.assertRegex(self.json["context"]["memory_4k"], r"^memfd, \d+ % mapped huge$")
        self.assertRegex(self.done.stdout, r"(?m)^== 16MiB on 4 KiB pages, memfd, ")
        self.assertRegex(self.done.stdout, r"warning: the cold set of 16MiB .*: use --set ")
        self.check_rows("96MiB/allocated/anonymous", ["touch_4k", "populate_4k",
                                                      "populate_team_4k"], 96 << 20)
        self.assertIn("published, arm64 kernel: 31831 us -> 18193 us, 42 % less", self.done.stdout)
        self.assertRegex(self.done.stdout, r"mean +\+- +by touched, 4 KiB pages\n")
        saved = re.search(r"(?m)^4 KiB pages: hpz_space_populate between saves (-?\d+) % of "
                          r"touching alone, by a team (-?\d+) %$", self.done.stdout)
        for value, row in ((saved[1], "populate_4k"), (saved[2], "populate_team_4k")):
            where = "96MiB/allocated/anonymous"
            part = self.time_part(f"{row}/{where}", f"touch_4k/{where}")
            self.assertAlmostEqual(int(value), (1 - part) * 100, delta=0.51)
        self.assertIn("One thread, but for rows of a team.", self.done.stdout)
        self.assertIn("team_threads", self.json["context"])

    def test_mapping_of_huge_pages(self):
        done = bench("mapping", "--pages", "thp", "--size", "2MiB", "--set", "16MiB",
                     "--repetitions", "1")
        if done.returncode == 2 and "transparent huge pages of a file" in done.stderr:
            self.assertIn("shmem_enabled", done.stderr)
            self.skipTest("no transparent huge pages of files to be had")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        percent = re.search(r"(?m)^== 16MiB on transparent huge pages, .*, (\d+) % mapped huge$",
                            done.stdout)
        self.assertGreaterEqual(int(percent[1]), 90)
        self.assertRegex(done.stdout, r"(?m)^  mmap, clear, munmap per 4KiB ")
        self.assertRegex(done.stdout, r"(?m)^  mapped and touched, transparent huge pages ")

    def test_mapping_of_pool_pages(self):
        self.run_times("mapping", "--pages", "2m", "--size", "2MiB", "--set", "16MiB")
        self.check_ways("2MiB/cold/2m", self.PIECES, ["2MiB"])
        self.assertIn("cannot be mapped in 4 KiB pieces", self.done.stdout)
        self.assertNotIn("allocated and touched", self.done.stdout)
        # There is nothing that it could be compared with.
        self.assertNotIn("published", self.done.stdout)

    def test_twice(self):
        self.run_times("twice", "--pages", "4k", "--size", "16MiB")
        tail = "16MiB/acquired/4k"
        self.check_rows(tail, ["cleared_twice", "populate", "populate_map", "map_zero_dirty",
                               "map_zero_known"], 16 << 20)
        printed = re.search(r"populate and the map take ([\d.]+) of populate alone, known memory "
                            r"([\d.]+) of clearing it", self.done.stdout)
        for value, row, other in ((printed[1], "populate_map", "populate"),
                                  (printed[2], "map_zero_known", "map_zero_dirty")):
            self.assertAlmostEqual(
                float(value) / self.time_part(f"{row}/{tail}", f"{other}/{tail}"), 1, delta=0.06)
        self.assertIn("published, kernel, 64 GiB: 24.189 s -> 0.209 s, 0.0086 of it",
                      self.done.stdout)
        self.assertRegex(self.done.stdout, r"warning: the buffer of 16MiB .*: use --size ")
        self.assertRegex(self.json["context"]["pinned_to_cpu"], r"^\d+$")

    def test_twice_puts_pool_pages_back(self):
        self.run_times("twice", "--pages", "2m", "--size", "8MiB")
        self.assertIn("8MiB on 2 MiB pages", self.done.stdout)

    def test_metadata(self):
        self.run_times("metadata", "--size", "2GiB")
        self.check_rows("500GiB/opened/address_space", ["open_lazy", "open_eager", "open_array"],
                        500 << 30)
        bitmap = 2 << 30 >> 12 >> 3
        self.check_rows("2GiB/marked/address_space",
                        [f"{row}_{pages}" for row in ("mark_first", "mark")
                         for pages in ("4KiB", "2MiB")], bitmap)
        self.check_rows("1GiB/one_dirty/4k", ["zero_subpage"], 4096)
        context = self.json["context"]
        self.assertEqual(int(context["open_lazy_detail_bytes"]), 0)
        # A bit for each subpage, at least.
        self.assertGreaterEqual(int(context["open_eager_detail_bytes"]), (500 << 30 >> 12) // 8)
        self.assertLess(int(context["open_lazy_memory_bytes"]),
                        int(context["open_eager_memory_bytes"]))
        where = "500GiB/opened/address_space"
        part = re.search(r"opened without detail: ([\d.]+) of the time", self.done.stdout)[1]
        self.assertAlmostEqual(
            float(part) / self.time_part(f"open_lazy/{where}", f"open_eager/{where}"), 1,
            delta=0.06)
        self.assertRegex(self.done.stdout,
                         r"published, kernel, descriptors .*: 3\.90 s -> 1\.32 s, 0\.34 of it\n")
        self.assertRegex(context["pinned_to_cpu"], r"^\d+$")


class Pool(Folder):
    """pool: times of single takes, of pairs, and of a program beside a filler."""

    TAKES = {"kernel": "kernel: released, touched again", "pool_off": "pool, filling off",
             "pool_on": "pool, filled in the background",
             "clear": "clearing one page, nothing else"}
    STATES = {"once": 1, "sixteen_rounds": 16}
    REPETITIONS = 2

    def run_pool(self, kind, size, page):
        self.done = bench("pool", "--pages", kind, "--size", f"{size >> 20}MiB", "--repetitions",
                          str(self.REPETITIONS), "--json", self.path("out.json"))
        if self.done.returncode == 2 and ("can be had" in self.done.stderr
                                          or "too few of them" in self.done.stderr):
            self.skipTest("no huge pages to be had")
        self.assertEqual((self.done.returncode, self.done.stderr), (0, ""))
        self.read_rows()
        for name, runs in self.rows.items():
            self.assertEqual([run["repetition_index"] for run in runs],
                             list(range(self.REPETITIONS)), name)
            self.assertTrue(all(run["ns"] > 0 for run in runs), name)
        for line in re.findall(r"(?m)^(?:warning|note): (.*)", self.done.stdout):
            self.assertRegex(line, r".+: .+")
        self.kind, self.size, self.page, self.count = kind, size, page, size // page
        for state in self.STATES:
            self.check_takes(state)
            self.check_table(state)
        self.check_conclusions()
        self.check_pairs()
        self.check_beside_filler()

    def runs(self, row, state):
        return self.rows[f"{row}/{self.size >> 20}MiB/{state}/{self.kind}"]

    def check_takes(self, state):
        takes = self.count * self.STATES[state]
        for row in self.TAKES:
            for run in self.runs(row, state):
                self.assertEqual(run["ranges"], takes, row)
                self.assertEqual(run["bytes"], takes * self.page, row)
                order = [run[key] for key in ("min_ns", "median_ns", "p999_ns", "max_ns", "ns")]
                self.assertEqual(order, sorted(order), row)
                had = (run["hits"], run["misses"], run["waits"])
                self.assertEqual(sum(had), takes if row.startswith("pool_") else 0, row)
                if row == "pool_off":
                    self.assertEqual(had, (0, takes, 0))
                # The first round finds all of them clean.
                if row == "pool_on":
                    self.assertGreaterEqual(run["hits"], self.count)
                if (row, state) == ("pool_on", "once"):
                    self.assertEqual(had, (takes, 0, 0))

    def table(self, state):
        heading = {"once": "every page taken and touched once",
                   "sixteen_rounds": "sixteen rounds back to back"}[state]
        found = re.search(rf"(?ms)^{heading}, {self.REPETITIONS} iterations\n(.*?)\n\n",
                          self.done.stdout)
        self.assertTrue(found, self.done.stdout)
        return found[1]

    def check_table(self, state):
        table = self.table(state)
        self.assertRegex(table, r"total +average +min +median +99\.9 % +max +hits +misses +waits")
        for row, title in self.TAKES.items():
            line = re.search(rf"(?m)^  {title} +(.*)$", table)
            self.assertTrue(line, table)
            cells = re.split(r"  +", line[1])
            # Of two iterations the one with the smaller total.
            run = min(self.runs(row, state), key=lambda run: run["ns"])
            had = [str(int(run[key])) for key in ("hits", "misses", "waits")]
            self.assertEqual(cells[6:], had if row.startswith("pool_") else ["-"] * 3, line[0])
            for cell, ns in zip(cells, (run["ns"], run["ns"] / run["ranges"], run["min_ns"],
                                        run["median_ns"], run["p999_ns"], run["max_ns"])):
                self.check_time(cell, ns, line[0])
        self.assertIn({"once": "20253322 us", "sixteen_rounds": "321.9 s"}[state], table)
        self.assertIn({"once": "760 us", "sixteen_rounds": "112.0 s"}[state], table)
        self.assertIn("published, AMD Milan, 512 x 1 GiB", table)

    def check_time(self, printed, ns, where):
        value, unit = printed.split()
        scale = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]
        self.assertAlmostEqual(float(value) * scale / ns, 1, delta=0.006, msg=where)

    def time_part(self, row, other, state, but_for=None):
        def time(run):
            return run["ns"] - (run[but_for] if but_for else 0)
        return statistics.median(time(a) / time(b) for a, b in
                                 zip(self.runs(row, state), self.runs(other, state)))

    def median_ns(self, row, state):
        return statistics.median(run["median_ns"] for run in self.runs(row, state))

    def check_part(self, pattern, value):
        printed = re.search(pattern, self.done.stdout)
        self.assertTrue(printed, self.done.stdout)
        self.assertAlmostEqual(float(printed[1]) / value, 1, delta=0.06, msg=printed[0])

    def check_conclusions(self):
        self.check_part(r"the kernel's fault takes ([\d.]+) times as long",
                        self.time_part("kernel", "pool_on", "once"))
        printed = re.search(r"a hit takes (\S+ \S+) on average \(median (\S+ \S+)\)",
                            self.done.stdout)
        self.assertTrue(printed, self.done.stdout)
        hits = self.runs("pool_on", "once")
        self.check_time(printed[1], statistics.median(run["ns"] / run["ranges"] for run in hits),
                        printed[0])
        self.check_time(printed[2], self.median_ns("pool_on", "once"), printed[0])
        for pattern, row in ((r"on average the kernel takes ([\d.]+) times", "kernel"),
                             (r"the pool without filling ([\d.]+);", "pool_off")):
            self.check_part(pattern, self.time_part(row, "pool_on", "sixteen_rounds"))
        for pattern, row in ((r"but for the first round, which finds all clean, ([\d.]+) and",
                              "kernel"),
                             (r"which finds all clean, [\d.]+ and ([\d.]+)\n", "pool_off")):
            self.check_part(pattern, self.time_part(row, "pool_on", "sixteen_rounds",
                                                    but_for="first_pass_ns"))
        slowest = [max(run["max_ns"] for run in self.runs(row, "sixteen_rounds"))
                   for row in ("pool_on", "clear")]
        self.check_part(r"the slowest take of all takes ([\d.]+) of the slowest clearing",
                        slowest[0] / slowest[1])
        self.check_part(r"of the slowest clearing of a page, ([\d.]+) of the median one",
                        slowest[0] / self.median_ns("clear", "sixteen_rounds"))
        self.check_part(r"the 99\.9th percentile ([\d.]+) of that of clearing",
                        statistics.median(a["p999_ns"] / b["p999_ns"] for a, b in
                                          zip(self.runs("pool_on", "sixteen_rounds"),
                                              self.runs("clear", "sixteen_rounds"))))

    def check_pairs(self):
        counts = sorted(int(name[7:].split("/")[0]) for name in self.rows
                        if name.startswith("pairs_t"))
        self.assertEqual(counts[:3], [1, 2, 4])
        for count in counts:
            for run in self.runs(f"pairs_t{count}", "pairs"):
                self.assertEqual(run["threads_worked"], count)
                self.assertGreater(run["ranges"], 0)
            self.assertRegex(self.done.stdout, rf"(?m)^  {count} takers? +\d+ +\S+ +\S+ +[\d.]+$")

    def check_beside_filler(self):
        rows = {name.split("/")[0] for name in self.rows if "/beside_filler/" in name}
        self.assertLessEqual({"registers_alone", "registers_beside"}, rows)
        for name, runs in self.rows.items():
            if not re.search("/beside_filler/", name):
                continue
            for run in runs:
                self.assertGreater(run["ranges"], 0, name)
                # Without the switch nothing is cleared, although there is something to clear.
                if "_alone/" in name:
                    self.assertEqual(run["filled_bytes"], 0, name)
                    self.assertGreater(run["dirty_pages_left"], 0, name)
        self.assertRegex(self.done.stdout, r"(?m)^  counts in registers +\S+ ns +\S+ ns +\S+ % ")

    def test_small_pages(self):
        self.run_pool("4k", 1 << 20, 4096)
        self.assertRegex(self.done.stdout, r"(?m)^== 1MiB on 4 KiB pages: a pool of 256 pages; ")

    def test_transparent_huge_pages(self):
        self.run_pool("thp", 8 << 20, 2 << 20)

    def test_pool_pages_are_put_back(self):
        # tearDown looks after them.
        self.run_pool("2m", 8 << 20, 2 << 20)
        self.assertRegex(self.done.stdout, r"(?m)^== 8MiB on 2 MiB pages .*: a pool of 4 pages; ")

    def test_other_pages_are_named_and_warned_of(self):
        # As nobody, so that none can be reserved.
        if os.geteuid() != 0:
            self.skipTest("needs root to become nobody")
        done = bench("pool", "--size", "32MiB", "--repetitions", "1",
                     preexec_fn=lambda: os.setuid(65534))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        kind = re.search(r"(?m)^== 32MiB on (.*): a pool of ", done.stdout)[1]
        # Others may have reserved some.
        if not kind.startswith("2 MiB pages"):
            self.assertRegex(done.stdout, r"(?m)^warning: measured on .* instead.*: .+")


class Compare(Folder):
    """compare: its figures recomputed from the files, its exit codes, and whatever else may lie
    where a file should be."""

    FEW = ["--set", "16MiB", "--pages", "4k", "--size", "4KiB", "--memory", "recycled,cold",
           "--kernel", "memset,word64", "--repetitions", "8"]

    def setUp(self):
        super().setUp()
        self.a = self.path("a.json")
        done = bench("run", *self.FEW, "--json", self.a)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.a, encoding="utf-8") as file:
            self.json = json.load(file)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def changed(self, name, change):
        """a.json with every sample changed."""
        copy = json.loads(json.dumps(self.json))
        for run in copy["benchmarks"]:
            change(run)
        return self.write(name, json.dumps(copy))

    def slower(self, factor, only=""):
        def change(run):
            if run["name"].startswith(only):
                run["ns"] *= factor
                run["real_time"] *= factor
        return self.changed("b.json", change)

    def median(self, name):
        return statistics.median(run["bytes"] / run["ns"] for run in self.json["benchmarks"]
                                 if run["name"] == name)

    def lines(self, done):
        """{name: (A, B, ratio, p, verdict)}"""
        found = re.findall(r"(?m)^  (\S+/\S+)" + r" +(\S+)" * 4 + r"  +(\w[\w ]*)$", done.stdout)
        return {line[0]: line[1:] for line in found}

    def test_figures_are_those_of_the_files(self):
        done = bench("compare", self.a, self.slower(2, "word64/"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = self.lines(done)
        self.assertEqual(sorted(lines), sorted({run["name"] for run in self.json["benchmarks"]}))
        self.assertEqual(len(lines), 4)
        for name, (in_a, in_b, ratio, p, verdict) in lines.items():
            factor = 2 if name.startswith("word64/") else 1
            for printed, rate in ((in_a, self.median(name)), (in_b, self.median(name) / factor)):
                self.assertAlmostEqual(float(printed), rate, delta=max(0.006, 0.01 * rate))
            self.assertEqual(float(ratio), 1 / factor)
            if factor == 1:
                self.assertEqual((verdict, float(p)), ("same", 1))
            else:
                # Samples of a noisy machine may lie more than twice apart.
                self.assertIn(verdict, ("slower", "unclear"))
        self.assertIn("machine and library are the same", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^4 compared: 0 faster, .* 0 too few samples; ratios "
                                      r"0\.50 to 1\.00, middle 0\.75$")
        self.assertIn("note: of A alone: the cold set of 16MiB", done.stdout)

    def test_exit_codes(self):
        # So much that no interruption of a sample comes near it.
        for factor, ratio, code, says in ((1, "0.95", 0, "passed: 0 below 0.95"),
                                          (1e5, "0.95", 1, "failed: 4 below 0.95"),
                                          (1e5, "0.000001", 0, "passed: 0 below "),
                                          (1e-2, "0.95", 0, "passed: 0 below 0.95")):
            done = bench("compare", "--absolute", "--fail-below", ratio, self.a,
                         self.slower(factor))
            self.assertEqual((done.returncode, done.stderr), (code, ""), done.stdout)
            self.assertIn(says, done.stdout)
        done = bench("compare", "--absolute", self.a, self.slower(1e5))
        self.assertEqual(done.returncode, 0)
        self.assertIn("4 compared: 0 faster, 4 slower, 0 same", done.stdout)
        self.assertIn("4 same", bench("compare", "--absolute", self.a, self.slower(1.3),
                                      "--least-effect", "31%").stdout)

    def test_what_the_machine_did_to_all_rows(self):
        done = bench("compare", self.a, self.slower(1e5))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("4 compared: 0 faster, 0 slower, 0 same, 4 unclear", done.stdout)
        self.assertIn("warning: 4 of 4 lines differ by what all rows beside them did",
                      done.stdout)
        self.assertRegex(done.stdout, r"(?m)^  4KiB/cold/4k +0\.00 +1$")
        # Neither passed nor failed: nothing is known.
        done = bench("compare", self.a, self.slower(1e5), "--fail-below", "0.95")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\Ahpzero-bench: 4 lines are below 0\.95 as all rows "
                                      r"beside them are, .*: measure both again, .*\n\Z")
        # A row of its own is slower than the machine would have it.
        done = bench("compare", self.a, self.slower(1e5, "word64/"), "--fail-below", "0.95")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("failed: 2 below 0.95", done.stdout)

    def test_several_runs_are_one_side(self):
        other = self.slower(1.001)
        done = bench("compare", f"{self.a},{other}", f"{other},{self.a}")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("4 compared: 0 faster, 0 slower, 4 same", done.stdout)
        self.refused("No such file", f"{self.a},{self.path('nosuch.json')}", self.a)
        self.refused("No such file", self.a, f"{self.a},")

    def test_one_run_twice_is_not_more_samples(self):
        os.link(self.a, self.path("hard.json"))
        os.symlink(self.a, self.path("soft.json"))
        copy = self.changed("copy.json", lambda run: None)
        for same in (self.a, self.path("hard.json"), self.path("soft.json"), copy):
            self.refused("once more", f"{self.a},{same}", self.a)
            self.refused("once more", self.a, f"{same},{self.a}")

    def test_without_proc_foreign_settings_are_refused(self):
        words = f"mount -t tmpfs none /proc && exec {BENCH} compare {self.a} {self.a}"
        command = ["unshare", "--mount", "sh", "-c", words]
        if subprocess.run(command, capture_output=True).returncode != 0:
            self.skipTest("no permission to hide /proc")
        done = subprocess.run(command, capture_output=True, text=True,
                              env={**os.environ, "BENCHMARK_FORMAT": "csv"})
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Ahpzero-bench: cannot start again without "
                                      r"BENCHMARK_FORMAT .*: unset .*\n\Z")

    def test_what_is_in_one_file_alone(self):
        def rename(run):
            run["name"] = run["name"].replace("word64/", "word128/")
        done = bench("compare", self.a, self.changed("b.json", rename))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(self.lines(done)), 2)
        for line in ("only in A: word64/4KiB/cold/4k", "only in B: word128/4KiB/cold/4k"):
            self.assertIn(line, done.stdout)

    def test_too_few_samples(self):
        few = self.write("b.json", json.dumps({**self.json, "benchmarks": [
            run for run in self.json["benchmarks"] if run["repetition_index"] < 2]}))
        done = bench("compare", self.a, few)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual({line[4] for line in self.lines(done).values()}, {"too few samples"})
        self.assertRegex(done.stdout, r"warning: 4 of 4 lines .*: measure both again with "
                                      r"--repetitions \d or more")
        # Nothing passes by not having been tested.
        self.refused("too few samples to fail by", self.a, few, "--fail-below", "0.95")

    def refused(self, says, *arguments):
        begin = time.monotonic()
        done = bench("compare", *arguments)
        self.assertLess(time.monotonic() - begin, 60)
        self.assertEqual((done.returncode, done.stdout), (2, ""), (arguments, done.stderr))
        self.assertRegex(done.stderr, r"\Ahpzero-bench: [ -~]+: [ -~]+\n\Z", arguments)
        self.assertIn(says, done.stderr)

    def both_refused(self, says, other):
        self.refused(says, self.a, other)
        self.refused(says, other, self.a)

    def test_what_is_no_file_of_results(self):
        self.refused("compare A.json B.json", self.a)
        self.refused("one word too many", self.a, self.a, self.a)
        self.refused("'ten' is no value", self.a, self.a, "--least-effect", "ten")
        self.refused("smaller --least-effect", self.a, self.a, "--fail-below", "0.99")
        self.both_refused("No such file", self.path("nosuch.json"))
        self.both_refused("no regular file", self.folder.name)
        self.both_refused("no regular file", "/dev/zero")
        os.mkfifo(self.path("fifo"))
        self.both_refused("no regular file", self.path("fifo"))
        with open(self.path("huge.json"), "wb") as file:
            file.truncate(8 << 30)
        self.both_refused("larger than", self.path("huge.json"))
        os.truncate(self.path("huge.json"), 250 << 20)
        done = bench("compare", self.a, self.path("huge.json"), preexec_fn=lambda:
                     resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20)))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"\Ahpzero-bench: out of memory: raise .*\n\Z")
        self.both_refused("is empty", self.write("b.json", ""))
        with open(self.a, encoding="utf-8") as file:
            text = file.read()
        self.both_refused("cut off or damaged", self.write("b.json", text[:len(text) // 2]))
        self.both_refused("cut off or damaged", self.write("b.json", "#!/bin/sh\necho no\n"))
        self.both_refused("nested deeper", self.write("b.json", "[" * 5_000_000))
        self.both_refused("none of hpzero-bench", self.write("b.json", "{}"))
        self.both_refused("tools/measure", self.write("b.json", json.dumps(
            {"commit": "x", "runs": [{"context": self.json["context"], "samples": {}}]})))

    def test_samples_that_cannot_be(self):
        for key, value, says in (("ns", -1, "no time"), ("ns", 0, "took no time"),
                                 ("ns", "1", "no number"), ("ns", float("nan"), "damaged"),
                                 ("ns", float("inf"), "damaged"), ("ns", 1e300, "no time"),
                                 ("bytes", 10 ** 30, "no count"), ("bytes", None, "no number"),
                                 ("name", "memset", "a sample named"),
                                 ("name", "\x1b[2J/1B/x/y", "a sample named"),
                                 ("time_unit", "us", "not in ns"),
                                 ("repetition_index", 0, "two samples of")):
            self.both_refused(says, self.changed("b.json", lambda run: run.update({key: value})))
        self.both_refused("without ns", self.changed("b.json", lambda run: run.pop("ns")))

    def test_other_schemas_commands_and_clocks(self):
        def with_context(**changes):
            return self.write("b.json", json.dumps({**self.json, "context": {
                key: value for key, value in {**self.json["context"], **changes}.items()
                if value is not None}}))
        self.both_refused("before the schema", with_context(hpzero_schema=None))
        self.both_refused("measure again", with_context(hpzero_schema="0"))
        self.both_refused("use the hpzero-bench that wrote it", with_context(hpzero_schema="2"))
        self.both_refused("another program", with_context(hpzero_schema=None, hpzero_version=None))
        self.both_refused("same subcommand", with_context(hpzero_command="populate"))
        self.both_refused("clocks", with_context(clock="rdtsc"))
        # Another machine is what it is for.
        done = bench("compare", self.a, with_context(cpu_model="Other", linux="5.10"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^machine or library differ:\n  cpu_model +A  .*\n +B  "
                                      r"Other\n  linux +A  .*\n +B  5\.10$")


class Signals(Folder):
    def interrupted(self, number, *arguments, command="run"):
        process = subprocess.Popen(
            [BENCH, command, "--repetitions", "100000", "--json", self.path("x.json"), *arguments],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and process.poll() is None:
                # Once there is memory to put back it has begun; a moment later it measures.
                if self.files() and self.has_taken_memory(process.pid):
                    break
                time.sleep(0.02)
            time.sleep(0.3)
            self.assertIsNone(process.poll(), "ended by itself")
            self.assertNotEqual(self.files(), [])
            process.send_signal(number)
            self.assertEqual(process.wait(60), -number)
        finally:
            process.kill()
            process.wait()
            process.stderr.close()
        self.assertEqual(self.files(), [])

    @staticmethod
    def has_taken_memory(pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            status = file.read()
        kib = [int(found) for found in re.findall(r"(?:VmRSS|HugetlbPages):\s+(\d+)", status)]
        return sum(kib) > 60 << 10

    def test_term_leaves_no_file(self):
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGTRAP, signal.SIGRTMIN + 3):
            self.interrupted(number, "--set", "64MiB", "--pages", "4k", "--size", "4KiB")

    def test_int_leaves_no_pages_reserved(self):
        # More than are free, so that some must be reserved. That there are none left is checked by
        # tearDown.
        if not os.access(POOL, os.W_OK):
            self.skipTest("no permission to reserve huge pages")
        with open(os.path.join(os.path.dirname(POOL), "free_hugepages"), encoding="ascii") as file:
            size = int(file.read()) * 2 + 64
        self.interrupted(signal.SIGINT, "--set", f"{size}MiB", "--pages", "2m", "--size", "4KiB")

    def test_int_leaves_no_pages_of_a_pool_reserved(self):
        if not os.access(POOL, os.W_OK):
            self.skipTest("no permission to reserve huge pages")
        # More than are free, with as much again for what the pool is compared with.
        with open(os.path.join(os.path.dirname(POOL), "free_hugepages"), encoding="ascii") as file:
            size = 2 * (int(file.read()) + 32)
        self.interrupted(signal.SIGINT, "--size", f"{size}MiB", "--pages", "2m", command="pool")

    def test_int_leaves_neither_profile_nor_pages(self):
        self.interrupted(signal.SIGINT, "--set", "128MiB", "--pages", "2m,4k", "--output",
                         self.path("profile"), command="tune")


class Tune(Folder):
    def test_profile_is_what_the_library_reads(self):
        profile = self.path("profile")
        done = bench("tune", "--pages", "4k", "--set", "64MiB", "--seconds", "1", "--repetitions",
                     "1", "--force", "--output", profile)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(f"HPZ_PROFILE={profile}", done.stdout)
        self.assertEqual(self.files(), ["profile"])
        with open(profile, encoding="ascii") as file:
            lines = file.read().splitlines()
        self.assertEqual(lines[0], "hpzero-profile 1")
        self.assertLess(max(map(len, lines)), 256)
        bands = [line.split() for line in lines if line.startswith(("cached ", "stream "))]
        self.assertLessEqual(len(bands), 8)
        for policy in ("cached", "stream"):
            own = [band for band in bands if band[0] == policy]
            self.assertEqual(own[-1][1], "max")

        explained = bench("explain", "1GiB", env={**os.environ, "HPZ_PROFILE": profile}).stdout
        self.assertIn(f"plan: profile {profile}", explained)
        last = {policy: [band for band in bands if band[0] == policy][-1][2]
                for policy in ("cached", "stream")}
        self.assertIn(f"hpz_zero_cached(p, 1GiB): {last['cached']}\n", explained)
        self.assertIn(f"hpz_zero_pages(p, 1GiB): {last['stream']}\n", explained)

    def test_profile_alone_goes_to_standard_output(self):
        done = bench("tune", "--pages", "4k", "--set", "4MiB", "--seconds", "1", "--repetitions",
                     "1", "--force")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\Ahpzero-profile 1\n(#.*\n)*cpu \S+\n"
                                      r"(cached \S+ \w+\n)+(stream \S+ \w+\n)+probe \d+ \d+\n\Z")

    @staticmethod
    def reached(places, chosen):
        """Of the best kernel's rate, at every size and in both states: by place, from samples."""
        shares = []
        for (state, size), kernels in places.items():
            rounds = list(zip(*kernels.values()))
            middles = [statistics.median(rates) for rates in rounds]
            rates = {kernel: statistics.median(rate / middle
                                               for rate, middle in zip(samples, middles))
                     for kernel, samples in kernels.items()}
            shares.append(rates[chosen(state, size)] / max(rates.values()))
        return statistics.median(shares), min(shares)

    def test_all_places_are_measured_and_one_profile_is_judged_on_each(self):
        profile = self.path("profile")
        done = bench("tune", "--pages", "4k,2m", "--set", "8MiB", "--seconds", "1",
                     "--repetitions", "3", "--force", "--output", profile, "--json",
                     self.path("out.json"))
        if "free 2 MiB pages" in done.stderr:
            self.skipTest("NOT TESTED HERE: no 2 MiB pages to be had")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.files(), ["out.json", "profile"])
        self.read_rows()
        kinds = {"2m": "2 MiB pages (hugetlb)", "4k": "4 KiB pages"}
        with open(profile, encoding="ascii") as file:
            bands = [line.split() for line in file
                     if line.startswith(("cached ", "stream "))]

        def chosen(state, size):
            policy = {"recycled": "cached", "cold": "stream"}[state]
            return next(kernel for own, upto, kernel in bands
                        if own == policy and (upto == "max" or size <= int(upto)))

        units = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
        places = {}
        for name, runs in self.rows.items():
            row, size, state, pages = name.split("/")
            if state not in ("recycled", "cold"):
                self.assertIn(state, ("same_thread", "other_thread_l2", "other_thread_llc"))
                continue
            number, unit = re.fullmatch(r"([\d.]+)(\w+)", size).groups()
            self.assertEqual(len(runs), 3, name)
            cells = places.setdefault(pages, {})
            cells.setdefault((state, float(number) * units[unit]), {})[row] = [
                run["bytes"] / run["ns"] for run in runs]
        self.assertEqual({place.split(".")[0] for place in places}, set(kinds))
        for place, cells in places.items():
            kind, _, node = place.partition(".node")
            title = kinds[kind] + (f", node {node}" if node else "")
            self.assertIn(f"memory_{place}", self.json["context"])
            self.assertIn(f"by-standers on {title}: ", done.stdout)
            line = re.search(rf"(?m)^ *{re.escape(title)} +(\d+) % +(\d+) % +\d+ % +\d+ %$",
                             done.stdout)
            self.assertIsNotNone(line, done.stdout)
            for printed, share in zip(line.groups(), self.reached(cells, chosen)):
                self.assertAlmostEqual(int(printed), 100 * share, delta=0.51)
        # Three rounds at a place or two prove nothing of hundreds of kernels: the library's own.
        if len(places) == 2:
            plan = self.json["context"]["hpzero_plan_cached"]
            for part, band in zip(plan.split(", "), [band for band in bands if band[0] == "cached"],
                                  strict=True):
                kernel, number, unit = re.fullmatch(
                    r"(\w+)(?: to ([\d.]+)(\w+)| above)?", part).groups()
                upto = str(round(float(number) * units[unit])) if number else "max"
                self.assertEqual(band[1:], [upto, kernel])

    def test_a_kind_asked_for_that_cannot_be_had_is_refused(self):
        done = bench("tune", "--pages", "4k,1g", "--set", "1000GiB", "--output",
                     self.path("profile"))
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\Ahpzero-bench: .*does not fit.*use a smaller --set.*\n\Z")
        self.assertEqual(self.files(), [])

    def test_a_noisy_run_writes_no_profile(self):
        # Of one round nobody knows how noisy it was.
        done = bench("tune", "--pages", "4k", "--set", "4MiB", "--seconds", "1", "--repetitions",
                     "1", "--output", self.path("profile"))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"\Ahpzero-bench: no profile is written, .*on 4 KiB pages.*"
                                      r"less than 3 rounds; .* --force\n\Z")
        self.assertEqual(self.files(), [])

    def test_json_says_how_it_was_measured(self):
        done = bench("tune", "--pages", "4k", "--set", "4MiB", "--seconds", "1", "--repetitions",
                     "1", "--force", "--output", self.path("profile"), "--json",
                     self.path("out.json"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.read_rows()
        context = self.json["context"]
        self.assertGreater(float(context["clock_cost_ns"]), 0)
        self.assertRegex(context["memory_4k"], r"^4MiB on 4 KiB pages")
        self.assertEqual(context["warnings"],
                         "; ".join(re.findall(r"(?m)^warning: (.*)", done.stdout)))
        self.assertNotEqual(context["warnings"], "")  # of one round


class SmallMachine(Folder):
    """R-MEM 256M: without arguments it takes what is there, says so, and keeps its time."""

    group = None

    def make_group(self):
        for base, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                            ("/sys/fs/cgroup", "memory.max")):
            folder = f"{base}/hpzero-bench-test-{os.getpid()}"
            try:
                os.mkdir(folder)
            except OSError:
                continue
            self.addCleanup(os.rmdir, folder)
            try:
                with open(f"{folder}/{limit}", "w", encoding="ascii") as file:
                    file.write("256M")
                return folder
            except OSError:
                continue
        return None

    def bench_in_group(self, *arguments):
        group = self.group = self.group or self.make_group()
        if group is None:
            self.skipTest("no permission to make a memory cgroup")

        def enter():
            with open(f"{group}/cgroup.procs", "w", encoding="ascii") as file:
                file.write(str(os.getpid()))

        return bench(*arguments, preexec_fn=enter)

    def test_jobs_fit_256_mebibytes(self):
        done = self.bench_in_group("parallel", "--repetitions", "1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"== \d+MiB on 4 KiB pages")
        # Huge pages of a pool are not the group's: whether 1 GiB of them fits is up to others.
        done = self.bench_in_group("parallel", "--repetitions", "1", "--size", "4MiB,512MiB")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^note: 512MiB on 4 KiB pages does not fit the .* that "
                                      r"the memory cgroup limit leaves")

    def test_reset_fits_256_mebibytes(self):
        done = self.bench_in_group("populate", "--repetitions", "1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("instead of 8GiB, for the memory cgroup limit leaves", done.stdout)

    def test_mapping_fits_256_mebibytes(self):
        done = self.bench_in_group("mapping", "--size", "2MiB", "--repetitions", "1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^2MiB cleared, 1 iterations? of ")

    def test_twice_fits_256_mebibytes(self):
        done = self.bench_in_group("twice", "--repetitions", "1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^== \d+MiB on ")

    def test_metadata_fits_256_mebibytes(self):
        done = self.bench_in_group("metadata", "--repetitions", "1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^note: a bitmap of .*the memory cgroup limit")

    def test_pool_fits_256_mebibytes(self):
        done = self.bench_in_group("pool", "--repetitions", "1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^== \d+[MG]iB on .*: a pool of \d+ pages; ")
        self.assertRegex(done.stdout, r"(?m)^note: .*the memory cgroup limit")
        self.assertRegex(done.stdout, r"(?m)^  counts in registers ")

    def test_tune_fits_256_mebibytes(self):
        # What cannot be had is a line, and the others go on.
        done = self.bench_in_group("tune", "--repetitions", "1", "--force", "--output",
                                   self.path("profile"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"(?m)^on \d+[KM]iB on 4 KiB pages$")
        for title in ("1 GiB pages", "2 MiB pages", "transparent huge pages"):
            self.assertRegex(done.stdout, rf"(?m)^(on \d\S* on |note: not measured: ){title}")
        self.assertEqual(self.files(), ["profile"])

    def test_default_run_fits_256_mebibytes(self):
        done = self.bench_in_group()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"== 1\d\dMiB on 4 KiB pages")
        self.assertIn("the memory cgroup limit", done.stdout)
        self.assertLess(float(re.search(r"measured for ([\d.]+) s", done.stdout)[1]), 15)


if __name__ == "__main__":
    sys.exit(one_test.main())
