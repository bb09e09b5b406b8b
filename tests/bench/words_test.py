# SPDX-License-Identifier: BSD-2-Clause
#
# What hpzero-bench says of itself: words_test.py HPZERO_BENCH CLASS.TEST. The manual as its readers
# format it, completion as the shells do it, and the examples run.
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import one_test

BENCH = ""
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
REFUSED = 2


class Words(unittest.TestCase):
    """Each test has an empty folder, in which it works; hpzero-bench is found by its name."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = {**os.environ, "LC_ALL": "C.UTF-8", "HOME": self.folder,
                            "PATH": f"{os.path.dirname(BENCH)}:{os.environ['PATH']}"}
        for name in ("MANOPT", "MANROFFOPT", "MAN_KEEP_FORMATTING", "GROFF_NO_SGR", "FPATH"):
            self.environment.pop(name, None)

    def run_in_folder(self, *command, **more):
        return subprocess.run(command, cwd=self.folder, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=200, **more)

    def said(self, *command):
        """Standard output of what must succeed without a complaint."""
        done = self.run_in_folder(*command)
        self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        return done.stdout

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def commands(self):
        """Those that --help lists."""
        listed = self.said(BENCH, "--help").split("\ncommands:\n")[1].split("\n\n")[0]
        names = re.findall(r"(?m)^  (\S+)", listed)
        self.assertGreater(len(names), 10)
        return names

    def options(self, *command):
        """Names and placeholders of the options in a help."""
        listed = self.said(BENCH, *command, "--help").partition("\noptions:\n")[2]
        return dict(re.findall(r"(?m)^  (--[\w-]+)(?: ([A-Z]\S*))?(?:  |\n|$)",
                               listed.split("\n\n")[0]))


class Manual(Words):
    def setUp(self):
        super().setUp()
        self.write("hpzero-bench.1", self.said(BENCH, "man"))

    def read(self):
        """As plain text in one line, paragraphs and all."""
        text = self.said("man", "--warnings", "-P", "cat", "-l", "hpzero-bench.1")
        return re.sub(r"\s+", " ", re.sub(".\b", "", text))

    def test_nobody_complains(self):
        self.assertEqual(self.said("groff", "-man", "-ww", "-Tutf8", "-z", "hpzero-bench.1"), "")
        self.assertIn("how fast this machine", self.read())
        done = self.run_in_folder("mandoc", "-Tlint", "hpzero-bench.1")
        # A date would be that of the build, which is not the same twice.
        complaints = [line for line in done.stdout.splitlines() if "missing date" not in line]
        self.assertEqual((complaints, done.stderr), ([], ""))

    def test_has_its_sections_in_the_usual_order(self):
        source = self.said(BENCH, "man")
        self.assertEqual(re.findall(r"(?m)^\.SH (.*)$", source),
                         ["NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", "EXIT STATUS",
                          "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"])
        # What whatis and apropos read.
        self.assertIn("\n.SH NAME\nhpzero\\-bench \\- how fast", source)

    def test_has_all_commands_and_options(self):
        text = self.read()
        options = " " + text.split(" OPTIONS ")[1].split(" EXIT STATUS ")[0]
        for name, placeholder in self.options().items():
            self.assertIn(f" {name}{' ' if placeholder else ''}{placeholder}", options)
        commands = text.split(" COMMANDS ")[1].split(" OPTIONS ")[0] + " "
        for name in self.commands():
            self.assertRegex(commands, rf"(^| ){name} ")
            for option in self.options(name):
                if option not in ("--help", "--version"):
                    self.assertIn(option, commands)
                    of_option = options.split(f" {option} ")[1].split("Commands: ")[1]
                    self.assertIn(name, of_option.split(".")[0])

    def test_has_all_variables_of_the_library(self):
        with open(os.path.join(SOURCE, "lib/plan/env.cpp"), encoding="utf-8") as file:
            variables = re.findall(r'value_of\("(\w+)"\)', file.read())
        self.assertGreater(len(variables), 2)
        environment = self.read().split(" ENVIRONMENT ")[1].split(" FILES ")[0]
        self.assertEqual(re.findall(r"\b[A-Z]+_[A-Z_]+\b", environment), variables)

    def test_examples_can_be_copied(self):
        # No sign of them is a typographer's: minus, quotes, tilde.
        text = self.read()
        self.assertTrue(text.isascii(), re.findall(r"[^\x00-\x7f]", text))
        for example in examples(self):
            self.assertIn(example, text)

    def test_goes_into_a_file_or_is_refused(self):
        self.assertEqual(self.said(BENCH, "man", "--output", "m.1"), "")
        with open(os.path.join(self.folder, "m.1"), encoding="utf-8") as file:
            self.assertEqual(file.read(), self.said(BENCH, "man"))
        for command in (("man", "--output", "no/such/folder"), ("completion", "tcsh"),
                        ("completion",), ("man", "--json", "x"), ("ids", "x")):
            done = self.run_in_folder(BENCH, *command)
            self.assertEqual((done.returncode, done.stdout), (REFUSED, ""), command)
            self.assertRegex(done.stderr, r"^hpzero-bench: .+: .+\n$")
        self.assertEqual(sorted(os.listdir(self.folder)), ["hpzero-bench.1", "m.1"])


def examples(words):
    """Lines of all examples, in the order of the commands."""
    lines = []
    for name in words.commands():
        listed = words.said(BENCH, name, "--help").split("\nexamples:\n")[1].split("\n\n")[0]
        mine = re.findall(r"(?m)^  (\S.*)$", listed)
        words.assertIn(len(mine), (2, 3, 4), name)
        lines += mine
    return lines


def has_transparent_huge_pages():
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="ascii") as file:
            return "[never]" not in file.read()
    except OSError:
        return False


class Examples(Words):
    # Not these: minutes, or gigabytes on whatever pages there are. A unit test parses them.
    LONG = re.compile(r"hpzero-bench (tune|pool|bystander|parallel|twice|report machine.html|"
                      r"populate --pages thp|mapping --kernel|metadata --rep)|^hpzero-bench$")

    def shortened(self, line):
        """What stands last counts; sizes and pages are more of them."""
        command = command_of(line)
        options = self.options(command)
        if "--repetitions" in options:
            line += " --repetitions 3"
        if "--set" in options:
            line += " --set 64MiB"
        if command == "run":
            line += " --size 64KiB --pages 4k"
        # Asked for where they are off they are refused, as they should be.
        return line if has_transparent_huge_pages() else line.replace("--pages thp", "--pages 4k")

    def test_run(self):
        ran = []
        for folder in (".zfunc", ".config/fish/completions",
                       ".local/share/bash-completion/completions"):
            os.makedirs(os.path.join(self.folder, folder))
        for line in examples(self):
            if self.LONG.search(line):
                continue
            done = self.run_in_folder("bash", "-o", "pipefail", "-c", self.shortened(line))
            # Runs this short may differ by anything: compare says so, in one of three ways.
            if "--fail-below" in line:
                says = {0: r"(?m)^passed: ", 1: r"(?m)^failed: ", REFUSED: r"hpzero-bench: .+: "}
                self.assertRegex(done.stdout + done.stderr, says[done.returncode], line)
            else:
                self.assertEqual(done.returncode, 0, (line, done.stdout, done.stderr))
            ran.append(line)
        self.assertEqual(set(self.commands()) - {command_of(line) for line in ran},
                         {"tune", "pool", "bystander", "parallel", "twice"})
        for name in ("before.json", "after.json", "runs.html", "runs.png", "overhead.json",
                     "hpzero-bench.1", ".zfunc/_hpzero-bench"):
            self.assertGreater(os.path.getsize(os.path.join(self.folder, name)), 0)


def command_of(line):
    words = shlex.split(line)
    return words[words.index("hpzero-bench") + 1]


# A line, some of what is offered behind it, and what is not.
OFFERS = (
    ("hpzero-bench ", {"run", "compare", "completion", "man"}, {"ids", "first-call", "--json"}),
    ("hpzero-bench comp", {"compare", "completion"}, {"run"}),
    ("hpzero-bench run --pa", {"--pages"}, {"--peers"}),
    ("hpzero-bench --me", {"--memory"}, {"--png"}),
    ("hpzero-bench overhead --", {"--repetitions", "--json"}, {"--pages", "--png"}),
    ("hpzero-bench run --pages ", {"4k", "thp", "2m", "1g"}, {"hot", "run", "here.json"}),
    ("hpzero-bench run --memory ", {"hot", "recycled", "cold", "fresh"}, {"4k"}),
    ("hpzero-bench --kernel ", {"memset", "word64", "hpz_zero_stream"}, {"run", "list"}),
    ("hpzero-bench parallel --kernel ", {"memset", "word64"}, {"hpz_zero_stream"}),
    ("hpzero-bench bystander --kernel ", {"memset", "hpz_zero_stream"}, {"run", "list"}),
    ("hpzero-bench run --reference hpz_zero_s", {"hpz_zero_stream"}, {"hpz_zero"}),
    ("hpzero-bench pool --size 16", {"16KiB", "16MiB"}, {"1GiB"}),
    ("hpzero-bench explain ", {"4KiB", "1GiB"}, {"here.json"}),
    ("hpzero-bench metadata --size ", {"64GiB"}, {"4KiB"}),
    ("hpzero-bench completion ", {"bash", "zsh", "fish"}, {"here.json"}),
    ("hpzero-bench run --json ", {"here.json", "blank space.json"}, {"4k", "run"}),
    ("hpzero-bench tune --json x --output h", {"here.json"}, {"blank space.json"}),
    ("hpzero-bench compare here.json ", {"here.json", "blank space.json"}, {"run"}),
    ("hpzero-bench report a.html b.json ", {"here.json"}, {"run"}),
    ("hpzero-bench compare a.json b.json ", set(), {"here.json", "run"}),
    ("hpzero-bench run --repetitions ", set(), {"here.json", "run", "4k"}),
    ("hpzero-bench man ", set(), {"here.json", "run"}),
)


class Shell(Words):
    """Of one shell: the script is accepted, offers what it should, and all options."""

    def check(self, shell, syntax):
        self.script = os.path.join(self.folder, ".completion", "_hpzero-bench")
        os.mkdir(os.path.dirname(self.script))
        self.said(BENCH, "completion", shell, "--output", self.script)
        self.assertEqual(self.said(*syntax, self.script), "")
        self.write("here.json", "")
        self.write("blank space.json", "")
        for line, has, lacks in OFFERS:
            offers = self.offers(line)
            self.assertLessEqual(has, offers, line)
            self.assertEqual(lacks & offers, set(), line)
        for line, offer in (("hpzero-bench run --pages thp,", "2m"),
                            ("hpzero-bench run --kernel memset,w", "word64"),
                            ("hpzero-bench compare here.json,he", "here.json"),
                            ("hpzero-bench compare a.json here.json,he", "here.json")):
            # Some shells offer the last item, some the whole list.
            self.assertIn(offer, {one.rpartition(",")[2] for one in self.offers(line)}, line)
        every = set(self.options())
        for name in self.commands():
            offers = self.offers(f"hpzero-bench {name} --")
            mine = set(self.options(name)) | {"--help", "--version"}
            self.assertEqual(offers & every, mine, name)
        self.assertEqual(set(self.commands()), self.offers("hpzero-bench ") - {"-h"})


class Bash(Shell):
    def offers(self, line):
        # As readline splits it: an equals sign is a word.
        words = re.findall(r"=|[^\s=]+", line) + ([""] if line.endswith(" ") else [])
        quoted = " ".join(shlex.quote(word) for word in words)
        script = (f"source {shlex.quote(self.script)}; COMP_WORDS=({quoted}); "
                  f"COMP_CWORD={len(words) - 1}; _hpzero_bench; "
                  "(( ${#COMPREPLY[@]} == 0 )) || printf '%s\\n' \"${COMPREPLY[@]}\"")
        return set(self.said("bash", "--norc", "-u", "-c", script).splitlines()) - {".completion"}

    def test_completion(self):
        self.check("bash", ("bash", "-n"))
        self.assertIn("complete -F _hpzero_bench hpzero-bench", self.said(
            "bash", "-c", f"source {shlex.quote(self.script)}; complete -p hpzero-bench"))
        for line in ("hpzero-bench run --pages=", "hpzero-bench run --pages=2", "hpzero-bench "
                     "--json=x.json run --memory hot --pages "):
            self.assertIn("2m", self.offers(line), line)
        self.assertIn("list", self.offers("hpzero-bench --pages=2m "))


class Zsh(Shell):
    def offers(self, line):
        said = self.said("zsh", "-f", os.path.join(HERE, "completion.zsh"),
                         os.path.dirname(self.script), line)
        offers = re.findall(r"<([^<>]*)>", said.replace("\r", ""))
        self.assertEqual(offers[-1:], ["END"], (line, said))
        return {offer.removesuffix("=").replace("\\ ", " ") for offer in offers[:-1]}

    def test_completion(self):
        self.check("zsh", ("zsh", "-n"))


class Fish(Shell):
    def offers(self, line):
        script = f"source {shlex.quote(self.script)}; complete -C {shlex.quote(line)}"
        # Behind a tab is what it means.
        return {offer.partition("\t")[0].replace("\\ ", " ")
                for offer in self.said("fish", "--no-config", "-c", script).splitlines()}

    def test_completion(self):
        self.check("fish", ("fish", "--no-execute"))
        self.assertIn("--pages=2m", self.offers("hpzero-bench run --pages=2"))


# The base of the three is no test.
def load_tests(loader, _, __):
    return unittest.TestSuite(loader.loadTestsFromTestCase(case)
                              for case in (Manual, Examples, Bash, Zsh, Fish))


if __name__ == "__main__":
    sys.exit(one_test.main())
