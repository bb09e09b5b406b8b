// SPDX-License-Identifier: BSD-2-Clause
//
// Random calls against a model of the map that has a byte for each subpage, and of the memory that
// has a byte for each byte. What the map believes to be zero holds poison here as often as not:
// whoever writes to it, or leaves what is dirty, is seen.
#include <endian.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <string.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/map/map_fixture.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/settings.h"
#include "tests/support/workers.h"

namespace hpz::test {
namespace {

struct Shape {
  uint64_t len, page_bytes, subpage_bytes;
};

class Model {
 public:
  Model(const Shape &shape, hpz_page_state initial, const unsigned char *memory)
      : shape_(shape),
        memory_(memory, memory + shape.len),
        is_dirty_((shape.len - 1) / shape.subpage_bytes + 1, initial == HPZ_PAGE_DIRTY),
        is_fresh_((shape.len - 1) / shape.page_bytes + 1, initial == HPZ_PAGE_FRESH) {}

  void write(uint64_t begin, uint64_t end, unsigned char value) {
    std::fill(memory_.begin() + static_cast<ptrdiff_t>(begin),
              memory_.begin() + static_cast<ptrdiff_t>(end), value);
  }
  void mark_subpage(uint64_t subpage) {
    is_dirty_[subpage] = true;
    is_fresh_[subpage * shape_.subpage_bytes / shape_.page_bytes] = false;
  }
  void mark(uint64_t begin, uint64_t end) {
    for (uint64_t at = begin; at < end; ++at) mark_subpage(at / shape_.subpage_bytes);
  }
  void say_zero(uint64_t begin, uint64_t end, hpz_page_state state) {
    for_whole_subpages(begin, end, [&](uint64_t subpage, uint64_t page) {
      is_dirty_[subpage] = false;
      if (state == HPZ_PAGE_ZERO) is_fresh_[page] = false;
    });
    if (state == HPZ_PAGE_FRESH) make_whole_pages_fresh(begin, end);
  }
  // Bytes cleared.
  uint64_t zero(uint64_t begin, uint64_t end) {
    uint64_t cleared = 0;
    for (uint64_t at = begin; at < end; ++at) {
      if (!is_dirty_[at / shape_.subpage_bytes]) continue;
      memory_[at] = 0;
      ++cleared;
    }
    for_whole_subpages(begin, end, [&](uint64_t subpage, uint64_t) { is_dirty_[subpage] = false; });
    return cleared;
  }
  uint64_t populate(uint64_t begin, uint64_t end) {
    for (uint64_t at = begin; at < end; ++at) is_fresh_[at / shape_.page_bytes] = false;
    return zero(begin, end);
  }
  void release(uint64_t begin, uint64_t end) {
    for (uint64_t at = begin; at < end; ++at) {
      if (!is_fresh_[at / shape_.page_bytes]) memory_[at] = 0;
    }
    for_whole_subpages(begin, end, [&](uint64_t subpage, uint64_t) { is_dirty_[subpage] = false; });
    make_whole_pages_fresh(begin, end);
  }

  hpz_map_counts counts() const {
    hpz_map_counts counts = HPZ_MAP_COUNTS_INIT;
    for (uint64_t i = 0; i < is_dirty_.size(); ++i) {
      const uint64_t begin = i * shape_.subpage_bytes;
      const uint64_t bytes = std::min(begin + shape_.subpage_bytes, shape_.len) - begin;
      if (is_dirty_[i]) {
        counts.dirty_bytes += bytes;
      } else if (is_fresh_[begin / shape_.page_bytes]) {
        counts.fresh_bytes += bytes;
      } else {
        counts.zero_bytes += bytes;
      }
    }
    return counts;
  }
  bool has_partial_page() const {
    for (uint64_t i = 1; i < is_dirty_.size(); ++i) {
      const uint64_t in_page = shape_.page_bytes / shape_.subpage_bytes;
      if (i / in_page == (i - 1) / in_page && is_dirty_[i] != is_dirty_[i - 1]) return true;
    }
    return false;
  }
  const std::vector<unsigned char> &memory() const { return memory_; }

