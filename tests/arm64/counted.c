/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Clears 2 MiB once by hpz_zero_stream, for instruction_counts.py to look on. Exit status 0 if the
 * memory reads zero afterwards, and a whole block before and behind it what it did. */
#include <hpzero/hpzero.h>
#include <string.h>

#define BYTES (2u << 20)
#define MARGIN 2048u

static _Alignas(4096) unsigned char memory[BYTES + 2 * MARGIN];

int main(void) {
  unsigned i;
  memset(memory, 0xA5, sizeof memory);
  hpz_zero_stream(memory + MARGIN, BYTES);
  for (i = 0; i < sizeof memory; ++i) {
    const int inside = i >= MARGIN && i < MARGIN + BYTES;
    if (memory[i] != (inside ? 0 : 0xA5)) return 1;
  }
  return 0;
}
