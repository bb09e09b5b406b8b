// SPDX-License-Identifier: BSD-2-Clause
//
// Edges and lanes as arithmetic, the threshold of the probe as a table, and clear_range and
// clear_pages over a kernel that writes down what it is asked for.
#include "lib/zero/clear.h"

#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "arch/arch.h"
#include "lib/zero/probe.h"
#include "tests/plan/invented_kernel.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/machine.h"
#include "tests/support/settings.h"

namespace hpz::test {
namespace {

void expect_sound_edges(uintptr_t dst, size_t len) {
  const Edges e = split_edges(dst, len);
  ASSERT_EQ(e.head + e.body + e.tail, len) << dst << ' ' << len;
  ASSERT_EQ(e.body % kLineBytes, 0U);
  if (e.body == 0) {
    ASSERT_EQ(e.tail, 0U);
    ASSERT_LT(e.head, 2 * kLineBytes) << "a whole line was left to memset";
  } else {
    ASSERT_LT(e.head, kLineBytes);
    ASSERT_LT(e.tail, kLineBytes);
    ASSERT_EQ((dst + e.head) % kLineBytes, 0U);
  }
}

TEST(SplitEdges, every_offset_and_length) {
  for (uintptr_t dst = 0; dst < 130; ++dst) {
    for (size_t len = 0; len < 700; ++len) ASSERT_NO_FATAL_FAILURE(expect_sound_edges(dst, len));
  }
  // Up to the last byte of the address space.
  for (size_t len = 0; len < 700; ++len) {
    ASSERT_NO_FATAL_FAILURE(expect_sound_edges(UINTPTR_MAX - len + 1, len));
    ASSERT_NO_FATAL_FAILURE(expect_sound_edges(UINTPTR_MAX - len, len));
  }
  ASSERT_NO_FATAL_FAILURE(expect_sound_edges(0, SIZE_MAX));
  ASSERT_NO_FATAL_FAILURE(expect_sound_edges(1, SIZE_MAX));
  ASSERT_NO_FATAL_FAILURE(expect_sound_edges(65, SIZE_MAX - 64));
  std::mt19937_64 random(seed());
  for (int i = 0; i < 100000; ++i) {
    const size_t len = random() >> random() % 64;
    ASSERT_NO_FATAL_FAILURE(expect_sound_edges(random(), len));
  }
}

void expect_sound_lanes(const Kernel &kernel, size_t body) {
  SCOPED_TRACE(std::to_string(kernel.lanes) + " lanes from " +
               std::to_string(kernel.lanes_from_bytes) + ": " + std::to_string(body));
  const Lanes cut = split_lanes(kernel, body);
  ASSERT_GE(cut.lanes, 1U);
  ASSERT_LE(cut.lanes, kernel.lanes);
  ASSERT_EQ(cut.lanes * cut.slice + cut.rest, body);
  ASSERT_GT(cut.slice, 0U);
  ASSERT_EQ(cut.slice % kLineBytes, 0U);
  ASSERT_EQ(cut.rest % kLineBytes, 0U);
  if (body < kernel.lanes_from_bytes || kernel.lanes == 1) {
    ASSERT_EQ(cut.lanes, 1U);
    ASSERT_EQ(cut.rest, 0U);
  } else {
    ASSERT_EQ(cut.lanes, kernel.lanes);
    // What is left over is little, and slices of large ranges do not share pages.
    ASSERT_LE(cut.rest, body / 4 + kernel.lanes * kLineBytes);
    if (body >= kernel.lanes * size_t{4} * kPageBytes) {
      ASSERT_EQ(cut.slice % kPageBytes, 0U);
    }
  }
}

TEST(SplitLanes, every_length_and_every_kernel) {
  std::vector<Kernel> rows(kernels().begin(), kernels().end());
  for (uint32_t lanes = 1; lanes <= kMaxLanes; ++lanes) {
    rows.push_back(with_lanes(invented_kernel("early"), lanes, lanes * kLineBytes));
    rows.push_back(with_lanes(invented_kernel("late"), lanes, 32768));
  }
  std::mt19937_64 random(seed());
  for (const Kernel &row : rows) {
    for (size_t lines = 1; lines < 3000; ++lines) {
      ASSERT_NO_FATAL_FAILURE(expect_sound_lanes(row, lines * kLineBytes));
    }
    for (int i = 0; i < 1000; ++i) {
      const size_t body = (random() >> random() % 57) & ~(kLineBytes - 1);
      if (body == 0) continue;
      ASSERT_NO_FATAL_FAILURE(expect_sound_lanes(row, body));
    }
    ASSERT_NO_FATAL_FAILURE(expect_sound_lanes(row, SIZE_MAX & ~(kLineBytes - 1)));
  }
}

TEST(ProbeThreshold, table) {
  using probe::kUnusable;
  using probe::threshold;
  EXPECT_EQ(threshold(50, 450), 250U);
  EXPECT_EQ(threshold(104, 700), 402U);
  EXPECT_EQ(threshold(100, 300), 200U);
  EXPECT_EQ(threshold(100, 299), kUnusable);  // cannot be told apart
  EXPECT_EQ(threshold(100, 50), kUnusable);   // the wrong way round
  EXPECT_EQ(threshold(0, 700), kUnusable);    // a counter that stands still
  EXPECT_EQ(threshold(0, 0), kUnusable);
  EXPECT_EQ(threshold(2000, 6000), 4000U);
  EXPECT_EQ(threshold(2001, 60000), kUnusable);  // a counter that traps
  EXPECT_EQ(threshold(1, UINT64_MAX), uint64_t{1} + (UINT64_MAX - 1) / 2);
}

// --- What kernels are asked for ------------------------------------------------------------------

struct Request {
  std::vector<void *> lanes;
  size_t len;
};
std::vector<Request> g_requests;

void recording_kernel(void *const *lanes, size_t count, size_t len) noexcept {
  g_requests.push_back({{lanes, lanes + count}, len});
  EXPECT_GE(count, 1U);
  EXPECT_GT(len, 0U);
  EXPECT_EQ(len % kLineBytes, 0U);
  for (size_t i = 0; i < count; ++i) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(lanes[i]) % kLineBytes, 0U);
    memset(lanes[i], 0, len);
  }
}

