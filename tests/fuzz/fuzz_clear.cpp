// SPDX-License-Identifier: BSD-2-Clause
//
// Sequences of clearing calls at random places of one poisoned arena, against a model of it that
// the C library clears.
//
// Input: a byte that says how large the arena is, then eight bytes a call: what, kernel, place (3
// bytes), length (2 bytes), pages.
#include <errno.h>
#include <hpzero/hpzero.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/fuzz/require.h"

namespace {

// The small one for many executions a second, the large one for lanes and for the probe.
constexpr size_t kLargeArena = 512 * 1024, kSmallArena = 24 * 1024;
constexpr size_t kPage = 4096;
constexpr unsigned char kPoison = 0xA5;
unsigned char *g_end;    // of the arena: guard pages before the large one and behind both
unsigned char *g_arena;  // the one in use
size_t g_bytes;          // its size
unsigned char g_model[kLargeArena];

void set_up() {
  void *const map =
      mmap(nullptr, kLargeArena + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  HPZ_REQUIRE(map != MAP_FAILED);
  g_end = static_cast<unsigned char *>(map) + kPage + kLargeArena;
  HPZ_REQUIRE(mprotect(g_end - kLargeArena, kLargeArena, PROT_READ | PROT_WRITE) == 0);
}

void clear_model(size_t at, size_t len) {
  memset(g_model + at, 0, len);
}

void one_call(const uint8_t *input) {
  hpz_kernel_info info = HPZ_KERNEL_INFO_INIT;
  HPZ_REQUIRE(hpz_kernel_info_get(input[1] % hpz_kernel_count(), &info) == 0);
  const int expected = info.missing == nullptr ? 0 : -EOPNOTSUPP;
  const size_t at = (input[2] | size_t{input[3]} << 8 | size_t{input[4]} << 16) % g_bytes;
  size_t len = input[5] | size_t{input[6]} << 8;
  if (input[0] & 0x80) len *= 7;  // lanes and the probe begin further up
  if (len > g_bytes - at) len = g_bytes - at;
  unsigned char *const dst = g_arena + at;

  // Pages of up to a quarter of the arena, from there on, each behind the other or repeated.
  void *pages[40];
  const size_t count = input[7] % 41;
  const size_t stride = len + (input[7] & 0x40 ? input[1] : 0);
  for (size_t i = 0; i < count; ++i) {
    const size_t page = at + (input[0] & 0x40 ? i / 2 : i) * stride;
    pages[i] = g_arena + (page + len <= g_bytes ? page : at);
  }
  bool batch = false, cleared = true;
  switch (input[0] % 8) {
    case 0:
      hpz_zero(dst, len);
      break;
    case 1:
      hpz_zero_cached(dst, len);
      break;
    case 2:
      hpz_zero_stream(dst, len);
      break;
    case 3:
    case 4:
      HPZ_REQUIRE(hpz_zero_with(info.id, dst, len) == expected);
      cleared = expected == 0;
      break;
    case 5:
      hpz_zero_pages(pages, count, len);
      batch = true;
      break;
    case 6:
      HPZ_REQUIRE(hpz_zero_pages_with(info.id, pages, count, len) == expected);
      batch = true;
      cleared = expected == 0;
      break;
    default: {
      const bool zero =
          len == 0 || (g_model[at] == 0 && memcmp(g_model + at, g_model + at + 1, len - 1) == 0);
      HPZ_REQUIRE(hpz_is_zero(dst, len) == zero);
      cleared = false;
    }
  }
  if (!cleared) return;
  if (!batch) clear_model(at, len);
  for (size_t i = 0; batch && i < count; ++i) {
    clear_model(static_cast<size_t>(static_cast<unsigned char *>(pages[i]) - g_arena), len);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  if (g_end == nullptr) set_up();
  g_bytes = data[0] % 16 == 15 ? kLargeArena : kSmallArena;
  g_arena = g_end - g_bytes;
  memset(g_arena, kPoison, g_bytes);
  memset(g_model, kPoison, g_bytes);
  for (size_t at = 1; at + 8 <= size && at < 6 * 8; at += 8) one_call(data + at);
  HPZ_REQUIRE(memcmp(g_arena, g_model, g_bytes) == 0);
  return 0;
}
