# SPDX-License-Identifier: BSD-2-Clause
#
# What holds for every text file: text.py ROOT. ASCII, 100 columns, no tabs, no trailing blanks, the
# SPDX line in the head and behind it what lives in the file, no paths or hosts of anybody's
# machine. And the change log knows the version.
import re
import sys

import report
import tree

COLUMNS = 100
# Files that have no comments or no room for a head, and recorded data.
NO_HEAD = re.compile(r"(\.md|\.json|^\.clang-format|^LICENSE)$")
DATA = re.compile(r"^(bench/results/|tests/.*/corpus/)")
CPP = re.compile(r"\.(c|h|cpp|hpp|def|inc|map)$")
SPDX = re.compile(r"SPDX-License-Identifier: BSD-2-Clause$")
# Home directories and the like; a path inside the project never starts with a slash.
FOREIGN_PATH = re.compile(r"(?<![\w.})>*-])/(?:home|work|root|mnt|Users)/\w")
URL = re.compile(r"\bhttps?://([\w.-]+)")
KNOWN_HOSTS = {"keepachangelog.com", "semver.org"}


def has_head(name, lines, names):
    """The SPDX line among the first three, then a line of comment that says something. For a source
    with a header of its own name, the header says it."""
    comment = r"\s*(//|\*|/\*)\s*\w" if CPP.search(name) else r"\s*#\s*\w"
    for at, line in enumerate(lines[:3]):
        if SPDX.search(line.rstrip(" */").rstrip()):
            if name.endswith(".cpp") and name[:-3] + "h" in names:
                return True
            return any(re.match(comment, after) for after in lines[at + 1:at + 4])
    return False


def check(root):
    names = tree.files(root)
    violations = []
    for name in names:
        if DATA.match(name):
            continue
        text = tree.read(root, name)
        if not text:
            violations.append(f"{name}: empty")
            continue
        if not text.endswith("\n"):
            violations.append(f"{name}: no newline at the end")
        lines = text.split("\n")
        if not NO_HEAD.search(name) and not has_head(name, lines, names):
            violations.append(f"{name}: no SPDX line, or nothing behind it says what lives here")
        for number, line in enumerate(lines, 1):
            where = f"{name}:{number}"
            if not line.isascii():
                violations.append(f"{where}: not ASCII")
            if len(line) > COLUMNS and not URL.search(line):
                violations.append(f"{where}: {len(line)} columns")
            if "\t" in line or line != line.rstrip():
                violations.append(f"{where}: tab or trailing blank")
            if FOREIGN_PATH.search(line):
                violations.append(f"{where}: a path of somebody's machine")
            for host in URL.findall(line):
                if host not in KNOWN_HOSTS:
                    violations.append(f"{where}: host {host}")
    header = tree.read(root, "include/hpzero/version.h")
    version = ".".join(re.search(rf"define HPZ_VERSION_{part} (\d+)", header)[1]
                       for part in ("MAJOR", "MINOR", "PATCH"))
    if f"\n## [{version}]" not in tree.read(root, "CHANGELOG.md"):
        violations.append(f"CHANGELOG.md: no section [{version}]")
    return violations, len(names)


if __name__ == "__main__":
    report.finish(*check(sys.argv[1]), "files")
