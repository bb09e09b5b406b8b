# SPDX-License-Identifier: BSD-2-Clause
#
# Kernels stay leaves whatever the compiler and the optimisation: kernel_objects.py ROOT ISA
# COMPILER... (each a command with its first options) compiles each and looks at its symbols (rows
# C12, C13 of the field reports: an unoptimised build emits inline functions that an optimised one
# swallows; clang makes calls of memset where gcc does not).
#
# The generic kernels are looked at optimised only: otherwise those of Highway and xsimd do emit
# inline functions, harmlessly: Highway's carry their target in their names, xsimd's are compiled
# for the baseline CPU.
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

import report
import symbols

def check_one(root, compiler, level, folder, source, flags=()):
    name = f"{os.path.basename(source)}.{compiler}{level}.o"
    path = os.path.join(folder, name.replace("/", "_"))
    subprocess.run([*compiler.split(), "-std=c++20", level, *flags, "-fPIC", "-fno-builtin",
                    "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden", "-I", root, "-c",
                    source, "-o", path], check=True)
    # Without optimisation clang sets a 64-byte vector to zero by memcpy.
    called = {"memcpy"} if level == "-O0" else set()
    return [f"{compiler} {level}: {violation}"
            for violation in symbols.check_kernel(path, called)]


def kernels(root, folder):
    with open(os.path.join(root, folder, "kernels.def"), encoding="utf-8") as rows:
        return [os.path.join(root, folder, f"{kernel}.cpp")
                for kernel in re.findall(r"^HPZ_KERNEL\((\w+)", rows.read(), re.MULTILINE)]


def check(root, isa, compilers):
    own = kernels(root, f"arch/{isa}")
    work = [("-O0", source) for source in own]
    work += [("-O3", source) for source in own + kernels(root, "arch/generic")]
    with tempfile.TemporaryDirectory() as out, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(check_one, root, compiler, level, out, source)
                for compiler in compilers for level, source in work]
        return [violation for job in jobs for violation in job.result()], len(jobs)


if __name__ == "__main__":
    report.finish(*check(sys.argv[1], sys.argv[2], sys.argv[3:]), "kernel objects")