 private:
  template <class Visit> void for_whole_subpages(uint64_t begin, uint64_t end, Visit visit) {
    for (uint64_t i = 0; i < is_dirty_.size(); ++i) {
      const uint64_t its_begin = i * shape_.subpage_bytes;
      const uint64_t its_end = std::min(its_begin + shape_.subpage_bytes, shape_.len);
      if (begin <= its_begin && its_end <= end) visit(i, its_begin / shape_.page_bytes);
    }
  }
  void make_whole_pages_fresh(uint64_t begin, uint64_t end) {
    for (uint64_t i = 0; i < is_fresh_.size(); ++i) {
      const uint64_t its_begin = i * shape_.page_bytes;
      const uint64_t its_end = std::min(its_begin + shape_.page_bytes, shape_.len);
      if (begin <= its_begin && its_end <= end) is_fresh_[i] = true;
    }
  }

  const Shape shape_;
  std::vector<unsigned char> memory_;
  std::vector<bool> is_dirty_, is_fresh_;
};

class MapModel : public ByWorkers {
 protected:
  void play(const Shape &shape, hpz_page_state initial, int calls, uint64_t seed);
};
HPZERO_BY_WORKERS(MapModel);

void MapModel::play(const Shape &shape, hpz_page_state initial, int calls, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto up_to = [&](uint64_t most) { return random() % (most + 1); };
  // Where the memory begins within a page of the machine is not the map's business.
  const GuardedBuffer buffer(shape.len + 4096);
  unsigned char *const memory = buffer.begin() + (up_to(1) == 0 ? 0 : up_to(4096));
  memset(memory, 0, shape.len);
  const SpacePointer space = make_space(memory, shape.len);
  const MapPointer map = make_map(shape.len, shape.page_bytes, shape.subpage_bytes, initial);
  Model model(shape, initial, memory);
  const auto write = [&](uint64_t begin, uint64_t end) {
    memset(memory + begin, kPoison, end - begin);
    model.write(begin, end, kPoison);
  };
  for (int call = 0; call < calls; ++call) {
    uint64_t begin = up_to(shape.len);
    const uint64_t most[] = {shape.len, 3 * shape.page_bytes, 3 * shape.subpage_bytes};
    uint64_t end = std::min(shape.len, begin + up_to(most[up_to(2)]));
    const uint64_t units[] = {1, shape.subpage_bytes, shape.page_bytes};
    const uint64_t unit = units[up_to(2)];
    begin -= begin % unit;
    if (up_to(3) != 0 && end != shape.len) end = std::max(begin, end - end % unit);
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.chunk_bytes = up_to(1) == 0 ? 0 : 1 + up_to(20'000);
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    const auto run = [&](decltype(&hpz_map_zero) verb) {
      ASSERT_EQ(verb(map.get(), space.get(), team(), begin, end - begin, &options, &report), 0);
      EXPECT_EQ(report.error, 0);
      EXPECT_EQ(report.done_bytes, end - begin);
      EXPECT_EQ(report.done_bytes,
                report.cleared_bytes + report.populated_bytes + report.skipped_bytes);
      EXPECT_EQ(report.first_bad_offset, UINT64_MAX);
    };
    const uint64_t what = up_to(11);
    SCOPED_TRACE("call " + std::to_string(call) + ": " + std::to_string(what) + " of [" +
                 std::to_string(begin) + ", " + std::to_string(end) + ")");
    switch (what) {
      case 0:
      case 1:
        write(begin, end);
        ASSERT_EQ(hpz_map_set(map.get(), begin, end - begin, HPZ_PAGE_DIRTY), 0);
        model.mark(begin, end);
        break;
      case 2:
        write(begin, end);  // and nobody says so
        break;
      case 3:
      case 4: {
        const hpz_page_state state = what == 3 ? HPZ_PAGE_ZERO : HPZ_PAGE_FRESH;
        ASSERT_EQ(hpz_map_set(map.get(), begin, end - begin, state), 0);
        model.say_zero(begin, end, state);
        break;
      }
      case 5:
      case 6:
      case 7: {
        const uint64_t first = begin / shape.subpage_bytes;
        const uint64_t subpages = (shape.len - 1) / shape.subpage_bytes + 1;
        if (first >= subpages) break;
        // As long as the map has subpages, or less, or more.
        const size_t bits = up_to(subpages - first + (up_to(1) == 0 ? 100 : 0));
        std::vector<uint64_t> words((bits + 63) / 64);
        const uint64_t density = up_to(3);  // few, half, nearly all, runs
        for (uint64_t &word : words) {
          word = random();
          if (density == 0) word &= random() & random() & random() & random();
          if (density == 2) word |= random() | random() | random();
          if (density == 3) word = up_to(1) == 0 ? 0 : UINT64_MAX;
        }
        for (uint64_t i = 0; i < words.size() * 64; ++i) {
          const uint64_t one = uint64_t{1} << i % 64;
          if (i >= bits && up_to(1) == 0) words[i / 64] |= one;  // not looked at
          if (i < bits && first + i >= subpages) words[i / 64] &= ~one;
          if (i < bits && (words[i / 64] & one) != 0) model.mark_subpage(first + i);
        }
        for (uint64_t &word : words) word = htole64(word);
        ASSERT_EQ(
            hpz_map_set_dirty_bitmap(map.get(), first * shape.subpage_bytes, words.data(), bits),
            0);
        break;
      }
      case 8:
      case 9: {
        run(hpz_map_zero);
        const uint64_t cleared = model.zero(begin, end);
        EXPECT_EQ(report.cleared_bytes, cleared);
        EXPECT_EQ(report.populated_bytes, 0u);
        break;
      }
      case 10: {
        run(hpz_map_populate);
        const uint64_t cleared = model.populate(begin, end);
        EXPECT_EQ(report.cleared_bytes, cleared);
        EXPECT_EQ(report.skipped_bytes, 0u);
        break;
      }
      default:
        run(hpz_map_release);
        model.release(begin, end);
    }
    const hpz_map_counts counts = counts_of(map.get()), expected = model.counts();
    ASSERT_EQ(counts.dirty_bytes, expected.dirty_bytes);
    ASSERT_EQ(counts.zero_bytes, expected.zero_bytes);
    ASSERT_EQ(counts.fresh_bytes, expected.fresh_bytes);
    ASSERT_EQ(counts.detail_bytes != 0, model.has_partial_page()) << "detail only where it tells";
    ASSERT_EQ(memcmp(memory, model.memory().data(), shape.len), 0);
    if (HasFailure()) return;
  }
}

TEST_P(MapModel, random_calls) {
  constexpr Shape kShapes[] = {
      {200'000, 16'384, 4096},   // pages of few subpages, the last ones short
      {65'536, 4096, 4096},      // no detail
      {300'000, 32'768, 64},     // 512 subpages: several words of bits
      {262'144, 131'072, 1024},  // 128
      {70'001, 1 << 20, 4096},   // one page, longer than the map
      {10'000, 64, 64},          // the smallest
  };
  for (const Shape &shape : kShapes) {
    for (const hpz_page_state initial : {HPZ_PAGE_DIRTY, HPZ_PAGE_ZERO, HPZ_PAGE_FRESH}) {
      const uint64_t its_seed = seed() + GetParam() + shape.page_bytes + initial;
      SCOPED_TRACE("HPZERO_TEST_SEED=" + std::to_string(seed()) + ", pages of " +
                   std::to_string(shape.page_bytes) + ", initially " + std::to_string(initial));
      play(shape, initial, quick() ? 60 : 400, its_seed);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace hpz::test
