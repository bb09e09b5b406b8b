#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# One test of the package: package.sh CASE SOURCE_DIR BUILD_DIR WORK_DIR. A case builds consumers,
# runs them and looks at what they were linked with. Letters and digits name rows of the field
# reports.
set -euo pipefail
case=$1 source=$2 build=$3 work=$4
here=$source/tests/package
prefix=$work/prefix
tmp=$work/$case
ran=0

fail() {
  echo "package.$case: $*" >&2
  exit 1
}

# run COMMAND...: a consumer, which must say that it is fine.
run() {
  local said
  said=$("$@") || fail "$* failed: $said"
  [[ $said == *"consumer: ok"* ]] || fail "$* said: $said"
  ran=$((ran + 1))
}

# refuse COMMAND...: must fail.
refuse() {
  if "$@" >"$tmp/refused.log" 2>&1; then fail "not refused: $*"; fi
}

# needs PROGRAM PATTERN: the libraries that it asks the dynamic linker for, all of PATTERN.
needs() {
  local library
  for library in $(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    [[ $library =~ ^($2)$ ]] || fail "$1 needs $library"
  done
}

is_static() {
  [[ $(readelf -lW "$1") != *INTERP* ]] || fail "$1 has a dynamic linker"
  needs "$1" "nothing"
}

is_pie() {
  [[ $(readelf -hW "$1") =~ Type:\ +DYN ]] || fail "$1 is not position independent"
}

# quietly COMMAND...: prints what it said only if it fails.
quietly() {
  "$@" >"$tmp/quiet.log" 2>&1 || {
    cat "$tmp/quiet.log" >&2
    fail "$* failed"
  }
}

# core_build DIR OPTIONS...: libhpzero_core alone, in some other way.
core_build() {
  local dir=$1
  shift
  quietly cmake -G Ninja -S "$source" -B "$dir" -DHPZERO_CORE_ONLY=ON "$@"
  quietly cmake --build "$dir"
}

libdir() {
  find "$1" -name 'libhpzero_core.a' -printf '%h\n' -quit
}

strict="-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror"

# Installs, moves the result and leaves it for the other cases: whatever they prove, they prove of a
# relocated package (H3, H4).
case_install() {
  rm -rf "$prefix" "$work/first"
  quietly cmake --install "$build" --prefix "$work/first"
  mv "$work/first" "$prefix"
  if grep -rlIF -e "$work" -e "$source" "$prefix"; then fail "installed files name build paths"; fi

  local lib
  lib=$(libdir "$prefix")
  local so
  for so in hpzero hpzero_core; do
    [ -L "$lib/lib$so.so" ] && [ -e "$lib/lib$so.so" ] || fail "no lib$so.so"
    [[ $(readlink "$lib/lib$so.so") =~ ^lib$so\.so\.[0-9.]+$ ]] || fail "lib$so.so: bad link"
    [ -f "$lib/pkgconfig/$so.pc" ] || fail "no $so.pc"
  done
  local header
  for header in "$source"/include/hpzero/*; do
    cmp "$header" "$prefix/include/hpzero/${header##*/}" || fail "header ${header##*/}"
  done

  # The same files by DESTDIR, and by components, none left out.
  DESTDIR=$tmp/dest quietly cmake --install "$build" --prefix /opt/hpzero
  diff <(cd "$prefix" && find . | sort) <(cd "$tmp/dest/opt/hpzero" && find . | sort) ||
    fail "DESTDIR gives other files"
  if [ -x "$prefix/bin/hpzero-bench" ]; then
    "$prefix/bin/hpzero-bench" list >/dev/null || fail "the installed hpzero-bench does not run"
    bench_texts
  fi
}

# The manual and what completes hpzero-bench: where the programs look that read them, of this very
# version.
bench_texts() {
  local shell share=$prefix/share
  "$prefix/bin/hpzero-bench" man | diff - "$share/man/man1/hpzero-bench.1" || fail "old manual"
  [[ $(MANPATH=$share/man man -w hpzero-bench) == "$share/man/man1/hpzero-bench.1" ]] ||
    fail "man does not find the manual"
  declare -A path=(
    [bash]=bash-completion/completions/hpzero-bench
    [zsh]=zsh/site-functions/_hpzero-bench
    [fish]=fish/vendor_completions.d/hpzero-bench.fish
  )
  for shell in "${!path[@]}"; do
    "$prefix/bin/hpzero-bench" completion "$shell" | diff - "$share/${path[$shell]}" ||
      fail "completion of $shell"
  done
}

pc() {
  PKG_CONFIG_PATH=$(libdir "$prefix")/pkgconfig pkg-config "$@"
}

case_pkgconfig() {
  local version name lib
  lib=$(libdir "$prefix")
  version=$(sed -n 's/.*define HPZ_VERSION_M[A-Z]* \([0-9]*\)$/\1/p' \
    "$source/include/hpzero/version.h" | paste -sd.)
  for name in hpzero hpzero_core; do
    pc --validate "$name" || fail "$name.pc is not valid"
    [[ $'\n'$(pc --list-all) == *$'\n'"$name "* ]] || fail "$name.pc is not listed"
    [[ $(pc --modversion "$name") == "$version".* ]] || fail "$name.pc: version"
    # No libcpuinfo where nothing but the C library is promised, and it where it is needed.
    case $name-$(pc --static --libs "$name") in
      hpzero-*-lcpuinfo*) ;;
      hpzero_core-*-l*-l*) fail "hpzero_core.pc: more than one library" ;;
      hpzero_core-*-lhpzero_core*) ;;
      *) fail "$name.pc: --static --libs" ;;
    esac
    # shellcheck disable=SC2046
    cc $strict "$here/consumer.c" $(pc --cflags --libs "$name") -o "$tmp/$name"
    needs "$tmp/$name" "lib$name\.so\.[0-9.]*|libc\.so\.6"
    run env LD_LIBRARY_PATH="$lib" "$tmp/$name"
  done
  # The static library by pkg-config's own means.
  # shellcheck disable=SC2046
  cc $strict "$here/consumer.c" $(pc --cflags hpzero_core) -Wl,-Bstatic \
    $(pc --static --libs hpzero_core) -Wl,-Bdynamic -o "$tmp/static_core"
  needs "$tmp/static_core" "libc\.so\.6"
  run "$tmp/static_core"
}

