// SPDX-License-Identifier: BSD-2-Clause
//
// hpz_is_zero against a byte loop. Input: two bytes of length, one of distance to the guard page
// behind, then bytes to be set: two of place, one of value each.
#include <hpzero/zero.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/fuzz/require.h"

namespace {

constexpr size_t kPage = 4096, kArena = 17 * kPage;
unsigned char *g_end;

void set_up() {
  void *const map =
      mmap(nullptr, kArena + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  HPZ_REQUIRE(map != MAP_FAILED);
  g_end = static_cast<unsigned char *>(map) + kPage + kArena;
  HPZ_REQUIRE(mprotect(g_end - kArena, kArena, PROT_READ | PROT_WRITE) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 3) return 0;
  if (g_end == nullptr) set_up();
  const size_t len = data[0] | size_t{data[1]} << 8;
  unsigned char *const src = g_end - data[2] - len;
  memset(src - 64, 0xFF, 64);
  memset(src, 0, len);
  memset(src + len, 0xFF, data[2]);
  for (size_t i = 3; i + 3 <= size && i < 30 && len != 0; i += 3) {
    src[(data[i] | size_t{data[i + 1]} << 8) % len] = data[i + 2];
  }
  int zero = 1;
  for (size_t i = 0; i < len; ++i) {
    if (src[i] != 0) zero = 0;
  }
  HPZ_REQUIRE(hpz_is_zero(src, len) == zero);
  return 0;
}
