# SPDX-License-Identifier: BSD-2-Clause
#
# The kernel's pools of huge pages, which hpzero-bench leaves as it found them.
import os

BASE = "/sys/kernel/mm/hugepages"


def pages():
    """Pages in all pools: by size."""
    found = {}
    for name in sorted(os.listdir(BASE)) if os.path.isdir(BASE) else []:
        with open(f"{BASE}/{name}/nr_hugepages", encoding="ascii") as file:
            found[name] = int(file.read())
    return found


def more_than(before):
    return {name: count for name, count in pages().items() if count > before.get(name, 0)}