# C13: lazy binding, static, static-pie, link time optimisation of the consumer, two compilers, none
# of them given a C++ library.
case_c_linkage() {
  local lib compiler optimisation
  lib=$(libdir "$prefix")
  for compiler in gcc clang; do
    for optimisation in -O0 "-O2 -flto"; do
      local program="$tmp/$compiler${optimisation// /}"
      # clang's link time optimisation needs a linker that Debian's clang does not bring.
      [[ $compiler == clang ]] && optimisation=${optimisation/-flto/}
      local compile="$compiler $strict $optimisation -I$prefix/include $here/consumer.c"
      $compile -Wl,-z,lazy "$lib/libhpzero_core.so" -o "$program-lazy"
      run env LD_LIBRARY_PATH="$lib" "$program-lazy"
      $compile -Wl,-z,now "$lib/libhpzero.so" -o "$program-now"
      run env LD_LIBRARY_PATH="$lib" "$program-now"
      $compile "$lib/libhpzero_core.a" -o "$program-archive"
      needs "$program-archive" "libc\.so\.6"
      run "$program-archive"
      $compile "$lib/libhpzero_core.a" -static -o "$program-static"
      is_static "$program-static"
      run "$program-static"
      $compile -fPIE "$lib/libhpzero_core.a" -static-pie -o "$program-static-pie"
      is_static "$program-static-pie"
      is_pie "$program-static-pie"
      run "$program-static-pie"
    done
  done
}

# A14, H1: the packaged libraries on CPUs without AVX and on one without AVX-512.
case_old_cpu() {
  local lib cpu
  lib=$(libdir "$prefix")
  cc $strict -I"$prefix/include" "$here/consumer.c" "$lib/libhpzero.so" -o "$tmp/shared"
  cc $strict -I"$prefix/include" "$here/consumer.c" "$lib/libhpzero_core.a" -static \
    -o "$tmp/static"
  for cpu in qemu64 Nehalem Haswell; do
    run qemu-x86_64 -cpu "$cpu" -E LD_LIBRARY_PATH="$lib" "$tmp/shared"
    run qemu-x86_64 -cpu "$cpu" "$tmp/static"
  done
}

case_find_package() {
  local with="-DCMAKE_PREFIX_PATH=$prefix"
  quietly cmake -G Ninja -S "$here/find_package_cxx" -B "$tmp/cxx" "$with"
  quietly cmake --build "$tmp/cxx"
  run "$tmp/cxx/consumer"
  quietly cmake -G Ninja -S "$here/find_package_c" -B "$tmp/c" "$with"
  quietly cmake --build "$tmp/c"
  run "$tmp/c/consumer_core"
  run "$tmp/c/consumer_core_static"
  needs "$tmp/c/consumer_core" "libhpzero_core\.so\.[0-9.]*|libc\.so\.6"
  needs "$tmp/c/consumer_core_static" "libc\.so\.6"
  # While the major version is 0 another minor version is another interface.
  local version
  for version in 0.0 0.2 1.0; do
    refuse cmake -G Ninja -S "$here/find_package_c" -B "$tmp/v$version" "$with" -DWANTED="$version"
  done
}

# H3: as part of another project, which installs and exports a library of its own on top.
case_add_subdirectory() {
  quietly cmake -G Ninja -S "$here/add_subdirectory" -B "$tmp/build" -DHPZERO_SOURCE="$source" \
    -DCMAKE_BUILD_TYPE=Release
  quietly cmake --build "$tmp/build"
  local kind
  for kind in hpzero core core_static; do run "$tmp/build/consumer_$kind"; done
  needs "$tmp/build/consumer_core_static" "libc\.so\.6"
  [ ! -e "$tmp/build/hpzero/bench" ] || fail "a subproject builds hpzero-bench"
  quietly cmake --install "$tmp/build" --prefix "$tmp/prefix"
  # A consumer of the consumer's package.
  quietly cmake -G Ninja -S "$here/find_package_vmm" -B "$tmp/vmm" \
    -DCMAKE_PREFIX_PATH="$tmp/prefix"
  quietly cmake --build "$tmp/vmm"
  run "$tmp/vmm/consumer"
}

