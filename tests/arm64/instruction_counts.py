# SPDX-License-Identifier: BSD-2-Clause
#
# What a CPU of qemu-user executed while 2 MiB were cleared, instruction by instruction:
#
#   instruction_counts.py QEMU MODEL BLOCK_BYTES OBJDUMP COUNTED
#
# DC ZVA was executed once per block where the plan or HPZ_KERNEL chose it and never where it is
# prohibited; dc_zva needs no more instructions than one DC ZVA, one add and one
# compare-and-branch per block, unrolled; stp no more than 1.3 per 16 bytes.
import collections
import os
import re
import subprocess
import sys

BYTES = 2 << 20
# A group of UNROLLED blocks: DC ZVA and the address of each, one compare, one branch. (The address
# of the first is the pointer itself, its add the one that moves it on.)
UNROLLED = 4
ZVA_PER_BLOCK = (UNROLLED + UNROLLED + 2) / UNROLLED
STP_PER_16_BYTES = 1.3
TRACE = re.compile(rb"^Trace \d+: \S+ \[\w+/([0-9a-f]+)/", re.MULTILINE)


def disassemble(objdump, path):
    """address -> instruction of the whole program; kernel -> its address range."""
    text = subprocess.run([objdump, "-d", "--no-show-raw-insn", path], check=True,
                          capture_output=True, text=True).stdout
    code, function, functions = {}, "", collections.defaultdict(list)
    for line in text.splitlines():
        match = re.match(r"[0-9a-f]+ <(.+)>:$", line)
        if match:
            function = match[1]
        match = re.match(r" +([0-9a-f]+):\t(.+)$", line)
        if match:
            code[int(match[1], 16)] = " ".join(match[2].split())
            functions[function].append(int(match[1], 16))
    return code, functions


class Counter:
    def __init__(self, qemu, model, objdump, program):
        self.command = [qemu, "-cpu", model]
        # Its name since 8.1, and before.
        text = subprocess.run([qemu, "--help"], capture_output=True, text=True, check=False).stdout
        self.one_by_one = "-one-insn-per-tb" if "one-insn-per-tb" in text else "-singlestep"
        self.program = program
        self.code, self.functions = disassemble(objdump, program)
        # Every DC ZVA of the program, the C library's, too.
        self.zva = {at for at, text in self.code.items() if text.startswith("dc zva")}

    def kernel(self, name):
        mangled = f"_ZN3hpz6kernel{len(name)}{name}EPKPvmm"
        return set(self.functions[mangled])

    def dc_zva(self):
        """All of the kernel; its DC ZVA alone."""
        own = self.kernel("dc_zva") | set().union(
            *(at for name, at in self.functions.items() if "clear_whole_blocks" in name))
        return own, self.zva & own

    def run(self, wanted, **environment):
        """How often each address of `wanted` was executed."""
        ranges = ",".join(f"{at:#x}+4" for at in sorted(wanted))
        env = {name: value for name, value in os.environ.items() if not name.startswith("HPZ_")}
        done = subprocess.run([*self.command, self.one_by_one, "-d", "nochain,exec", "-dfilter",
                               ranges, self.program],
                              stderr=subprocess.PIPE, env={**env, **environment}, check=False)
        assert done.returncode == 0, (done.returncode, done.stderr[-500:])
        return collections.Counter(int(at, 16) for at in TRACE.findall(done.stderr))


def main(qemu, model, block, objdump, program):
    block = int(block)
    counter = Counter(qemu, model, objdump, program)
    own, own_zva = counter.dc_zva()
    assert own_zva and counter.kernel("stp") and counter.kernel("stnp")
    failures = []

    def expect(what, value, ok):
        print(f"{model}, blocks of {block} bytes: {what}: {value}")
        if not ok:
            failures.append(what)

    blocks = BYTES // block
    for what, environment in (("by the plan", {}), ("forced", {"HPZ_KERNEL": "dc_zva"})):
        counts = counter.run(own | counter.zva, **environment)
        executed = sum(counts[at] for at in own_zva)
        expect(f"DC ZVA {what}", executed, executed == blocks)
        total = sum(counts[at] for at in own)
        expect(f"dc_zva {what}, instructions per block", f"{total / blocks:.4f}",
               total / blocks <= 1.05 * ZVA_PER_BLOCK)
        expect(f"dc_zva {what}, instructions per 2 MiB", total, total > blocks)
    for environment in ({"HPZ_CPU_DISABLE": "zva"},
                        {"HPZ_CPU_DISABLE": "zva", "HPZ_KERNEL": "dc_zva"},
                        {"HPZ_KERNEL": "stp"}):
        counts = counter.run(own | counter.zva | counter.kernel("stp") | counter.kernel("stnp"),
                             **environment)
        stores = sum(counts[at] for name in ("stp", "stnp") for at in counter.kernel(name))
        executed = sum(counts[at] for at in own_zva)
        expect(f"DC ZVA with {environment}", executed, executed == 0)
        expect(f"instructions of stp and stnp with {environment}", stores, stores > BYTES // 64)
    for kernel in ("stp", "stnp"):
        total = sum(counter.run(counter.kernel(kernel), HPZ_KERNEL=kernel).values())
        expect(f"{kernel}, instructions per 16 bytes", f"{total / (BYTES / 16):.4f}",
               0.5 < total / (BYTES / 16) <= STP_PER_16_BYTES)
        print(f"{model}, blocks of {block} bytes: {kernel}, instructions per 2 MiB: {total}")
    for what in failures:
        print(f"FAILED: {what}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
