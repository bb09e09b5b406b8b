# SPDX-License-Identifier: BSD-2-Clause
#
# hpzero-bench report: report_test.py HPZERO_BENCH CLASS.TEST. The page in a real browser, its
# numbers recomputed from the JSON, refusals in one sentence, nothing injected and nothing left
# behind. Times are made up: no speed is checked.
import csv
import html.parser
import io
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

import browser
import huge_pools
import one_test

BENCH = ""

# Keys of a sample in the JSON that the page needs no column for.
NOT_OF_SAMPLES = {"run_type", "repetition_index", "threads", "real_time", "time_unit"}

CONTEXT = {
    "date": "2026-11-30T12:00:00+00:00", "num_cpus": 4, "hpzero_schema": "1",
    "hpzero_command": "run", "hpzero_version": "0.1.0", "hpzero_kernels": "fast_nt fast_st memset",
    "hpzero_plan_auto": "fast_st to 64KiB, fast_nt above",
    "hpzero_plan_cached": "fast_st above", "hpzero_plan_stream": "fast_nt above",
    "hpzero_probe": "off", "cpu_model": "A made-up CPU", "linux": "6.1 x86_64",
    "warnings": "this machine is made up: find another",
}
SIZES = {"4KiB": 4096, "64KiB": 65536, "1MiB": 1 << 20, "32MiB": 32 << 20}


def bench(*arguments, **more):
    more.setdefault("timeout", 200)
    return subprocess.run([BENCH, *arguments], text=True, capture_output=True, **more)


def entry(name, at, bytes_, ns, ranges=1, **more):
    return {"name": name, "run_type": "iteration", "repetition_index": at, "threads": 1,
            "real_time": ns, "time_unit": "ns", "bytes": bytes_, "ns": ns, "ranges": ranges,
            "sections": 1, "subtracted_clock_ns": 0.0, "page_faults": 0, "preempted": 0, **more}


def made_up(entries, **context):
    return {"context": {**CONTEXT, **context}, "benchmarks": entries}


def a_run(seed=1, rows=("hpz_zero", "hpz_zero_cached", "hpz_zero_stream", "fast_nt", "fast_st",
                        "memset", "rep_stosb_per_4KiB"), pages=("2m",)):
    dice = random.Random(seed)
    return [entry(f"{row}/{size}/{state}/{kind}", at, bytes_,
                  round(bytes_ / dice.uniform(5, 90) + 1, 1))
            for kind in pages for state in ("hot", "recycled", "cold")
            for size, bytes_ in SIZES.items() for row in rows for at in range(5)]