# kernels_call_nothing BINARY: link time optimisation has not made calls of memset of the kernels.
kernels_call_nothing() {
  local function code
  for function in $(nm "$1" | sed -n 's/.* [tT] \(_ZN3hpz6kernel.*\)/\1/p'); do
    [[ $function == *6memsetEPKPvmm ]] && continue
    code=$(objdump -d --no-show-raw-insn --disassemble="$function" "$1")
    [[ $code == *"<$function>:"* ]] || fail "$function cannot be disassembled"
    if grep -E '\bcall|\bjmp .*<mem' <<<"$code"; then fail "$function calls something"; fi
    ran=$((ran + 1))
  done
}

# C13: the library itself built with link time optimisation, by the project's option and by plain
# flags, as distributions do.
case_lto() {
  core_build "$tmp/ipo" -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON
  core_build "$tmp/flags" -DCMAKE_C_FLAGS="-flto=auto -ffat-lto-objects" \
    -DCMAKE_CXX_FLAGS="-flto=auto -ffat-lto-objects"
  # Warnings are off: the compiler now sees through the library into the consumer, and supposes in
  # branches that are never taken there.
  local kind compile="cc -std=c11 -w -O2 -flto -I$source/include $here/consumer.c"
  for kind in ipo flags; do
    kernels_call_nothing "$tmp/$kind/libhpzero_core.so"
    $compile "$tmp/$kind/libhpzero_core.so" -Wl,-rpath,"$tmp/$kind" -o "$tmp/shared-$kind"
    run "$tmp/shared-$kind"
    $compile "$tmp/$kind/libhpzero_core.a" -static -o "$tmp/static-$kind"
    is_static "$tmp/static-$kind"
    run "$tmp/static-$kind"
    kernels_call_nothing "$tmp/static-$kind"
    run qemu-x86_64 -cpu qemu64 "$tmp/static-$kind"
  done
}

# C12, C13: without optimisation inline functions become symbols; a wrong one would win at link time
# and show on an old CPU.
case_unoptimised() {
  core_build "$tmp/core" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER=clang \
    -DCMAKE_CXX_COMPILER=clang++
  local compile="clang $strict -O0 -I$source/include $here/consumer.c"
  $compile "$tmp/core/libhpzero_core.so" -Wl,-z,lazy -Wl,-rpath,"$tmp/core" -o "$tmp/shared"
  run "$tmp/shared"
  run qemu-x86_64 -cpu qemu64 "$tmp/shared"
  $compile "$tmp/core/libhpzero_core.a" -static -o "$tmp/static"
  is_static "$tmp/static"
  run "$tmp/static"
  run qemu-x86_64 -cpu qemu64 "$tmp/static"
  run qemu-x86_64 -cpu Nehalem "$tmp/static"
}

# H7: the same sources for musl.
case_musl() {
  core_build "$tmp/core" -DCMAKE_TOOLCHAIN_FILE="$source/cmake/toolchains/musl.cmake" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DHPZERO_WERROR=ON
  needs "$tmp/core/libhpzero_core.so" "libc\.so"
  local archive="$tmp/core/libhpzero_core.a"
  musl-gcc $strict -I"$source/include" "$here/consumer.c" "$tmp/core/libhpzero_core.so" \
    -Wl,-rpath,"$tmp/core" -o "$tmp/shared"
  needs "$tmp/shared" "libhpzero_core\.so\.[0-9.]*|libc\.so"
  run "$tmp/shared"
  musl-gcc $strict -I"$source/include" "$here/consumer.c" "$archive" -static -o "$tmp/static"
  is_static "$tmp/static"
  run "$tmp/static"
  # musl-gcc of Debian 12 does not know -static-pie: its start file would leave the program without
  # relocations. So the files are named here.
  local crt=/usr/lib/x86_64-linux-musl
  musl-gcc $strict -fPIE -I"$source/include" -static -nostartfiles \
    "$crt/rcrt1.o" "$crt/crti.o" "$(gcc -print-file-name=crtbeginS.o)" \
    "$here/consumer.c" "$archive" -Wl,-pie,--no-dynamic-linker,-z,text \
    "$(gcc -print-file-name=crtendS.o)" "$crt/crtn.o" -o "$tmp/static-pie"
  is_static "$tmp/static-pie"
  is_pie "$tmp/static-pie"
  run "$tmp/static-pie"
}

rm -rf "$tmp"
mkdir -p "$tmp"
"case_$case"
[ "$case" = install ] || [ "$ran" -gt 0 ] || fail "no consumer ran"
echo "package.$case: $ran checks of consumers"
