# SPDX-License-Identifier: BSD-2-Clause
#
# Who may include whom, and which file is the one door to a dependency: layers.py ROOT.
#
#   include <- arch/kernel.h <- arch/*      lib -> include, arch/arch.h      bench, tests -> include
#   in lib: plan <- zero <- team <- space <- map <- pool, never backwards
#
# Tests of pure functions may also include lib/ and arch/. Besides, no ISA conditional in lib/.
import re
import sys

import report
import tree

ROOMS = ["plan", "zero", "team", "space", "map", "pool"]

# Start of a header's name -> the files, or folders ending in /, that may include it.
DOORS = {
    "cpuinfo": ["lib/plan/cpu.cpp"],
    "hwloc": ["lib/team/topology.cpp"],
    "hwy/": ["arch/generic/hwy_stream.cpp", "lib/zero/scan.cpp"],
    "xsimd/": ["arch/generic/xsimd_st.cpp", "lib/zero/scan.cpp"],
    "benchmark/": ["bench/"],
    "nlohmann/": ["bench/results_file.cpp"],
    "gtest/": ["tests/"],
    "gmock/": ["tests/"],
    "cpuid.h": ["arch/", "bench/", "tests/"],
    "x86intrin.h": ["arch/"],
    "arm_": ["arch/"],
}
INTRINSICS = re.compile(r"^[a-z]*mmintrin\.h$|^immintrin\.h$|^ia32intrin\.h$")

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
CONDITIONAL = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b(.*)")
ISA_MACRO = re.compile(
    r"\b(__x86_64\w*|__amd64\w*|__i386\w*|_M_\w+|__aarch64\w*|__arm\w*|__ARM\w*|__riscv\w*"
    r"|__s390\w*|__powerpc\w*|__PPC\w*|__SSE\w*|__AVX\w*|__CLZERO\w*|__MOVDIR\w*|HWY_ARCH\w*)\b")


def kernel_files(root, names):
    rows = [name for name in names if re.match(r"arch/\w+/kernels\.def$", name)]
    found = set()
    for name in rows:
        folder = name.rsplit("/", 1)[0]
        for kernel in re.findall(r"^HPZ_KERNEL\((\w+)", tree.read(root, name), re.MULTILINE):
            found.add(f"{folder}/{kernel}.cpp")
    return found


def may_include(name, quoted, header, kernels):
    """None, or the rule that the inclusion breaks."""
    for start, doors in DOORS.items():
        if header.startswith(start) or (start == "arm_" and INTRINSICS.match(header)):
            if not any(name == door or (door.endswith("/") and name.startswith(door))
                       for door in doors):
                return f"only {', '.join(doors)} may"
    public = header.startswith("hpzero/")
    if not quoted and not public:
        if name.startswith("include/"):
            if name.endswith(".h"):
                return (None if header in ("stddef.h", "stdint.h") else
                        "public C headers need <stddef.h> and <stdint.h> only")
            if re.search(r"\.h$|/", header):
                return "the public C++ header needs the C++ standard library only"
        return None

    top = name.split("/")[0]
    if top == "include":
        return None if public and not quoted else "include/ knows nothing but itself, by <hpzero/>"
    if top == "arch":
        if public or not header.startswith("arch/"):
            return "arch/ knows arch/ alone, by path from the root"
        if name == "arch/kernel.h":
            return "the kernel contract depends on nothing"
        if name in kernels and header != "arch/kernel.h":
            # ... and what kernels of its directory share; detection and registry are not that.
            folder, _, own = header.rpartition("/")
            if folder != name.rpartition("/")[0] or own in ("detect.h", "features.h"):
                return "a kernel knows arch/kernel.h and its directory's shared headers alone"
        return None
    if top == "lib":
        if public or header == "arch/arch.h":
            return None
        if header.startswith("arch/"):
            return "lib/ sees arch/arch.h alone"
        match = re.match(r"lib/(\w+)/", header)
        if not match or match[1] not in ROOMS:
            return "lib/ includes by path from the root: lib/<room>/..."
        own = name.split("/")[1]
        if own not in ROOMS:
            return f"lib/{own} is no room of lib/: {', '.join(ROOMS)}"
        if ROOMS.index(match[1]) > ROOMS.index(own):
            return f"backwards: {own} comes before {match[1]}"
        return None
    if "/" not in header and top in ("bench", "tests"):
        return None  # of its own folder
    if top == "bench":
        return None if public or header.startswith("bench/") else "bench/ sees the public headers"
    if top == "tests":
        if public or re.match(r"(lib|arch|bench|tests)/", header):
            return None
        return "tests/ includes by path from the root or of its own folder"
    return "no sources here"


def check(root):
    names = [name for name in tree.files(root) if name.endswith(tree.SOURCES)]
    kernels = kernel_files(root, names)
    violations = []
    for name in names:
        # Consumers of an installed package are foreign programs: any header of a user's.
        if name.startswith("tests/package/"):
            continue
        text = tree.read(root, name)
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                rule = may_include(name, match[1] == '"', match[2], kernels)
                if rule:
                    violations.append(f"{name}:{number}: includes {match[2]}: {rule}")
            match = CONDITIONAL.match(line)
            if match and name.startswith("lib/") and ISA_MACRO.search(match[2]):
                violations.append(f"{name}:{number}: ISA conditional in lib/; arch/ decides that")
            if name.startswith(("lib/", "include/")) and "__has_include" in line:
                violations.append(f"{name}:{number}: __has_include would be a second door")
    return violations, len(names)


if __name__ == "__main__":
    report.finish(*check(sys.argv[1]), "sources")
