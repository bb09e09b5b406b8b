# SPDX-License-Identifier: BSD-2-Clause
#
# Boots a machine of three NUMA nodes, the last without CPUs, in qemu, runs a program in it, and
# judges what it says on the serial console: boot.py --help. The kernel is Debian's package, the
# file system an initramfs of a static init, the program and the libraries that ldd lists.
#
# Software emulation always, never KVM: where this runs is often a virtual machine itself, in which
# KVM is missing, or hangs.
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

# Not the smaller kernel for clouds: it is built without CONFIG_MEMORY_FAILURE, which poisons pages.
KERNEL_PACKAGE = "linux-image-amd64:amd64"
NODES = 3
NODE_MIB = (640, 512, 512)
# Of 2 MiB, on each node.
HUGE_PAGES = 72
# The node without CPUs is nearer to node 1 than to node 0.
DISTANCES = {(0, 1): 20, (0, 2): 40, (1, 2): 25}
MACHINE = ["-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "max",
           "-smp", "4,sockets=2,cores=2,threads=1", "-m", f"{sum(NODE_MIB)}M",
           "-nodefaults", "-display", "none", "-serial", "stdio", "-no-reboot"]
# numa_balancing: the kernel would move pages, and take faults to find out which. panic=-1 and
# -no-reboot: a panic ends the emulator. loglevel: what the kernel says of poisoned pages would come
# in the middle of the program's lines; what it says before it dies, it says anyhow.
KERNEL_WORDS = ["console=ttyS0", "loglevel=2", "panic=-1", "mitigations=off",
                "numa_balancing=disable", f"guest_nodes={NODES}", f"guest_huge_pages={HUGE_PAGES}"]


class Failure(Exception):
    pass


def run(command, **more):
    """Its standard output; a failure with all that it said otherwise."""
    try:
        done = subprocess.run(command, text=True, capture_output=True, timeout=60, check=False,
                              stdin=subprocess.DEVNULL, **more)
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise Failure(f"{' '.join(command)}: not done after {error.timeout} s") from error
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def private_lists(folder):
    """apt's options for package lists of our own: anybody may refresh them, and the system's stay
    as they are."""
    for name in ("state/lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    options = [f"Dir::State={folder}/state", f"Dir::Cache={folder}/cache", "Acquire::Retries=3"]
    if os.geteuid() == 0:
        options.append("APT::Sandbox::User=root")  # the folder may be closed to apt's own user
    return [word for option in options for word in ("-o", option)]


def download_kernel(options, folder):
    """The package's file in the folder."""
    depends = run(["apt-cache", *options, "depends", KERNEL_PACKAGE])
    found = re.search(r"Depends: (linux-image-\d\S*)", depends)
    if not found:
        raise Failure(f"apt-cache depends {KERNEL_PACKAGE} names no kernel: {depends.strip()!r}")
    run(["apt-get", *options, "-o", "Acquire::Retries=3", "-q", "download",
         f"{found[1].removesuffix(':amd64')}:amd64"], cwd=folder)
    files = [name for name in os.listdir(folder) if name.endswith(".deb")]
    if len(files) != 1:
        raise Failure(f"apt-get download left {files}")
    return os.path.join(folder, files[0])


def kernel(build):
    """The kernel's file, downloaded if it is not there yet. By the system's package lists, which
    may be missing, or too old to name what the mirror has; then by fresh ones."""
    path = os.path.join(build, "vmlinuz")
    if os.path.exists(path):
        return path
    failures = []
    begin = time.monotonic()
    for attempt in range(3):
        if time.monotonic() - begin > 100:
            break
        with tempfile.TemporaryDirectory(dir=build, prefix="kernel.") as folder:
            try:
                options = []
                if attempt > 0:
                    time.sleep(2 * attempt)
                    options = private_lists(os.path.join(folder, "apt"))
                    run(["apt-get", *options, "-q", "update"])
                package = download_kernel(options, folder)
                run(["dpkg", "-x", package, os.path.join(folder, "root")])
                boot = os.path.join(folder, "root", "boot")
                names = [name for name in os.listdir(boot) if name.startswith("vmlinuz-")]
                if len(names) != 1:
                    raise Failure(f"the kernel package has in /boot: {os.listdir(boot)}")
                os.replace(os.path.join(boot, names[0]), path)
                return path
            except Failure as failure:
                failures.append(str(failure))
    raise Failure("no kernel for the guest: " + "\n  then: ".join(failures))


def libraries(program):
    """(path in the guest, path here) of what the dynamic linker loads, itself included."""
    listed = run(["ldd", program])
    files = []
    for line in listed.splitlines():
        if "not found" in line:
            raise Failure(f"ldd {program}: {line.strip()}")
        if found := re.match(r"\s*(\S+) => (/\S+) \(", line):
            files.append((f"lib/{found[1]}", found[2]))
        elif found := re.match(r"\s*/(\S+) \(", line):
            files.append((found[1], f"/{found[1]}"))
    return files


def newc(name, inode, mode, data=b""):
    """An entry of a cpio archive, format "newc": Documentation/driver-api/early-userspace/
    buffer-format.rst of the Linux kernel."""
    encoded = name.encode() + b"\0"
    fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
    entry = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
    entry += bytes(-len(entry) % 4)
    return entry + data + bytes(-len(data) % 4)


def initramfs(build, init, program):
    files = [("init", init), (os.path.basename(program), program), *libraries(program)]
    folders = set()
    for name, _ in files:
        while name := os.path.dirname(name):
            folders.add(name)
    path = os.path.join(build, "initramfs")
    with open(path, "wb") as out:
        for inode, name in enumerate(sorted(folders), 1):
            out.write(newc(name, inode, 0o040755))
        for inode, (name, source) in enumerate(files, 1000):
            with open(source, "rb") as file:
                out.write(newc(name, inode, 0o100755, file.read()))
        out.write(newc("TRAILER!!!", 0, 0))
    return path


def command_line(qemu, kernel_file, initramfs_file, program, words):
    memory = []
    for node, mib in enumerate(NODE_MIB):
        cpus = f",cpus={2 * node}-{2 * node + 1}" if node < 2 else ""
        memory += ["-object", f"memory-backend-ram,id=m{node},size={mib}M",
                   "-numa", f"node,nodeid={node},memdev=m{node}{cpus}"]
    for (source, target), value in DISTANCES.items():
        memory += ["-numa", f"dist,src={source},dst={target},val={value}"]
    append = [*KERNEL_WORDS, "--", f"/{os.path.basename(program)}", *words]
    return [qemu, *MACHINE, *memory, "-kernel", kernel_file, "-initrd", initramfs_file,
            "-append", " ".join(append)]


def boot(command, log_path, seconds):
    """What the console said, and how long it took."""
    begin = time.monotonic()
    with open(log_path, "wb") as log:
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, timeout=seconds,
                                  stderr=subprocess.STDOUT, check=False)
            ended = f"qemu's exit status {done.returncode}"
        except subprocess.TimeoutExpired:
            ended = f"killed after {seconds} s"
    with open(log_path, encoding="utf-8", errors="replace") as log:
        return log.read(), ended, time.monotonic() - begin


