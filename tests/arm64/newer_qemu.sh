#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# An emulator that has SETP, SETM and SETE: newer_qemu.sh QEMU FOLDER makes FOLDER/qemu-aarch64.
#
# That is QEMU, the system's own, where it is new enough; else the one of Debian 13, unpacked beside
# the system: nothing is installed, and apt's own state is not touched. Debian 13's is linked
# statically and needs no library of its suite. It comes from the mirror of the machine's own
# sources, and apt verifies its signatures as those of any package. A second call finds it there.
#
# To be deleted where Debian 12 is no longer built on.
set -eu
qemu=$1 folder=$2
suite=trixie
# The first with FEAT_MOPS in its -cpu max, and the bit of it in AT_HWCAP2.
enough=8.2

# is_new_enough PROGRAM: it starts, and is no older than that.
is_new_enough() {
  version=$("$1" --version 2>/dev/null | sed -n 's/^qemu-aarch64 version \([0-9.]*\).*/\1/p')
  [ -n "$version" ] && [ "$(printf '%s\n' $enough "$version" | sort -V | head -n 1)" = $enough ]
}

fail() {
  echo "newer_qemu.sh: $*" >&2
  exit 1
}

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
wanted=$folder/qemu-aarch64
if is_new_enough "$qemu"; then
  ln -sf "$qemu" "$wanted"
fi
if is_new_enough "$wanted"; then
  echo "$wanted: version $version"
  exit 0
fi

command -v apt-get >/dev/null || fail "$qemu is older than $enough, and there is no apt-get here"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r $keys ] || fail "no $keys: install debian-archive-keyring"
work=$(mktemp -d "$folder/download.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/none" "$work/lists/partial" "$work/cache/archives/partial"
: >"$work/status"

# apt COMMAND...: apt-get on these folders alone; proxies and the like stay as configured.
apt() {
  apt-get -qq -o Dir::State="$work" -o Dir::State::Lists="$work/lists" \
    -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" \
    -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts="$work/none" \
    -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts="$work/none" \
    -o Acquire::Languages=none -o Acquire::Retries=3 \
    -o APT::Sandbox::User="$(id -un)" "$@"
}

# fetch MIRROR: the package, in the working folder.
fetch() {
  echo "deb [arch=$(dpkg --print-architecture) signed-by=$keys] $1 $suite main" \
    >"$work/sources.list"
  apt update -o APT::Update::Error-Mode=any && (cd "$work" && apt download qemu-user)
}

# Where the packages of Debian itself come from on this machine.
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
# shellcheck disable=SC2016
fields='$(RELEASE) $(COMPONENT) $(REPO_URI)'
mirrors=$(apt-get indextargets --format "$fields" 'Created-By: Packages' |
  sed -nE "s/^($release|stable|oldstable|testing|unstable|sid) main //p" | sort -u)
[ -n "$mirrors" ] || fail "the apt sources of this machine name no mirror of Debian"
for mirror in $mirrors; do
  if fetch "$mirror"; then
    dpkg-deb --fsys-tarfile "$work"/qemu-user_*.deb | tar -x -C "$work" ./usr/bin/qemu-aarch64
    is_new_enough "$work/usr/bin/qemu-aarch64" || fail "Debian $suite has none either"
    # In one step: who looks meanwhile sees none or all of it.
    mv -f "$work/usr/bin/qemu-aarch64" "$wanted"
    echo "$wanted: version $version, from Debian $suite"
    exit 0
  fi
done
fail "no mirror of Debian gave the package qemu-user of $suite"
