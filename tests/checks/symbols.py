# SPDX-License-Identifier: BSD-2-Clause
#
# What the binaries offer and need. Offered: exactly the symbols of lib/hpzero.map, which are
# exactly the functions that the public headers declare, by libhpzero_core those of its headers.
# Needed: the C library, for libhpzero also libcpuinfo and hwloc; nothing of the C++ run-time. Run
# nothing at load time: no ifunc, no constructors. In kernel objects one global symbol each, nothing
# weak, nothing called (memset.cpp apart).
#
#   symbols.py libraries --map FILE --include DIR --soversion X.Y --full SO --core SO --archive A \
#              --objects OBJECT...
#   symbols.py kernels OBJECT...
import argparse
import os
import re
import subprocess
import sys
import tempfile

import report

FULL_NEEDS = {"libc.so.6", "libcpuinfo.so.0", "libhwloc.so.15"}
CORE_NEEDS = {"libc.so.6"}
# The headers whose functions libhpzero_core has; libhpzero has those of all.
CORE_HEADERS = {"version.h", "zero.h", "kernels.h"}
# Weak references of the C compiler's start files, in every shared library (__cxa_finalize among
# them is the C library's).
START_FILES = {"__cxa_finalize", "__gmon_start__", "_ITM_deregisterTMCloneTable",
               "_ITM_registerTMCloneTable"}
# Made by the linker.
LINKER = {"_GLOBAL_OFFSET_TABLE_", "__ehdr_start"}
# Weak references to what only an instrumented program has.
HOOKS = {"__msan_unpoison", "__msan_scoped_disable_interceptor_checks",
         "__msan_scoped_enable_interceptor_checks"}
CORE_STRIPPED_BYTES = 100 * 1024
# What detection tells a kernel beforehand goes through functions of the kernel's file.
TOLD = {"dc_zva": {"_ZN3hpz5arm6413set_zva_blockEj", "_ZN3hpz5arm649zva_blockEv"}}


# Prefix of the binary tools where the objects are another instruction set's.
TOOLS = os.environ.get("HPZERO_TEST_TOOLS", "")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout


def nm(path, *options):
    """(type, name, version) of each symbol, in every member of an archive."""
    symbols = []
    for line in run(f"{TOOLS}nm", "-P", *options, path).splitlines():
        if line.endswith(":") or not line.strip():
            continue
        name, kind = line.split()[:2]
        name, _, version = name.partition("@")
        symbols.append((kind, name, version.lstrip("@")))
    return symbols


def dynamic(path, tag):
    return set(re.findall(rf"\({tag}\).*\[(.*)\]", run(f"{TOOLS}readelf", "-dW", path)))


def in_map(path):
    text = re.sub(r"/\*.*?\*/", "", open(path, encoding="utf-8").read(), flags=re.DOTALL)
    node, body = re.search(r"(\w+(?:\.\d+)*)\s*\{\s*global:(.*?)local:\s*\*;\s*\};", text,
                           re.DOTALL).groups()
    return node, set(re.findall(r"(\S+);", body))


def declared(include, headers=None):
    names = set()
    for header in os.listdir(os.path.join(include, "hpzero")):
        if header in headers if headers else header.endswith(".h"):
            text = open(os.path.join(include, "hpzero", header), encoding="utf-8").read()
            text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
            for declaration in re.findall(r"^HPZ_API\b([^;]*);", text, re.MULTILINE):
                names.add(re.search(r"(\w+)\s*\(", declaration)[1])
    return names


def compare(what, found, expected):
    return ([f"{what}: {name} is missing" for name in sorted(expected - found)] +
            [f"{what}: {name} is not expected" for name in sorted(found - expected)])


def is_cxx_runtime(name):
    return name.startswith(("_Z", "__cxa_", "__gxx_", "_Unwind_", "__dynamic_cast"))


def check_shared(path, node, names, needs, soname):
    violations = []
    base = os.path.basename(path)
    offered = {(name, version) for kind, name, version in nm(path, "-D", "--defined-only")
               if kind != "A"}
    violations += compare(f"{base}: exports", {name for name, _ in offered}, names)
    violations += [f"{base}: {name} has version {version}, not {node}"
                   for name, version in sorted(offered) if version != node]
    violations += [f"{base}: needs {library}"
                   for library in sorted(dynamic(path, "NEEDED") - needs)]
    if dynamic(path, "SONAME") != {soname}:
        violations.append(f"{base}: soname {dynamic(path, 'SONAME')}, not {soname}")
    for kind, name, version in nm(path, "-D", "--undefined-only"):
        if version.startswith("GLIBC_") or (kind == "w" and name in START_FILES | HOOKS):
            continue
        if name.startswith(("cpuinfo_", "hwloc_")) and needs == FULL_NEEDS:
            continue
        violations.append(f"{base}: undefined {name}")
    # The C compiler's start files put one entry each into these sections.
    sections = run(f"{TOOLS}readelf", "-SW", path)
    for section in ("init", "fini"):
        match = re.search(rf"\.{section}_array +\w+ +\w+ \w+ (\w+)", sections)
        if match and int(match[1], 16) > 8:
            violations.append(f"{base}: runs code at load or unload time (.{section}_array)")
    return violations