def all_experiments():
    """A file of each experiment, by command."""
    dice = random.Random(7)

    def rows_of(state, size, bytes_, rows, **more):
        return [entry(f"{row}/{size}/{state}", at, bytes_, round(dice.uniform(0.5, 2) * ns, 1),
                      **{key: value(row) for key, value in more.items()})
                for row, ns in rows.items() for at in range(5)]

    def threads(row):
        found = re.search(r"_t(\d+)$", row)
        return int(found[1]) if found else 1

    gib = 1 << 30
    worked = {"threads_worked": threads, "cpu_ns": lambda row: 10 ** 7,
              "local_bytes": lambda row: gib, "remote_bytes": lambda row: 0}
    parallel = [run for node in (0, 1)
                for run in rows_of("touched/2m.node%d" % node, "1GiB", gib, {
                    "hpz_zero_stream": 9e7, "team_t1": 9e7, "team_t2": 5e7, "team_t4": 3e7,
                    "team_auto": 4e7, "memset_t1": 2e8, "memset_t2": 2e8, "memset_t4": 9e7},
                    **worked)]
    quantiles = {"min_ns": lambda row: 300, "median_ns": lambda row: 450,
                 "p999_ns": lambda row: 136000, "max_ns": lambda row: 175000,
                 "hits": lambda row: 8, "misses": lambda row: 1, "waits": lambda row: 0}
    passes = {"l2_warm_pass_ns": lambda row: 1000.0, "l2_pass_ns": lambda row: 1500.0,
              "llc_warm_pass_ns": lambda row: 9000.0, "llc_pass_ns": lambda row: 30000.0}
    return {
        "run": a_run(pages=("2m", "4k")),
        "parallel": parallel,
        "mapping": rows_of("cold/thp", "2MiB", 2 << 20, {
            "mapped_pieces": 3e6, "direct": 9e4, "pieces": 1e5, "space_direct": 9e4,
            "mapped_pieces_rep_stosb": 3e6, "pieces_rep_stosb": 2e5})
                   + rows_of("allocated/anonymous", "96MiB", 96 << 20, {
                       "touch_4k": 4e7, "populate_4k": 2e7, "touch_thp": 1e7}),
        "twice": rows_of("acquired/2m", "2GiB", 2 * gib, {
            "cleared_twice": 5e8, "populate": 3e8, "populate_map": 3e8, "map_zero_dirty": 1e8,
            "map_zero_known": 5e3}),
        "metadata": rows_of("opened/address_space", "500GiB", 500 * gib, {
            "open_lazy": 1e4, "open_eager": 9e6, "open_array": 2e8})
                    + rows_of("marked/address_space", "512GiB", 16 << 20, {
                        "mark_4KiB": 5e7, "mark_2MiB": 2e8}),
        "overhead": [entry(f"{row}/{size}B/call/hot", at, 2000 * size, 8000.0 + size, ranges=2000)
                     for row in ("memset", "hpz_zero") for size in (1, 64, 255)
                     for at in range(3)],
        "pool": rows_of("once/2m", "2GiB", 2 * gib, {"kernel": 7e8, "pool_on": 1.5e6}, **quantiles),
        "bystander": rows_of("same_thread/2m", "1GiB", gib, {
            "fast_nt": 1e8, "memset": 2e8, "nothing": 1e8}, **passes),
        "dance": rows_of("waltz/ballroom", "3KiB", 3072, {"left": 100.0, "right": 200.0}),
    }


def medians(entries):
    """By row, size, state and pages: the rates, GB/s."""
    rates = {}
    for run in entries:
        rates.setdefault(run["name"], []).append(run["bytes"] / run["ns"])
    return {tuple(name.split("/")): statistics.median(values) for name, values in rates.items()}


def rate_text(rate):
    if rate >= 99.95:
        return f"{rate:.0f}"
    return f"{rate:.1f}" if rate >= 9.995 else f"{rate:.2f}"


# What the browser has of the figures: title, and the table with it.
TABLES = """[...document.querySelectorAll('figure')].map(figure => ({
  title: figure.querySelector('h4').textContent,
  heading: [...figure.querySelectorAll('thead th')].map(cell => cell.textContent),
  rows: [...figure.querySelectorAll('tbody tr')].map(
    row => [...row.children].map(cell => cell.textContent))}))"""


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def files(self):
        return sorted(os.listdir(self.folder.name))

    def write(self, name, content):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return self.path(name)

    def write_all(self):
        return [self.write(f"{command}.json", made_up(entries, hpzero_command=command))
                for command, entries in all_experiments().items()]

    def has(self, words, page):
        self.assertTrue(words in page, words)

    def report(self, *arguments, **more):
        done = bench("report", self.path("out.html"), *arguments, **more)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.path("out.html"), encoding="utf-8") as file:
            return file.read()

    def refuse(self, *arguments, left=(), **more):
        done = bench("report", *arguments, **more)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Ahpzero-bench: [^\n]{10,600}\n\Z")
        self.assertEqual(self.files(), sorted(left))
        return done.stderr


