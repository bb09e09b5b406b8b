# SPDX-License-Identifier: BSD-2-Clause
#
# Row F15 of the field reports: the system calls of teams and verbs are those that the headers list.
# job_syscalls.py STRACE SUBJECT ROOT
import pathlib
import re
import subprocess
import sys
import tempfile


def documented(root):
    """Name of a phase -> the system calls that its header lists for it."""
    lists = {}
    for header in ("team.h", "space.h"):
        text = (pathlib.Path(root) / "include/hpzero" / header).read_text()
        name = None
        for line in text.splitlines():
            start = re.match(r" \*   ([a-z][a-z_' ]*): ([a-z0-9_ ]+)$", line)
            more = re.match(r" \*     ([a-z0-9_ ]+)$", line)
            if start:
                name = start[1]
                lists[name] = set(start[2].split())
            elif more and name:
                lists[name] |= set(more[1].split())
            else:
                name = None
    return lists


def observed(trace):
    """(phase, is the calling thread, system call) of every line between marks."""
    phase = "none"
    main = None
    for line in trace.splitlines():
        match = re.match(r"(\d+)\s+(?:<\.\.\. )?([a-z0-9_]+)", line)
        if not match:
            continue
        thread, call = match[1], match[2]
        main = main or thread
        mark = re.search(r'"/mark/(\w+)"', line)
        if mark:
            phase = mark[1]
            continue
        yield phase, thread == main, call


def main(strace, subject, root):
    lists = documented(root)
    expected = {"hpz_team_create", "a worker's start", "a worker's end", "a worker between chunks",
                "hpz_team_info_get", "hpz_team_destroy", "zero", "populate", "reset", "release",
                "calling"}
    if expected - set(lists):
        return [f"the headers have no list for {sorted(expected - set(lists))}"]
    with tempfile.NamedTemporaryFile("r") as log:
        subprocess.run([strace, "-f", "-qq", "-o", log.name, subject], check=True, timeout=100)
        trace = log.read()
    verbs = {"zero", "populate", "reset", "release"}
    problems = set()
    seen = {}
    for phase, is_calling, call in observed(trace):
        if is_calling:
            if phase == "none":
                continue
            allowed = lists["calling"] | lists[phase] if phase in verbs else lists[phase]
        else:
            allowed = lists["a worker between chunks"] | lists["a worker's start"] \
                | lists["a worker's end"]
            if phase in verbs:
                # Only what a verb lists; a worker neither starts nor ends there.
                allowed = lists["a worker between chunks"] | lists[phase]
        seen.setdefault(phase, set()).add(call)
        if call not in allowed:
            who = "the calling thread" if is_calling else "a worker"
            problems.add(f"{phase}: {who} calls {call}, which its header does not list")
    for phase, call in (("hpz_team_create", "clone3"), ("populate", "madvise"), ("zero", "futex"),
                        ("release", "madvise"), ("reset", "openat")):
        if call not in seen.get(phase, set()):
            problems.add(f"{phase}: no {call} was seen, so the trace says nothing")
    return sorted(problems)


if __name__ == "__main__":
    found = main(*sys.argv[1:])
    print("\n".join(found) if found else "as listed")
    sys.exit(1 if found else 0)
