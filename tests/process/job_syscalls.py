# SPDX-License-Identifier: BSD-2-Clause
#
# Row F15 of the field reports: the system calls of teams and verbs are those that the headers list.
# What is listed and not called any more is told, too.
# job_syscalls.py STRACE SUBJECT ROOT
import pathlib
import re
import subprocess
import sys
import tempfile


VERBS = ("zero", "populate", "reset", "release")
# A map's verb -> those of its space.
MAP_VERBS = {"zero": ["zero"], "populate": ["populate", "zero"], "release": ["release"]}

# A phase of the calling thread -> the lists that allow what it calls ...
LISTS = {name: [name] for name in (
    "hpz_team_create", "hpz_team_info_get", "hpz_team_destroy", "hpz_space_file", "hpz_map_create",
    "hpz_map_counts_get", "hpz_map_destroy")}
LISTS |= {"hpz_space_direct": ["calling"], "hpz_space_destroy": ["calling"],
          "file_destroy": ["a file's end"], "map_change": ["a change of a map"]}
# ... and one of a job -> those that allow what whoever works on a chunk of it calls.
JOBS = {name: [name] for name in VERBS}
JOBS |= {f"file_{name}": [name, "a file"] for name in VERBS}
JOBS |= {f"map_{name}": [*of_space, "a map's verb"] for name, of_space in MAP_VERBS.items()}
LISTS |= {phase: ["calling", *names] for phase, names in JOBS.items()}
WORKERS = {"a worker's start", "a worker's end", "a worker between chunks"}

# Listed, and not to be seen in this trace, by reason.
MALLOC = {"brk", "madvise", "mmap", "munmap"}  # its arenas, free lists and trimming decide when
SEVERAL_NODES = {"getcpu", "get_mempolicy", "move_pages", "set_mempolicy"}
OLD_KERNELS = {"mincore", "pread64"}  # where no advice and no ioctl does the same
# What an error's reason takes to find out, and private huge pages.
ERRORS = {"close", "memfd_create", "newfstatat", "openat", "read"}
EXCUSED = {
    "hpz_team_create": MALLOC | SEVERAL_NODES
    | {"clone", "fstat"}  # another glibc
    | {"futex"}  # a worker that is slow to start
    # Another machine or hwloc: its caches, its links, its plugins.
    | {"getcwd", "lseek", "pread64", "readlink", "readlinkat"},
    "a worker's start": MALLOC | {"gettid", "mprotect"},  # another glibc; an arena of malloc's
    "a worker's end": MALLOC | {"futex"},  # a lock that is not contended
    "a worker between chunks": {"clock_gettime"},  # the vDSO's, but for the clock of a thread
    "hpz_team_info_get": {"clock_gettime", "futex"},  # the vDSO's; a worker that is in the way
    "hpz_team_destroy": MALLOC,
    "zero": MALLOC | SEVERAL_NODES,
    "populate": (MALLOC - {"madvise"}) | SEVERAL_NODES | OLD_KERNELS | ERRORS,
    "reset": MALLOC | SEVERAL_NODES | OLD_KERNELS | ERRORS,
    "release": (MALLOC - {"madvise"}) | SEVERAL_NODES | OLD_KERNELS | ERRORS
    | {"ioctl"},  # whether it is a guard page that cannot be touched
    "calling": MALLOC | SEVERAL_NODES | OLD_KERNELS | ERRORS | {"clock_gettime"},
    "hpz_space_file": MALLOC | {"close", "ioctl", "read"}  # devices
    | {"fstat", "newfstatat"},  # one of them, by the glibc
    "a file": MALLOC | OLD_KERNELS | {"fstat", "newfstatat"}
    | {"faccessat2", "pwritev"},  # what is in memory of files on disks; what cannot be mapped
    "a file's end": MALLOC,
    "hpz_map_create": MALLOC,
    "a change of a map": MALLOC | {"mprotect"}  # an arena of malloc's
    | {"sched_yield"},  # who holds a page's lock is preempted
    "hpz_map_counts_get": {"sched_yield"},
    "hpz_map_destroy": MALLOC,
    "a map's verb": MALLOC | {"mprotect"}  # an arena of malloc's
    | {"clock_gettime", "futex", "sched_yield"},  # the vDSO's; others that are in the way
}


def documented(root, headers=("team.h", "space.h", "map.h")):
    """Name of a phase -> the system calls that its header lists for it."""
    lists = {}
    for header in headers:
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


def observed(strace, subject):
    """(phase, is the calling thread, system call) of every line between marks."""
    with tempfile.NamedTemporaryFile("r") as log:
        subprocess.run([strace, "-f", "-qq", "-o", log.name, subject], check=True, timeout=100)
        trace = log.read()
    phase = "none"
    main = None
    for line in trace.splitlines():
        # Not the end of a call that another thread's interrupted: it was seen when it began.
        match = re.match(r"(\d+)\s+([a-z0-9_]+)", line)
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
    expected = WORKERS.union(*LISTS.values())
    if expected - set(lists):
        return [f"the headers have no list for {sorted(expected - set(lists))}"]
    problems = set()
    seen = {}
    seen_of = {name: set() for name in lists}
    for phase, is_calling, call in observed(strace, subject):
        if is_calling:
            if phase == "none":
                continue
            names = LISTS[phase]
        else:
            # Only what a verb lists; a worker neither starts nor ends there.
            other = ["a worker's end" if phase == "hpz_team_destroy" else "a worker's start"]
            names = ["a worker between chunks", *JOBS.get(phase, other)]
        for name in names:
            seen_of[name].add(call)
        allowed = set().union(*(lists[name] for name in names))
        seen.setdefault(phase, set()).add(call)
        if call not in allowed:
            who = "the calling thread" if is_calling else "a worker"
            problems.add(f"{phase}: {who} calls {call}, which its header does not list")
    for phase, call in (("hpz_team_create", "clone3"), ("populate", "madvise"), ("zero", "futex"),
                        ("release", "madvise"), ("reset", "openat"), ("file_zero", "lseek"),
                        ("file_release", "fallocate"), ("hpz_map_create", "mmap"),
                        ("map_release", "madvise")):
        if call not in seen.get(phase, set()):
            problems.add(f"{phase}: no {call} was seen, so the trace says nothing")
    for name, calls in lists.items():
        for call in calls - seen_of[name] - EXCUSED.get(name, set()):
            problems.add(f"{name}: {call} is listed, and nobody calls it any more")
    return sorted(problems)


def tell(problems):
    """The exit status."""
    print("\n".join(problems) if problems else "as listed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(tell(main(*sys.argv[1:])))
