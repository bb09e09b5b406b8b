// SPDX-License-Identifier: BSD-2-Clause
//
// Sequences of calls on one map over a small space, against a model with a byte for each subpage
// and a copy of the memory.
//
// Input: a byte for the sizes of pages and the initial state, then eight bytes a call: what, offset
// (2 bytes), length (2 bytes), a word of bitmap (3 bytes).
#include <errno.h>
#include <hpzero/hpzero.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/fuzz/require.h"

namespace {

constexpr uint64_t kBytes = 4096 - 40;  // the last page and the last subpage are short
constexpr unsigned char kPoison = 0xA5;
unsigned char *g_memory;
hpz_space *g_space;

struct Model {
  uint64_t page, subpage;
  bool is_dirty[kBytes / 64 + 1], is_fresh[kBytes / 64 + 1];
  unsigned char memory[kBytes];

  void mark(uint64_t number) {
    is_dirty[number] = true;
    is_fresh[number * subpage / page] = false;
  }
  // Subpages and pages that lie in [begin, end) as a whole.
  void make_zero(uint64_t begin, uint64_t end, bool is_resident) {
    for (uint64_t at = 0; at < kBytes; at += subpage) {
      const uint64_t its_end = at + subpage < kBytes ? at + subpage : kBytes;
      if (at < begin || its_end > end) continue;
      is_dirty[at / subpage] = false;
      if (is_resident) is_fresh[at / page] = false;
    }
  }
  void make_fresh(uint64_t begin, uint64_t end) {
    for (uint64_t at = 0; at < kBytes; at += page) {
      const uint64_t its_end = at + page < kBytes ? at + page : kBytes;
      if (at >= begin && its_end <= end) is_fresh[at / page] = true;
    }
  }
  void clear_dirty(uint64_t begin, uint64_t end) {
    for (uint64_t at = begin; at < end; ++at) {
      if (is_dirty[at / subpage]) memory[at] = 0;
    }
    make_zero(begin, end, false);
  }
};
Model g_model;

void require_counts(const hpz_map *map) {
  uint64_t dirty = 0, fresh = 0;
  for (uint64_t at = 0; at < kBytes; at += g_model.subpage) {
    const uint64_t bytes = kBytes - at < g_model.subpage ? kBytes - at : g_model.subpage;
    if (g_model.is_dirty[at / g_model.subpage]) {
      dirty += bytes;
    } else if (g_model.is_fresh[at / g_model.page]) {
      fresh += bytes;
    }
  }
  hpz_map_counts counts = HPZ_MAP_COUNTS_INIT;
  HPZ_REQUIRE(hpz_map_counts_get(map, &counts) == 0);
  HPZ_REQUIRE(counts.dirty_bytes == dirty && counts.fresh_bytes == fresh);
  HPZ_REQUIRE(counts.zero_bytes == kBytes - dirty - fresh);
}

void one_call(hpz_map *map, const uint8_t *input) {
  const uint64_t begin = (input[1] | uint64_t{input[2]} << 8) % (kBytes + 200);
  const uint64_t len = (input[3] | uint64_t{input[4]} << 8) % (kBytes + 200);
  const bool is_good = begin <= kBytes && len <= kBytes - begin;
  const int expected = is_good ? 0 : -EINVAL;
  const uint64_t end = begin + len;
  switch (input[0] % 8) {
    case 0:  // written to, and said so
      if (is_good) {
        memset(g_memory + begin, kPoison, len);
        memset(g_model.memory + begin, kPoison, len);
      }
      HPZ_REQUIRE(hpz_map_set(map, begin, len, HPZ_PAGE_DIRTY) == expected);
      for (uint64_t at = begin; is_good && at < end; ++at) g_model.mark(at / g_model.subpage);
      break;
    case 1:
    case 2: {
      const hpz_page_state state = input[0] % 8 == 1 ? HPZ_PAGE_ZERO : HPZ_PAGE_FRESH;
      HPZ_REQUIRE(hpz_map_set(map, begin, len, state) == expected);
      if (!is_good) break;
      g_model.make_zero(begin, end, state == HPZ_PAGE_ZERO);
      if (state == HPZ_PAGE_FRESH) g_model.make_fresh(begin, end);
      break;
    }
    case 3:
    case 4: {
      const uint64_t pattern = input[5] | uint64_t{input[6]} << 8 | uint64_t{input[7]} << 16;
      const uint64_t words[] = {pattern << 40 | pattern, ~pattern, pattern << 20, 0};
      const size_t bits = len % 257;
      const uint64_t first = begin / g_model.subpage;
      const uint64_t all = (kBytes - 1) / g_model.subpage + 1;
      bool is_within = begin % g_model.subpage == 0 && begin <= kBytes;
      for (size_t i = 0; i < bits; ++i) {
        if ((words[i / 64] >> i % 64 & 1) != 0 && first + i >= all) is_within = false;
      }
      HPZ_REQUIRE(hpz_map_set_dirty_bitmap(map, begin, words, bits) == (is_within ? 0 : -EINVAL));
      for (size_t i = 0; is_within && i < bits; ++i) {
        if ((words[i / 64] >> i % 64 & 1) != 0) g_model.mark(first + i);
      }
      break;
    }
    case 5:
      HPZ_REQUIRE(hpz_map_populate(map, g_space, nullptr, begin, len, nullptr, nullptr) ==
                  expected);
      if (!is_good) break;
      g_model.clear_dirty(begin, end);
      for (uint64_t at = begin; at < end; ++at) g_model.is_fresh[at / g_model.page] = false;
      break;
    default:
      HPZ_REQUIRE(hpz_map_zero(map, g_space, nullptr, begin, len, nullptr, nullptr) == expected);
      if (is_good) g_model.clear_dirty(begin, end);
  }
  require_counts(map);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  if (g_space == nullptr) {
    void *const memory =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HPZ_REQUIRE(memory != MAP_FAILED);
    g_memory = static_cast<unsigned char *>(memory);
    const hpz_range range = {memory, kBytes};
    HPZ_REQUIRE(hpz_space_direct(&range, 1, nullptr, &g_space) == 0);
  }
  hpz_map_options options = HPZ_MAP_OPTIONS_INIT;
  options.len = kBytes;
  options.subpage_bytes = uint64_t{64} << data[0] % 4;
  options.page_bytes = options.subpage_bytes << data[0] / 4 % 9;
  options.initial_state = data[0] / 36 % 3;
  hpz_map *map = nullptr;
  HPZ_REQUIRE(hpz_map_create(&options, &map) == 0);
  g_model.page = options.page_bytes;
  g_model.subpage = options.subpage_bytes;
  memset(g_model.is_dirty, options.initial_state == HPZ_PAGE_DIRTY, sizeof g_model.is_dirty);
  memset(g_model.is_fresh, options.initial_state == HPZ_PAGE_FRESH, sizeof g_model.is_fresh);
  memset(g_memory, 0, kBytes);
  memset(g_model.memory, 0, kBytes);
  for (size_t at = 1; at + 8 <= size && at < 12 * 8; at += 8) one_call(map, data + at);
  HPZ_REQUIRE(memcmp(g_memory, g_model.memory, kBytes) == 0);
  hpz_map_destroy(map);
  return 0;
}