class Page(Folder):
    def test_all_experiments_are_there(self):
        page = self.report(*self.write_all())
        for words in ("Rate by size", "Scaling with threads", "Times beside published ones",
                      "Waiting for clean pages", "What clearing costs by-standers", "Short calls",
                      "More figures", "The machine", "this machine is made up: find another",
                      "A made-up CPU", "node 1", "waltz"):
            self.has(words, page)
        # A chart for a screen and one for a phone, and a table, under each title.
        figures = page.count("<figure ")
        self.assertGreater(figures, 12)
        self.assertEqual(page.count("<svg class=\"wide\""), figures)
        self.assertEqual(page.count("<svg class=\"narrow\""), figures)
        self.assertEqual(page.count("<h4>"), figures)
        self.assertGreaterEqual(page.count("<table"), figures)
        # Published figures are bars of their own, in pattern.
        self.has("published: the whole extent at its address", page)
        self.has("url(#figure", page)

    def test_it_is_self_contained_and_runs_nothing(self):
        page = self.report(*self.write_all())
        self.assertNotRegex(page, r"(?i)<script|<link|<img|<iframe|\bon\w+\s*=|javascript:|@import")
        self.has("default-src 'none'", page)
        for address in re.findall(r"""(?:href|src|url)\s*[=(]\s*["']?([^"')>]{0,40})""", page):
            self.assertRegex(address, r"^(#|data:text/csv,)")
        self.assertNotRegex(page, r"https?:")

    def test_ids_are_there_once(self):
        page = self.report(*self.write_all())
        ids = re.findall(r"""\sid=["']([^"']+)["']""", page)
        self.assertEqual(len(ids), len(set(ids)))
        for target in re.findall(r"""(?:href=["']|url\()#([^"')]+)""", page):
            self.assertIn(target, ids)

    def test_the_samples_in_it_are_those_of_the_files(self):
        files = self.write_all()
        page = self.report(*files)
        text = urllib.parse.unquote(re.search(r'href="data:text/csv,([^"]*)"', page)[1])
        got = {(row["command"], row["name"], int(row["round"])): row
               for row in csv.DictReader(io.StringIO(text))}
        count = 0
        for command, entries in all_experiments().items():
            for run in entries:
                row = got[command, run["name"], run["repetition_index"]]
                for field in row.keys() - {"command", "name", "round", "more"}:
                    if field in run:
                        self.assertAlmostEqual(float(row[field]), run[field], msg=field)
                    else:
                        self.assertIn(row[field], ("", "0"), field)
                more = dict(each.split("=") for each in row["more"].split())
                self.assertTrue(set(run) - set(row) - set(more) <= NOT_OF_SAMPLES, run)
                count += 1
        self.assertEqual(len(got), count)
        self.assertIn("p999_ns=136000", text)

    def test_the_kernel_that_the_plan_has_is_marked(self):
        page = self.report(self.write("run.json", made_up(a_run())))
        reader = CellsReader(page)
        for title in ("Hot: ", "Recycled: ", "Cold: "):
            rows = reader.table(title)
            for at, kernel in enumerate(("fast_st", "fast_st", "fast_nt", "fast_nt"), 1):
                marked = [row[0] for row in rows if row[at].startswith("* ")]
                self.assertEqual(marked, [kernel])

    def test_a_picture(self):
        self.report(self.write("run.json", made_up(a_run())), "--png", self.path("out.png"))
        with open(self.path("out.png"), "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
        for entries in all_experiments().values():
            self.report(self.write("one.json", made_up(entries)), "--png", self.path("out.png"))

    def test_two_files_of_one_experiment_say_which_is_which(self):
        page = self.report(self.write("a.json", made_up(a_run(1))),
                           self.write("b.json", made_up(a_run(2), linux="6.2 x86_64")))
        self.assertRegex(page, r"From run \([^)]*a\.json\):")
        self.assertRegex(page, r"From run \([^)]*b\.json\):")
        self.has("6.1 x86_64 | 6.2 x86_64", page)

    def test_one_sample_and_one_size(self):
        page = self.report(self.write("a.json", made_up([entry("memset/4KiB/cold/2m", 0, 4096,
                                                               100.0)])))
        self.has("41.0 GB/s", page)
        page = self.report(self.write("a.json", made_up([entry("cancel/call", 0, 0, 1e3)])))
        self.has("1.00 us", page)

    def test_extreme_numbers(self):
        self.report(self.write("a.json", made_up(
            [entry(f"memset/{size}/cold/2m", at, bytes_, ns)
             for size, bytes_ in (("1B", 1), ("1024GiB", 1 << 40)) for at, ns in
             enumerate((1e-6, 1.0, 1e17))]
            + [entry("odd_t4000000000/4KiB/touched/2m", 0, 0, 1e-6)]
            + [entry("odd/4KiB/once/2m", 0, 1, 1.0, median_ns=1e300, p999_ns=-1, p0_ns=5)])))


class CellsReader(html.parser.HTMLParser):
    """Tables of a page without a browser: by the title of their figure."""

    def __init__(self, page):
        super().__init__()
        self.tables, self.title, self.into = {}, "", None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag == "h4":
            self.title = ""
        self.into = tag if tag in ("h4", "th", "td", "code") else self.into
        if tag == "tr":
            self.tables.setdefault(self.title, []).append([])
        if tag in ("th", "td"):
            self.tables[self.title][-1].append("")

    def handle_endtag(self, tag):
        self.into = None
        if tag == "figure":
            self.title = ""

    def handle_data(self, data):
        if self.into == "h4":
            self.title += data
        elif self.into in ("th", "td"):
            self.tables[self.title][-1][-1] += data

    def table(self, title):
        return next(rows for name, rows in self.tables.items() if name.startswith(title))[1:]


class Browser(Folder):
    def setUp(self):
        super().setUp()
        if browser.chromium() is None:
            self.fail("there is no Chromium: install Debian's package chromium (tools/setup test)")
        self.open = browser.Browser()
        self.open.__enter__()
        self.addCleanup(self.open.__exit__, None, None, None)

    def test_nothing_complains_nothing_is_fetched_nothing_overflows(self):
        self.report(*self.write_all())
        for width, scheme, media in ((360, "light", "screen"), (360, "dark", "screen"),
                                     (1280, "light", "screen"), (1280, "dark", "screen"),
                                     (700, "light", "print")):
            with self.subTest(width=width, scheme=scheme, media=media):
                self.open.look(width, scheme, media)
                self.open.open(self.path("out.html"))
                self.assertEqual(self.open.complaints(), [])
                self.assertEqual([address for address in self.open.requests()
                                  if not address.endswith("/out.html")], [])
                # On paper nobody can open them.
                tables = "[...document.querySelectorAll('figure table')]"
                if media == "print":
                    self.assertTrue(self.open.evaluate(
                        f"{tables}.every(table => table.checkVisibility() && "
                        "table.getBoundingClientRect().height > 20)"))
                self.open.evaluate(
                    "document.querySelectorAll('details').forEach(one => one.open = true)")
                if media == "screen":
                    self.assertLessEqual(
                        self.open.evaluate("document.documentElement.scrollWidth"), width)
                # Of each chart the one that fits, and as wide as the page.
                shown = self.open.evaluate("""[...document.querySelectorAll('figure')].map(
                    figure => [...figure.querySelectorAll('svg')].filter(
                        svg => getComputedStyle(svg).display !== 'none').map(
                        svg => [svg.getAttribute('class'), svg.getBoundingClientRect().width]))""")
                self.assertGreater(len(shown), 12)
                kind = "narrow" if width == 360 and media == "screen" else "wide"
                for charts in shown:
                    self.assertEqual([name for name, _ in charts], [kind])
                    self.assertGreater(charts[0][1], width * 0.7)

    def test_numbers_are_those_of_the_json(self):
        files = self.write_all()
        self.report(*files)
        self.open.look(1280)
        self.open.open(self.path("out.html"))
        tables = self.open.evaluate(TABLES)
        run = all_experiments()["run"]
        expected = medians(run)
        seen = 0
        for state, title in (("hot", "Hot: "), ("recycled", "Recycled: "), ("cold", "Cold: ")):
            found = [table for table in tables if table["title"].startswith(title)]
            self.assertEqual(len(found), 2)
            for pages, table in zip(("2m", "4k"), found):
                sizes = [size.replace(" ", "") for size in table["heading"][1:]]
                self.assertEqual(sizes, list(SIZES))
                for name, *cells in table["rows"]:
                    row = name.split()[-1]
                    for size, cell in zip(sizes, cells):
                        rate = rate_text(expected[row, size, state, pages])
                        self.assertEqual(cell.removeprefix("* ").split()[0], rate, (row, size))
                        seen += 1
        self.assertEqual(seen, len(expected))
        # Threads: the rate, and by what it is measured.
        table = next(table for table in tables if "several threads, 1 GiB" in table["title"])
        expected = medians(all_experiments()["parallel"])
        for name, threads, rate, *_ in table["rows"]:
            row = name.split()[-1]
            self.assertEqual(rate, rate_text(expected[row, "1GiB", "touched", "2m.node0"]))
        # Times: mean of the rounds.
        table = next(table for table in tables if "cleared twice" in table["title"])
        times = {}
        for sample in all_experiments()["twice"]:
            times.setdefault(sample["name"].split("/")[0], []).append(sample["ns"])
        for name, mean, *_ in table["rows"]:
            row = name.split()[-1]
            if row in times:
                number, unit = mean.split()
                ns = float(number) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]
                self.assertAlmostEqual(ns / statistics.fmean(times[row]), 1, delta=0.006)

    def test_points_of_a_chart_are_where_the_numbers_are(self):
        # One row whose rates are 10, 20 and 40 at 4, 64 and 1024 KiB: a straight line where both
        # axes are logarithmic, and thrice the way where the vertical one is not.
        rates = {"4KiB": 10, "64KiB": 20, "1MiB": 40}
        self.report(self.write("a.json", made_up(
            [entry(f"hpz_zero/{size}/cold/2m", 0, SIZES[size], SIZES[size] / rate)
             for size, rate in rates.items()])))
        self.open.look(1280)
        self.open.open(self.path("out.html"))
        points = self.open.evaluate(r"""[...document.querySelectorAll(
            'svg.wide use[transform^="translate"]')].map(
                use => use.getAttribute('transform').match(/translate\(([\d.]+),([\d.]+)\)/)
                    .slice(1).map(Number))""")
        (x0, y0), (x1, y1), (x2, y2) = points[:3]
        self.assertAlmostEqual(x1 - x0, x2 - x1, delta=0.1)
        self.assertAlmostEqual((y0 - y2) / (y0 - y1), 3, delta=0.02)
        zero = self.open.evaluate(r"""[...document.querySelectorAll('svg.wide text')].filter(
            text => text.textContent.trim() === '0')[0].parentNode.getAttribute('transform')
            .match(/,([\d.]+)\)/)[1] * 1""")
        # The label's middle line is some pixels above where it stands.
        self.assertAlmostEqual((zero - 4 - y2) / (zero - 4 - y0), 4, delta=0.15)

    def test_dark_and_light_differ_and_can_be_read(self):
        self.report(*self.write_all())
        seen = {}
        for scheme in ("light", "dark"):
            self.open.look(1280, scheme)
            self.open.open(self.path("out.html"))
            seen[scheme] = self.open.evaluate("""(() => {
                const of = (one, what) => getComputedStyle(one)[what];
                const text = document.querySelector('svg.wide text').parentNode;
                const lines = [...document.querySelectorAll('svg.wide path[stroke^="var(--"]')];
                return {paper: of(document.body, 'backgroundColor'),
                        ink: of(document.body, 'color'),
                        text: of(text, 'fill'), lines: lines.map(line => of(line, 'stroke'))};
            })()""")
        for scheme, colours in seen.items():
            paper = luminance(colours["paper"])
            for what in ("ink", "text"):
                self.assertGreater(contrast(luminance(colours[what]), paper), 7, scheme)
            self.assertGreater(len(set(colours["lines"])), 4)
        self.assertGreater(contrast(luminance(seen["light"]["paper"]),
                                    luminance(seen["dark"]["paper"])), 10)
        self.assertNotEqual(seen["light"]["lines"], seen["dark"]["lines"])

    def test_hostile_names_are_text(self):
        self.report(self.write("evil.json", hostile()))
        self.open.look(1280)
        self.open.open(self.path("out.html"))
        self.assertEqual(self.open.complaints(), [])
        self.assertEqual(len(self.open.requests()), 1)
        self.assertEqual(self.open.evaluate(
            "document.querySelectorAll('script,img,iframe,object,embed,b[onclick]').length"), 0)
        self.assertNotEqual(self.open.evaluate("document.title"), "owned")
        self.assertIn("<script>", self.open.evaluate("document.body.textContent"))


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    parts = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a, b):
    return (max(a, b) + 0.05) / (min(a, b) + 0.05)


