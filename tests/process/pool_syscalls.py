# SPDX-License-Identifier: BSD-2-Clause
#
# Row F15 of the field reports: the system calls of pools and their fillers are those that pool.h
# lists. What is listed and not called any more is told, too.
# pool_syscalls.py STRACE SUBJECT ROOT
import sys

import job_syscalls

# Phase -> the lists that apply to the calling thread. All of them have "every call".
MEMORY = ("memory", "calling", "populate")
ALLOWED = {
    "hpz_pool_create": ("hpz_pool_create", "hpz_team_create", *MEMORY),
    "hpz_pool_resize": MEMORY,
    "renewing": MEMORY,  # a take, or hpz_pool_fill
    "give_renewing": ("hpz_pool_give", *MEMORY),
    "hit": (), "miss": (), "wait": (),
    **{name: (name,) for name in (
        "hpz_pool_destroy", "hpz_pool_fill", "hpz_pool_set_filling", "hpz_pool_event_fd",
        "hpz_pool_event_rearm")},
    "give": ("hpz_pool_give",),
    "hpz_pool_poison": (), "hpz_pool_stats_get": (),
}
# A filler begins and renews when it likes; it ends in one call alone.
FILLER = ("a filler's start", *MEMORY)
FILLER_ENDS = ("a filler's end",)

# Seen for certain, or the trace says nothing: phase, system call.
SEEN = {("hpz_pool_create", "clone3"), ("hpz_pool_create", "sched_getaffinity"),
        ("hit", "write"), ("wait", "futex"), ("give", "munmap"),
        ("give_renewing", "memfd_create"), ("renewing", "memfd_create"),
        ("hpz_pool_resize", "madvise"), ("hpz_pool_destroy", "munmap"),
        ("hpz_pool_set_filling", "clone3"), ("hpz_pool_event_fd", "eventfd2"),
        ("hpz_pool_event_rearm", "preadv2"), ("hpz_pool_fill", "write"), ("filler", "prctl"),
        ("filler", "memfd_create"), ("filler", "exit")}

# Listed, and not to be seen in this trace, by reason.
MALLOC = job_syscalls.MALLOC
GIVEN_BACK = {"brk", "close", "madvise", "mincore", "munmap"}  # after shrinking, when it came late
EXCUSED = {
    "every call": {"clock_gettime", "getcpu",  # the vDSO's
                   "getpid"},  # a kernel before 4.14, an emulator
    "hpz_pool_take": GIVEN_BACK,
    "hpz_pool_give": {"brk"},
    "hpz_pool_fill": GIVEN_BACK,
    "hpz_pool_destroy": MALLOC,
    "hpz_pool_set_filling": MALLOC
    | {"clone", "mprotect", "rt_sigaction"},  # another glibc; a stack that is used again
    "hpz_pool_event_fd": MALLOC,
    "hpz_pool_event_rearm": {"read"},  # a kernel before 5.8
    "a filler's start": MALLOC | {"mprotect"},  # an arena of malloc's
    "a filler's end": MALLOC,
    "memory": MALLOC | {"fstatfs", "unlink"},  # a mount; before Linux 5.10
    "hpz_pool_create": {"clone", "statfs"},  # another glibc; a mount
}


def main(strace, subject, root):
    lists = job_syscalls.documented(root, ("team.h", "space.h", "pool.h"))
    own = set(job_syscalls.documented(root, ("pool.h",)))
    if own != set(EXCUSED):
        return [f"pool.h lists {sorted(own)}"]
    problems = set()
    seen = set()
    seen_of = {name: set() for name in lists}
    for phase, is_calling, call in job_syscalls.observed(strace, subject):
        if is_calling and phase == "none":
            continue
        if is_calling and phase == "hit_alone":
            problems.add(f"a hit calls {call}, with nobody in its way")
            continue
        if is_calling:
            names = ("every call", *ALLOWED[phase])
        else:
            names = ("every call", *FILLER, *(FILLER_ENDS if phase == "hpz_pool_destroy" else ()))
        seen.add((phase if is_calling else "filler", call))
        for name in names:
            seen_of[name].add(call)
        if not any(call in lists[name] for name in names):
            who = phase if is_calling else "a filler"
            problems.add(f"{who} calls {call}, which pool.h does not list")
    for phase, call in SEEN - seen:
        problems.add(f"{phase}: no {call} was seen, so the trace says nothing")
    for name in own:
        for call in lists[name] - seen_of[name] - EXCUSED[name]:
            problems.add(f"{name}: {call} is listed, and nobody calls it any more")
    return sorted(problems)


def has_several_nodes():
    try:
        with open("/sys/devices/system/node/has_memory", encoding="ascii") as file:
            return bool({",", "-"} & set(file.read()))
    except OSError:
        return False


if __name__ == "__main__":
    if has_several_nodes():
        print("NOT TESTED HERE: this machine has several nodes, and the pages of one are counted")
        sys.exit(77)
    sys.exit(job_syscalls.tell(main(*sys.argv[1:])))
