# SPDX-License-Identifier: BSD-2-Clause
#
# SETP, SETM and SETE were executed where the plan or HPZ_KERNEL chose mops_set, and nothing else
# that clears, and never where they are prohibited: mops_counts.py QEMU OBJDUMP COUNTED, of which
# QEMU has a CPU that knows them.
import sys

from instruction_counts import BYTES, Counter


def main(qemu, objdump, program):
    counter = Counter(qemu, "max", objdump, program)
    stages = {stage: {at for at, text in counter.code.items() if text.split()[0] == stage}
              for stage in ("setp", "setm", "sete")}
    own = counter.kernel("mops_set")
    others = counter.dc_zva()[1] | counter.kernel("stp") | counter.kernel("stnp")
    for stage, places in stages.items():
        assert len(places) == 1 and places <= own, (stage, places)
    failures = []

    def expect(what, value, ok):
        print(f"{what}: {value}")
        if not ok:
            failures.append(what)

    for environment in ({}, {"HPZ_KERNEL": "mops_set"}):
        counts = counter.run(own | others, **environment)
        for stage, places in stages.items():
            executed = sum(counts[at] for at in places)
            # The range is one lane. An interrupted SETM or SETE is executed again.
            most = 1 if stage == "setp" else 64
            expect(f"{stage} with {environment}", executed, 1 <= executed <= most)
        total = sum(counts[at] for at in own)
        expect(f"instructions of mops_set per 2 MiB with {environment}", total, total <= 160)
        executed = sum(counts[at] for at in others)
        expect(f"DC ZVA, stp and stnp with {environment}", executed, executed == 0)
    for environment in ({"HPZ_CPU_DISABLE": "mops"},
                        {"HPZ_CPU_DISABLE": "mops", "HPZ_KERNEL": "mops_set"},
                        {"HPZ_KERNEL": "stp"}):
        counts = counter.run(own | others, **environment)
        executed = sum(counts[at] for at in own)
        expect(f"mops_set with {environment}", executed, executed == 0)
        executed = sum(counts[at] for at in others)
        # The largest block clears 2 KiB.
        expect(f"DC ZVA, stp and stnp with {environment}", executed, executed >= BYTES // 2048)
    for what in failures:
        print(f"FAILED: {what}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
