# SPDX-License-Identifier: BSD-2-Clause
#
# The words written by hand in mops_set.cpp are those that an assembler which knows the extension
# makes of the instructions: mops_encoding.py COMPILER OBJCOPY OBJECT.
import os
import subprocess
import sys
import tempfile

# The arrangement that the kernel's registers ask for.
SOURCE = """.arch armv8.8-a+mops
setp [x0]!, x1!, xzr
setm [x0]!, x1!, xzr
sete [x0]!, x1!, xzr
"""


def words(objcopy, path, folder):
    flat = os.path.join(folder, "flat")
    subprocess.run([objcopy, "-O", "binary", "--only-section=.text", path, flat], check=True)
    with open(flat, "rb") as file:
        code = file.read()
    return [int.from_bytes(code[at:at + 4], "little") for at in range(0, len(code), 4)]


def main(compiler, objcopy, path):
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "set.s")
        with open(source, "w", encoding="utf-8") as file:
            file.write(SOURCE)
        assembled = source + ".o"
        subprocess.run([compiler, "-c", source, "-o", assembled], check=True)
        expected, found = words(objcopy, assembled, folder), words(objcopy, path, folder)
    print("assembled:", [f"{word:08x}" for word in expected])
    assert len(expected) == 3
    times = sum(found[at:at + 3] == expected for at in range(len(found)))
    # Nothing else of the extension either: sz 011001 11 0 .. 01 is the family of SET.
    of_family = sum(word & 0xFFE00C00 == 0x19C00400 for word in found)
    print(f"in {os.path.basename(path)}: the sequence {times} times, {of_family} SET instructions")
    return 0 if times >= 1 and of_family == 3 * times else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