constexpr Kernel kRecorder = [] {
  Kernel kernel = with_lanes(invented_kernel("recorder"), 4, 1024);
  kernel.fn = recording_kernel;
  return kernel;
}();

TEST(ClearRange, kernels_get_what_the_contract_says) {
  const GuardedBuffer buffer(256 * 1024);
  for (size_t offset = 0; offset < 64; offset += 7) {
    for (const size_t len : Sizes{1, 63, 64, 127, 128, 1023, 1024, 1100, 4096, 66000, 200000}) {
      g_requests.clear();
      unsigned char *const dst = buffer.end() - len - offset;
      clear_range(kRecorder, dst, len);
      ASSERT_TRUE(buffer.only_cleared(dst, len)) << len;
      memset(dst, kPoison, len);
      // No byte twice, and all but the edges.
      size_t bytes = 0;
      std::set<void *> distinct;
      for (const Request &request : g_requests) {
        bytes += request.len * request.lanes.size();
        distinct.insert(request.lanes.begin(), request.lanes.end());
      }
      ASSERT_LE(bytes, len);
      ASSERT_LT(len - bytes, 2 * kLineBytes);
      ASSERT_LE(g_requests.size(), 2U);
      if (bytes >= 1024) {
        ASSERT_EQ(g_requests[0].lanes.size(), 4U);
      }
    }
  }
}

TEST(ClearPages, one_call_for_a_batch_of_whole_lines) {
  const GuardedBuffer buffer(80 * 8192);
  std::vector<void *> pages;
  for (size_t i = 0; i < 80; ++i) pages.push_back(buffer.begin() + i * 8192);
  g_requests.clear();
  clear_pages(kRecorder, pages.data(), pages.size(), 4096);
  ASSERT_EQ(g_requests.size(), 1U);
  EXPECT_EQ(g_requests[0].lanes, pages);
  // Ragged pages are still interleaved.
  g_requests.clear();
  for (size_t i = 0; i < 80; ++i) pages[i] = buffer.begin() + i * 8192 + 1 + i % 60;
  clear_pages(kRecorder, pages.data(), pages.size(), 4096);
  EXPECT_LE(g_requests.size(), 2U);
  EXPECT_GE(g_requests.at(0).lanes.size(), kMaxLanes);
}

