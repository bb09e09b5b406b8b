# SPDX-License-Identifier: BSD-2-Clause
#
# hpzero-bench list and explain on arm64 say what the CPU offers and why the plan is what it is:
# bench_words.py QEMU MODEL BLOCK_BYTES HPZERO_BENCH.
import os
import re
import subprocess
import sys
import unittest

QEMU = MODEL = BLOCK = BENCH = ""


def bench(*arguments, **environment):
    env = {name: value for name, value in os.environ.items() if not name.startswith("HPZ_")}
    done = subprocess.run([QEMU, "-cpu", MODEL, BENCH, *arguments], text=True, capture_output=True,
                          timeout=100, env={**env, **environment}, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


class Words(unittest.TestCase):
    def test_list(self):
        text = bench("list")
        # Kernel, whether it runs here, who chose it, role, lanes, block.
        self.assertRegex(text, rf"(?m)^ *dc_zva +usable +auto\+cached\+stream +bulk\+stream +1 +"
                               rf"{BLOCK}B +no")
        self.assertRegex(text, r"(?m)^ *mops_set +lacks mops ")
        self.assertRegex(text, r"(?m)^ *stp +usable +auto\+cached +cached +1 +64B")
        for kernel in ("stnp", "memset", "word64", "hwy_stream", "xsimd_st"):
            self.assertRegex(text, rf"(?m)^ *{kernel} +usable")
        self.assertIn("DC ZVA, one block an instruction", text)
        self.assertIn("plan: built-in", text)

    def test_explain(self):
        text = bench("explain", "2MiB")
        self.assertRegex(text, r"^2MiB on arm64-[0-9a-f]{2}-[0-9a-f]{3}-[0-9a-f]-[0-9a-f], ")
        self.assertIn("hpz_zero(p, 2MiB): dc_zva", text)
        self.assertIn("bands: stp to 4KiB, [dc_zva above]", text)
        self.assertIn("hpz_zero_stream, hpz_zero_pages(p, 2MiB): dc_zva", text)
        self.assertRegex(text, rf"(?m)^  dc_zva +USED by .*blocks of {BLOCK}B" if BLOCK != "64"
                         else r"(?m)^  dc_zva +USED by")
        self.assertRegex(text, r"(?m)^  mops_set +cannot run: this CPU lacks mops$")
        self.assertRegex(text, r"(?m)^  stnp +not preferred: dc_zva comes first in its role$")
        self.assertRegex(text, r"(?m)^  stp +used at other sizes")
        self.assertRegex(text, r"(?m)^  features: zva")
        self.assertIn("probe of hpz_zero: off", text)
        self.assertIn("arm64", re.search(r"(?m)^  plan: (.*)$", text)[1])

    def test_where_dc_zva_is_prohibited(self):
        text = bench("list", HPZ_CPU_DISABLE="zva")
        self.assertRegex(text, r"(?m)^ *dc_zva +lacks zva +- ")
        text = bench("explain", "2MiB", HPZ_CPU_DISABLE="zva")
        self.assertRegex(text, r"(?m)^  dc_zva +cannot run: this CPU lacks zva$")
        self.assertIn("hpz_zero_cached(p, 2MiB): stp", text)
        self.assertIn("hpz_zero_stream, hpz_zero_pages(p, 2MiB): stnp", text)
        self.assertIn("HPZ_CPU_DISABLE: zva", text)


if __name__ == "__main__":
    QEMU, MODEL, BLOCK, BENCH = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