EVIL = ("<script>document.title='owned'<", "'.system('touch${IFS}owned').'", "`touch${IFS}owned`",
        "\"`touch${IFS}owned`\"", "a\\\"b", "%s%n", "</title><img_src=x_onerror=alert(1)>", "EOD",
        "$GPVAL", "--></svg>", "&lt;", "{/Bold_x}", "'\\n!touch${IFS}owned", "@x", "x;exit", "_t",
        "__t1_t2")


def hostile():
    rows = [name.replace("/", "|") for name in EVIL]
    entries = [entry(f"{row}/{size}/{state}/{pages}", 0, 4096, 100.0 + at)
               for state, pages in (("cold", "2m"), ("<b>", "\"><script>alert(1)<"),
                                    ("once", "EOD"))
               for size in ("4KiB", "8KiB")
               for at, row in enumerate(rows)]
    return made_up(entries, cpu_model="</h1><script>document.title='owned'</script>",
                   linux="'\"><img src=x onerror=alert(1)>", hpzero_version="`touch owned`\n!x",
                   warnings="</ul><script>alert(1)</script>; '", hpzero_command="<script>",
                   hpzero_plan_auto="<script> to <script>, ' above",
                   hpzero_probe="'; system to x, y", **{"<i>": "</table><script>"})