// --- The probe on this machine -------------------------------------------------------------------

// It may clear, since the range is about to be cleared, but at two places of the range alone.
TEST(Probe, touches_sixteen_bytes_of_the_range) {
  if (!has_fine_counter(detect_cpu().features)) {
    ASSERT_EQ(machine_flags().count("tsc"), 0u) << "x86's, as the Linux kernel says";
    GTEST_SKIP() << "NOT TESTED HERE: no time-stamp counter";
  }
  const GuardedBuffer buffer(64 * 1024);
  for (const size_t len : Sizes{16384, 16385, 20000, 40000, 65535, 65536}) {
    for (size_t offset = 0; offset + len <= buffer.size(); offset += 1021) {
      unsigned char *const dst = buffer.end() - offset - len;
      for (const uint64_t threshold : {uint64_t{0}, uint64_t{300}, UINT64_MAX - 1}) {
        probe::misses_cache(dst, len, threshold);
      }
      ASSERT_TRUE(all_are(buffer.begin(), dst, kPoison, "before the range"));
      ASSERT_TRUE(all_are(dst + len, buffer.end(), kPoison, "behind the range"));
      ASSERT_LE(std::count_if(dst, dst + len, [](unsigned char c) { return c != kPoison; }), 16);
      buffer.poison();
    }
  }
}

// Whether the counter tells evicted from cached memory beyond doubt, without the library: by ticks
// of a line's way to memory and back. Others than x86's are not asked.
bool counter_tells_by_far() {
#if defined(__x86_64__)
  constexpr size_t kSamples = 101;
  alignas(128) static volatile uint64_t line[16];
  const auto ticks = [] {
    __builtin_ia32_mfence();
    const uint64_t start = __builtin_ia32_rdtsc();
    __builtin_ia32_lfence();
    line[0] = line[0] + 1;
    __builtin_ia32_mfence();
    return __builtin_ia32_rdtsc() - start;
  };
  std::vector<uint64_t> hits, misses;
  for (size_t i = 0; i < kSamples; ++i) {
    ticks();
    hits.push_back(ticks());
    __builtin_ia32_clflush(const_cast<const uint64_t *>(&line[0]));
    misses.push_back(ticks());
  }
  const auto median = [](std::vector<uint64_t> &all) {
    std::nth_element(all.begin(), all.begin() + kSamples / 2, all.end());
    return all[kSamples / 2];
  };
  const uint64_t hit = median(hits);
  return hit != 0 && hit < 1000 && median(misses) > 6 * hit;
#else
  return false;
#endif
}

// Memory that was evicted line by line misses, memory just written does not: if the probe says it
// can tell them apart here, it must.
TEST(Probe, tells_evicted_memory_from_cached_memory) {
  const bool has_counter = has_fine_counter(detect_cpu().features);
  const uint64_t threshold = probe::calibrated_threshold(has_counter);
  EXPECT_EQ(probe::known_threshold(has_counter), threshold);
  EXPECT_NE(threshold, probe::kUncalibrated);
  if (threshold == probe::kUnusable) {
    if (machine_flags().count("tsc") != 0) {
      ASSERT_FALSE(counter_tells_by_far()) << "and the probe says that nobody can";
    }
    GTEST_SKIP() << "NOT TESTED HERE: the counter tells nothing on this machine";
  }
  const GuardedBuffer buffer(256 * 1024);
  int evicted_misses = 0, cached_misses = 0;
  constexpr int kRounds = 201;
  for (int i = 0; i < kRounds; ++i) {
    buffer.poison();
    cached_misses += probe::misses_cache(buffer.begin(), buffer.size(), threshold);
    for (unsigned char *at = buffer.begin(); at != buffer.end(); at += kLineBytes) evict(at);
    evicted_misses += probe::misses_cache(buffer.begin(), buffer.size(), threshold);
  }
  // A shared machine disturbs some.
  EXPECT_LT(cached_misses, kRounds / 4);
  EXPECT_GT(evicted_misses, kRounds * 3 / 4);
}

}  // namespace
}  // namespace hpz::test