def number(pattern, text, what):
    found = re.findall(pattern, text, re.MULTILINE)
    if len(found) != 1:
        raise Failure(f"the guest said {len(found)} times {what}")
    return [int(value) for value in (found[0] if isinstance(found[0], tuple) else found)]


def judge(text, expected_pages):
    """What the guest said is not believed where it can be counted here."""
    status, = number(r"^GUEST: exit status (\d+)\s*$", text, "its program's exit status")
    if status != 0:
        raise Failure(f"the program in the guest ended with status {status}")
    if "[  SKIPPED ]" in text or "DISABLED" in text:
        raise Failure("the guest left tests out")
    checked, wanted = number(r"^GUEST: checked (\d+) pages, expected (\d+)\s*$", text,
                             "how many pages it checked")
    if wanted != expected_pages:
        raise Failure(f"the guest expects {wanted} pages, not {expected_pages}")
    if checked < wanted:
        raise Failure(f"the guest checked {checked} pages instead of {wanted}")
    return checked


def main():
    parser = argparse.ArgumentParser(description="runs a program in a guest with three NUMA nodes")
    parser.add_argument("--build", required=True, help="folder for the kernel and the console log")
    parser.add_argument("--init", required=True, help="the guest's process 1, static")
    parser.add_argument("--program", required=True)
    parser.add_argument("--expect-pages", type=int, help="that the program is to check; without it "
                        "the program's exit status alone counts")
    parser.add_argument("--seconds", type=int, default=300, help="for all of it")
    parser.add_argument("words", nargs="*", help="the program's arguments")
    options = parser.parse_args()
    begin = time.monotonic()
    options.build = os.path.abspath(options.build)  # apt takes relative paths for absolute ones
    os.makedirs(options.build, exist_ok=True)
    log_path = os.path.join(options.build, "console.log")
    text = ""
    try:
        qemu = shutil.which("qemu-system-x86_64")
        if not qemu:
            raise Failure("no qemu-system-x86_64 (Debian's package qemu-system-x86)")
        kernel_file = kernel(options.build)
        archive = initramfs(options.build, options.init, options.program)
        command = command_line(qemu, kernel_file, archive, options.program, options.words)
        left = options.seconds - int(time.monotonic() - begin)
        text, ended, took = boot(command, log_path, left)
        if options.expect_pages is None:
            print(text)
            number(r"^GUEST: exit status (0)\s*$", text, f"exit status 0 ({ended})")
        else:
            try:
                checked = judge(text, options.expect_pages)
            except Failure as failure:
                raise Failure(f"{failure} ({ended})") from failure
            print(f"guest: {checked} pages checked in {took:.1f} s")
    except Failure as failure:
        print(text)
        print(f"boot.py: {failure}", file=sys.stderr)
        if text:
            print(f"boot.py: that console is in {log_path}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