def check_objects(path):
    """An object or an archive of them: nothing that runs by itself."""
    violations = []
    base = os.path.basename(path)
    for section in re.findall(r"\] (\.(?:init_array|preinit_array|fini_array|ctors|dtors)\S*)",
                              run(f"{TOOLS}readelf", "-SW", path)):
        violations.append(f"{base}: section {section}: code that runs by itself")
    for kind, name, _ in nm(path):
        if kind == "i":
            violations.append(f"{base}: {name} is an ifunc")
        if kind == "U" and is_cxx_runtime(name) and not name.startswith(("_ZN3hpz", "_ZNK3hpz")):
            violations.append(f"{base}: undefined {name}: C++ run-time library")
        if name.startswith(("_ZGV", "__tls_guard")):
            violations.append(f"{base}: {name}: a local static that is initialised when first used")
    return violations


def check_archive(path, names):
    violations = check_objects(path)
    symbols = nm(path)
    defined = {name for kind, name, _ in symbols if kind not in "Uwv"}
    libc = run(f"{TOOLS}gcc" if TOOLS else "cc", "-print-file-name=libc.so.6").strip()
    known = {name for _, name, _ in nm(libc, "-D", "--defined-only")} | LINKER
    for kind, name, _ in symbols:
        if kind == "w" and name in HOOKS:
            continue
        if kind in "Uwv" and name not in defined | known:
            violations.append(f"archive: undefined {name}, which the C library lacks")
    # Whatever else is global must be hidden, so that it stays inside a shared library made of it.
    visible = set()
    for line in run(f"{TOOLS}readelf", "-sW", path).splitlines():
        match = re.match(r"\s*\d+: \w+ +\d+ \w+ +(?:GLOBAL|WEAK) +DEFAULT +(\w+) (\S+)", line)
        if match and match[1] != "UND":
            visible.add(match[2])
    violations += compare("archive: visible", visible, names)
    return violations


def check_size(path):
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "core.so")
        run(f"{TOOLS}strip", "-o", stripped, path)
        size = os.path.getsize(stripped)
    print(f"stripped {os.path.basename(path)}: {size} bytes")
    if size >= CORE_STRIPPED_BYTES:
        return [f"{path}: {size} bytes stripped, {CORE_STRIPPED_BYTES} are the limit"]
    return []


def check_kernel(path, called=frozenset()):
    """An object of a kernel: one global symbol, its own; nothing weak, nothing else called."""
    base = os.path.basename(path)
    kernel = base.split(".")[0]
    own = f"_ZN3hpz6kernel{len(kernel)}{kernel}EPKPvmm"
    allowed = LINKER | called | ({"memset"} if kernel == "memset" else set())
    violations = check_objects(path)
    symbols = nm(path)
    for kind, name, _ in symbols:
        if kind == "U" and name not in allowed:
            violations.append(f"{base}: calls {name}")
        elif kind in "WwVvu":
            violations.append(f"{base}: {name} is weak: the linker may choose it for other code")
        elif kind.isupper() and kind != "U" and name not in {own} | TOLD.get(kernel, set()):
            violations.append(f"{base}: {name} is global")
    if ("T", own) not in {(kind, name) for kind, name, _ in symbols}:
        violations.append(f"{base}: does not define {own}")
    return violations


def check_libraries(arguments):
    node, names = in_map(arguments.map)
    violations = compare("lib/hpzero.map against headers", names, declared(arguments.include))
    if node != f"HPZERO_{arguments.soversion}":
        violations.append(f"lib/hpzero.map: node {node} is not of version {arguments.soversion}")
    core = declared(arguments.include, CORE_HEADERS)
    for path, offers, needs, base in (
            (arguments.full, names, FULL_NEEDS, "libhpzero"),
            (arguments.core, core, CORE_NEEDS, "libhpzero_core")):
        violations += check_shared(path, node, offers, needs, f"{base}.so.{arguments.soversion}")
    violations += check_archive(arguments.archive, core)
    for path in arguments.objects:
        violations += check_objects(path)
    violations += check_size(arguments.core)
    return violations, len(names)


def parse(arguments):
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    libraries = commands.add_parser("libraries")
    for name in ("map", "include", "soversion", "full", "core", "archive"):
        libraries.add_argument(f"--{name}", required=True)
    libraries.add_argument("--objects", nargs="+", default=[])
    commands.add_parser("kernels").add_argument("objects", nargs="+")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    args = parse(sys.argv[1:])
    if args.command == "libraries":
        report.finish(*check_libraries(args), "exported symbols")
    else:
        report.finish([violation for path in args.objects for violation in check_kernel(path)],
                      len(args.objects), "kernel objects")
