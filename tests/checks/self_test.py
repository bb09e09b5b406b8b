# SPDX-License-Identifier: BSD-2-Clause
#
# Shows that the checks bite: self_test.py ROOT. Each case plants one violation into a copy of the
# sources, or into a small library, and expects the check to name it, as it did not before.
import os
import shutil
import subprocess
import sys
import tempfile

import flags
import headers
import kernel_objects
import layers
import report
import symbols
import text
import tree


def append(root, name, line):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        file.write(line + "\n")


def include(header):
    return f"#include {header}"


def pragmas(root):
    return flags.check(root, [])


def public_headers(root):
    return headers.check(os.path.join(root, "include"), ["cc,c++"])


def unoptimised_kernel(root):
    with tempfile.TemporaryDirectory() as out:
        source = os.path.join(root, "arch/x86/movnti.cpp")
        return kernel_objects.check_one(root, "c++", "-O0", out, source), 1


# Check, file that gets the line, line, part of the violation.
TREE_CASES = [
    (layers.check, "include/hpzero/zero.h", include("<string.h>"), "public C headers"),
    (layers.check, "include/hpzero/zero.h", include('"arch/kernel.h"'), "include/ knows nothing"),
    (layers.check, "include/hpzero/hpzero.hpp", include("<sys/mman.h>"), "the public C++ header"),
    (layers.check, "arch/kernel.h", include('"arch/arch.h"'), "depends on nothing"),
    (layers.check, "arch/generic/word64.cpp", include('"arch/arch.h"'), "shared headers alone"),
    (layers.check, "arch/arm64/stp.cpp", include('"arch/arm64/detect.h"'), "shared headers alone"),
    (layers.check, "arch/x86/movnti.cpp", include('"arch/arm64/pairs.h"'), "shared headers alone"),
    (layers.check, "arch/generic/word64.cpp", include("<hpzero/zero.h>"), "arch/ knows arch/"),
    (layers.check, "arch/x86/detect.cpp", include('"lib/plan/plan.h"'), "arch/ knows arch/"),
    (layers.check, "lib/plan/select.cpp", include('"lib/zero/probe.h"'), "backwards"),
    (layers.check, "lib/plan/select.cpp", include('"arch/x86/detect.h"'), "arch/arch.h alone"),
    (layers.check, "lib/plan/select.cpp", include('"plan.h"'), "by path from the root"),
    (layers.check, "lib/utils/x.cpp", include('"lib/plan/plan.h"'), "no room of lib/"),
    (layers.check, "lib/plan/select.cpp", include("<cpuinfo.h>"), "only lib/plan/cpu.cpp may"),
    (layers.check, "lib/zero/api.cpp", include("<hwloc.h>"), "only lib/team/topology.cpp may"),
    (layers.check, "lib/zero/api.cpp", include("<hwy/highway.h>"), "only arch/generic/hwy_stream"),
    (layers.check, "lib/zero/api.cpp", include("<xsimd/xsimd.hpp>"), "only arch/generic/xsimd_st"),
    (layers.check, "lib/zero/api.cpp", include("<immintrin.h>"), "only arch/ may"),
    (layers.check, "lib/zero/api.cpp", include("<benchmark/benchmark.h>"), "only bench/ may"),
    (layers.check, "bench/x.cpp", include("<nlohmann/json.hpp>"), "only bench/results_file.cpp"),
    (layers.check, "bench/x.cpp", include("<gtest/gtest.h>"), "only tests/ may"),
    (layers.check, "bench/x.cpp", include('"lib/plan/plan.h"'), "bench/ sees the public headers"),
    (layers.check, "lib/plan/select.cpp", "#if defined(__x86_64__)\n#endif", "ISA conditional"),
    (layers.check, "lib/plan/cpu.cpp", "#if __has_include(<hwloc.h>)\n#endif", "second door"),
    (text.check, "lib/plan/select.cpp", "// caf\u00e9", "not ASCII"),
    (text.check, "lib/plan/select.cpp", "// " + "x" * 98, "101 columns"),
    (text.check, "lib/plan/select.cpp", "// x ", "trailing blank"),
    (text.check, "lib/plan/select.cpp", "// see /" + "home/someone", "somebody's machine"),
    (text.check, "README.md", "http" + "://ci.example.org/", "host ci.example.org"),
    (text.check, "lib/plan/x.cpp", "int x;", "no SPDX line"),
    (text.check, "lib/plan/x.cpp", "// SPDX-License-Identifier: BSD-2-Clause\n", "no SPDX line"),
    (pragmas, "arch/x86/x86.cpp", "#pragma GCC target(\"avx2\")", "a pragma gives"),
    (public_headers, "include/hpzero/kernels.h", "HPZ_API int hpz_x(hpz_size_t n);",
     "kernels.h as c11"),
    (unoptimised_kernel, "arch/x86/movnti.cpp",
     "inline int leak() { return 1; }\nint use() { return leak(); }", "is weak"),
]


