#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Builds field_C9.c with MemorySanitizer, links it with the library given and runs it:
# field_C9.sh ROOT LIBRARY. Without a clearing call the program must be reported, or nothing is
# proved.
set -eu
root=$1 library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

spaces=
case $(basename "$library") in libhpzero.*) spaces=-DHAS_SPACES ;; esac
clang -std=c11 $spaces -Wall -Wextra -Werror -g -O1 -fsanitize=memory -I"$root/include" \
  "$root/tests/instrumented/field_C9.c" "$library" -Wl,-rpath,"$(dirname "$library")" \
  -o "$work/program"

if "$work/program" nothing >"$work/log" 2>&1; then
  echo "field_C9: MemorySanitizer did not see that memory was not initialised" >&2
  exit 1
fi
grep -q use-of-uninitialized-value "$work/log" || { cat "$work/log" >&2; exit 1; }

"$work/program" everything