class Hostile(Folder):
    def test_nothing_is_run_and_nothing_is_markup(self):
        page = self.report(self.write("evil.json", hostile()), "--png", self.path("out.png"),
                           cwd=self.folder.name)
        self.assertEqual(self.files(), ["evil.json", "out.html", "out.png"])
        self.assertNotRegex(page, r"(?i)<script|<img|<i>|<b>(?!\d)")
        self.has("&lt;script&gt;", page)
        # What gnuplot wrote has nothing of the names but letters.
        for text in re.findall(r"<text>(.*?)</text>", page, re.DOTALL):
            self.assertRegex(text, r"\A(<tspan[^>]*>)?[ \w.,+\-()/:%=*?]*(</tspan>)?\Z")

    def test_the_user_of_gnuplot_has_no_say(self):
        self.write(".gnuplot", "system('touch owned')\n")
        self.report(self.write("a.json", made_up(a_run())), cwd=self.folder.name,
                    env={**os.environ, "HOME": self.folder.name, "GNUTERM": "dumb",
                         "GNUPLOT_LIB": self.folder.name, "LC_ALL": "de_DE.UTF-8",
                         "LANG": "de_DE.UTF-8"})
        self.assertNotIn("owned", self.files())


class Refused(Folder):
    def test_files_that_are_none(self):
        good = json.dumps(made_up(a_run()))
        for name, text in (("cut.json", good[:len(good) // 2]), ("empty.json", ""),
                           ("foreign.json", json.dumps({"context": {}, "benchmarks": []})),
                           ("text.json", "Dear Sir or Madam"), ("deep.json", "[" * 100000),
                           ("old.json", good.replace('"hpzero_schema": "1"',
                                                     '"hpzero_schema": "0"')),
                           ("new.json", good.replace('"hpzero_schema": "1"',
                                                     '"hpzero_schema": "99"'))):
            with self.subTest(name):
                path = self.write(name, text)
                said = self.refuse(self.path("out.html"), path, left=[name])
                self.assertIn(name, said)
                os.unlink(path)

    def test_a_bad_file_among_good_ones(self):
        good = self.write("good.json", made_up(a_run()))
        self.refuse(self.path("out.html"), good, self.path("missing.json"), left=["good.json"])

    def test_the_name_of_the_page_was_forgotten(self):
        good = self.write("good.json", made_up(a_run()))
        text = open(good, "rb").read()
        same = self.path("same.html")
        os.link(good, same)
        for page, *files in ((good,), (good, same), (same, good),
                             (self.path("out.html"), good, "--png", same)):
            self.assertIn("comes first", self.refuse(page, *files, left=["good.json", "same.html"]))
            self.assertEqual(open(good, "rb").read(), text)

    def test_a_picture_that_cannot_be_written_leaves_no_page(self):
        good = self.write("good.json", made_up(a_run()))
        done = bench("report", self.path("out.html"), good, "--png", "/dev/full")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(self.files(), ["good.json"])

    def test_too_many_charts(self):
        entries = [entry(f"memset/4KiB/hot/p{kind}", 0, 4096, 100.0) for kind in range(301)]
        many = self.write("many.json", made_up(entries))
        self.assertIn("300 charts", self.refuse(self.path("out.html"), many, left=["many.json"]))

    def test_an_older_page_stays(self):
        self.write("out.html", "the page before")
        bad = self.write("bad.json", "{")
        self.refuse(self.path("out.html"), bad, "--png", self.path("out.png"),
                    left=["bad.json", "out.html"])
        with open(self.path("out.html"), encoding="ascii") as file:
            self.assertEqual(file.read(), "the page before")

    def test_no_gnuplot(self):
        good = self.write("good.json", made_up(a_run()))
        os.mkdir(self.path("bin"))
        said = self.refuse(self.path("out.html"), good, left=["bin", "good.json"],
                           env={**os.environ, "PATH": self.path("bin")})
        self.assertIn("gnuplot-nox", said)

    def shim_gnuplot(self, script):
        """A gnuplot before the real one, which it becomes at its end."""
        os.makedirs(self.path("bin"), exist_ok=True)
        with open(self.path("bin/gnuplot"), "w", encoding="ascii") as file:
            file.write(f'#!/bin/sh\n{script}exec {shutil.which("gnuplot")} "$@"\n')
        os.chmod(self.path("bin/gnuplot"), 0o755)

    def with_shim(self):
        return {**os.environ, "PATH": self.path("bin") + ":/usr/bin:/bin"}

    def test_a_gnuplot_that_fails(self):
        good = self.write("good.json", made_up(a_run()))
        self.shim_gnuplot("exit 1\n")
        said = self.refuse(self.path("out.html"), good, left=["bin", "good.json"],
                           env=self.with_shim())
        self.assertIn("gnuplot, which does not run here (it says nothing)", said)
        self.shim_gnuplot("echo 'unknown or ambiguous terminal type' >&2\nexit 1\n")
        said = self.refuse(self.path("out.html"), good, left=["bin", "good.json"],
                           env=self.with_shim())
        self.assertIn("this gnuplot does not write SVG", said)
        # One that fails later is a failure, and leaves nothing either.
        self.shim_gnuplot(f'test -e "{self.folder.name}/bin/once" && exit 3\n'
                          f'touch "{self.folder.name}/bin/once"\n')
        done = bench("report", self.path("out.html"), good, env=self.with_shim())
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("gnuplot failed", done.stderr)
        self.assertEqual(self.files(), ["bin", "good.json"])

    def test_places_that_cannot_be_written(self):
        good = self.write("good.json", made_up(a_run()))
        self.refuse(self.path("nowhere/out.html"), good, left=["good.json"])
        self.refuse(self.folder.name, good, left=["good.json"])
        self.refuse(self.path("out.html"), good, "--png", self.path("nowhere/out.png"),
                    left=["good.json"])

    def test_a_folder_that_may_only_be_read(self):
        if os.geteuid() != 0:
            os.chmod(self.folder.name, 0o555)
            self.addCleanup(os.chmod, self.folder.name, 0o755)
            said = self.refuse(self.path("out.html"))
        else:
            said = self.refuse("/proc/out.html")
        self.assertIn("cannot write", said)

    def test_words_that_mean_nothing(self):
        good = self.write("good.json", made_up(a_run()))
        self.refuse(left=["good.json"])
        self.refuse(self.path("out.html"), good, "--seconds", "5", left=["good.json"])
        self.refuse(self.path("out.html"), good, "--kernel", "memset", left=["good.json"])

    def test_killed_while_it_draws(self):
        files = self.write_all()
        # The first call asks what gnuplot can, the second one draws: for as long as it may.
        self.shim_gnuplot(f'test -e "{self.folder.name}/bin/once" && '
                          f'echo $$ > "{self.folder.name}/bin/pid" && exec sleep 600\n'
                          f'touch "{self.folder.name}/bin/once"\n')
        process = subprocess.Popen([BENCH, "report", self.path("out.html"), *files],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env=self.with_shim())
        pid = ""
        deadline = time.monotonic() + 60
        while not pid and time.monotonic() < deadline:
            time.sleep(0.01)
            if os.path.exists(self.path("bin/pid")):
                with open(self.path("bin/pid"), encoding="ascii") as file:
                    pid = file.read().strip()
        self.assertIsNone(process.poll())
        self.assertNotEqual([name for name in self.files() if ".tmp" in name], [])
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=60), -signal.SIGTERM)
        self.assertEqual([name for name in self.files() if ".tmp" in name], [])
        # What draws ends with who asked for it.
        while self.is_running(pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertFalse(self.is_running(pid))

    @staticmethod
    def is_running(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                return file.read().rpartition(")")[2].split()[0] != "Z"
        except FileNotFoundError:
            return False


class Fresh(Folder):
    """Measured for the page. Once, for it takes its time."""

    def test_measured_now(self):
        pools = huge_pools.pages()
        done = bench("report", self.path("out.html"), "--seconds", "60", timeout=280)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.files(), ["out.html"])
        with open(self.path("out.html"), encoding="utf-8") as file:
            page = file.read()
        parts = {"run": "Rate by size", "parallel": "Scaling with threads",
                 "overhead": "Short calls"}
        for command, title in parts.items():
            # A busy machine may be late with one.
            if f"{command} was not measured: it took too long: run " not in page:
                self.has(title, page)
        self.assertTrue([title for title in parts.values() if title in page])
        self.has("Measured by &#39;hpzero-bench report&#39;, for this page.", page)
        deadline = time.monotonic() + 60
        while huge_pools.more_than(pools) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(huge_pools.more_than(pools), {}, "huge pages left reserved")

    def test_interrupted(self):
        pools = huge_pools.pages()
        process = subprocess.Popen([BENCH, "report", self.path("out.html")],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        # What is to be put back is there; if that cannot be, it is at work for a while.
        deadline = time.monotonic() + 20
        while not huge_pools.more_than(pools) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=60), -signal.SIGTERM)
        process.stderr.close()
        deadline = time.monotonic() + 60
        while (huge_pools.more_than(pools) or self.files()) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual((huge_pools.more_than(pools), self.files()), ({}, []))


if __name__ == "__main__":
    sys.exit(one_test.main())