def try_tree_cases(root, folder):
    violations = []
    copy = os.path.join(folder, "copy")
    for name in tree.files(root):
        if name.startswith(("arch/", "include/", "lib/", "README", "CHANGELOG")):
            os.makedirs(os.path.dirname(os.path.join(copy, name)), exist_ok=True)
            shutil.copy(os.path.join(root, name), os.path.join(copy, name))
    known = {case[0]: set(case[0](copy)[0]) for case in TREE_CASES}
    for check, name, line, message in TREE_CASES:
        path = os.path.join(copy, name)
        before = tree.read(copy, name) if os.path.exists(path) else None
        append(copy, name, line)
        if not any(message in violation for violation in set(check(copy)[0]) - known[check]):
            violations.append(f"not noticed: {line!r} in {name} (expected: {message})")
        os.remove(path)
        if before is not None:
            append(copy, name, before[:-1])
    os.remove(os.path.join(copy, "CHANGELOG.md"))
    append(copy, "CHANGELOG.md", "# Changelog\n\n## [9.9.9]")
    if not any("no section" in violation for violation in text.check(copy)[0]):
        violations.append("not noticed: a version that CHANGELOG.md does not have")
    return violations, len(TREE_CASES) + 1


def try_flags(root):
    good = "c++ -fno-exceptions -fno-rtti -fvisibility=hidden -fPIC -fno-builtin"
    cases = [(f"{good} -mavx2", "compiled with -mavx2"),
             (f"{good} -march=native", "compiled with -march=native"),
             (good.replace("-fno-builtin", ""), "compiled without -fno-builtin"),
             (good.replace("-fno-exceptions", ""), "compiled without -fno-exceptions")]
    file = os.path.join(root, "arch/generic/word64.cpp")
    violations = flags.check(root, [{"file": file, "command": good}])[0]
    for command, message in cases:
        found = flags.check(root, [{"file": file, "command": command}])[0]
        if not any(message in violation for violation in found):
            violations.append(f"not noticed: {command}")
    return violations, len(cases)


LIBRARY = 'extern "C" __attribute__((visibility("default"))) int hpz_a() { return 0; }\n'
# Source added to a library that exports hpz_a, command line added, part of the violation.
LIBRARY_CASES = [
    ("", "", None),
    ('extern "C" __attribute__((visibility("default"))) int hpz_b() { return 0; }', "",
     "hpz_b is not expected"),
    ("#include <string>\nstd::string x(const char *s) { return s; }", "", "C++ run-time library"),
    ("int *x() { return new int; }", "", "undefined _Znwm"),
    ("int f(); int g = f(); int f() { return 1; }", "", ".init_array"),
    ("int f(); int x() { static int y = f(); return y; } int f() { return 1; }", "",
     "local static"),
    ('extern "C" { int a() { return 1; } void *r() { return (void *)a; } '
     'int i() __attribute__((ifunc("r"))); }', "", "is an ifunc"),
    ("", "-Wl,--no-as-needed -lm", "needs libm.so.6"),
    ('extern "C" int missing(); int x() { return missing(); }', "-Wl,-z,undefs",
     "undefined missing"),
    ("", "-Wl,-soname,libwrong.so", "soname"),
]


def try_library_cases(folder):
    violations = []
    script = os.path.join(folder, "map")
    with open(script, "w", encoding="utf-8") as file:
        file.write("HPZERO_0.1 { global: hpz_*; local: *; };")
    for source, options, message in LIBRARY_CASES:
        path, object_path, library = (os.path.join(folder, f"x.{end}")
                                      for end in ("cpp", "o", "so"))
        with open(path, "w", encoding="utf-8") as file:
            file.write(LIBRARY + source)
        soname = [] if "-soname" in options else ["-Wl,-soname,libx.so.0.1"]
        subprocess.run(["c++", "-fPIC", "-O1", "-fno-exceptions", "-fvisibility=hidden", "-c", path,
                        "-o", object_path], check=True)
        subprocess.run(["c++", "-shared", f"-Wl,--version-script={script}", *soname, object_path,
                        "-o", library, *options.split()], check=True)
        found = (symbols.check_shared(library, "HPZERO_0.1", {"hpz_a"}, symbols.CORE_NEEDS,
                                      "libx.so.0.1") +
                 symbols.check_archive(object_path, {"hpz_a"}))
        if message is None:
            violations += [f"control: {violation}" for violation in found]
        elif not any(message in violation for violation in found):
            violations.append(f"not noticed: {message}: {source} {options}: {found}")
    return violations, len(LIBRARY_CASES)


KERNEL = ("#include <stddef.h>\nnamespace hpz::kernel {{ void {0}(void *const *lanes, "
          "size_t count, size_t len) noexcept {{ {1} }} }}\n{2}")
KERNEL_CASES = [
    ("k", "(void)lanes; (void)count; (void)len;", "", None),
    ("k", "__builtin_memset(lanes[0], 0, len);", "", "calls memset"),
    ("k", "", "inline int leak() { return 1; } int (*use())() { return leak; }", "is weak"),
    ("k", "", "int state;", "state is global"),
    ("other", "", "", "does not define"),
]


def try_kernel_cases(folder):
    violations = []
    for name, body, rest, message in KERNEL_CASES:
        path, object_path = os.path.join(folder, "k.cpp"), os.path.join(folder, "k.cpp.o")
        with open(path, "w", encoding="utf-8") as file:
            file.write(KERNEL.format(name, body, rest))
        subprocess.run(["c++", "-fPIC", "-O1", "-c", path, "-o", object_path], check=True)
        found = symbols.check_kernel(object_path)
        if message is None:
            violations += [f"control: {violation}" for violation in found]
        elif not any(message in violation for violation in found):
            violations.append(f"not noticed: {message}: {found}")
    return violations, len(KERNEL_CASES)


if __name__ == "__main__":
    sources = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as out:
        results = [try_tree_cases(sources, out), try_flags(sources), try_library_cases(out),
                   try_kernel_cases(out)]
    report.finish([violation for result in results for violation in result[0]],
                  sum(result[1] for result in results), "planted violations")
