# SPDX-License-Identifier: BSD-2-Clause
#
# Whether the files of --json have only keys that bench/README.md documents. A name there that ends
# with three dots stands for all that begin like it.
import os
import re

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/README.md")


def documented():
    """Names of the context, and of samples: in code quotes, in the first columns of the tables."""
    with open(README, encoding="utf-8") as file:
        section = re.split(r"(?m)^## ", file.read().split("\n## The JSON file\n")[1])[0]
    context, samples = section.split("\n**`benchmarks`**")
    found = []
    for text in (context, samples):
        cells = re.findall(r"(?m)^\| ([^|]*)\|", text)
        names = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
        assert len(names) > 10, names
        found.append(names)
    return found


def is_among(key, names):
    return any(key.startswith(name[:-3]) if name.endswith("...") else key == name
               for name in names)


def undocumented(results):
    """Keys of such a file that a reader of the documentation does not know."""
    context, samples = documented()
    keys = {f"context: {key}" for key in results["context"] if not is_among(key, context)}
    keys |= {f"sample: {key}" for sample in results["benchmarks"] for key in sample
             if not is_among(key, samples)}
    return sorted(keys)
