// SPDX-License-Identifier: BSD-2-Clause
//
// What others clear with: the rows that are there clear, what is missing is named with a remedy,
// samples of another process are read as they were written.
#include "bench/peers.h"

#include <gmock/gmock.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/tuned_memset.h"

namespace hpz::bench {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Peers, ClearWhatTheyAreGiven) {
  const Peers peers = make_peers();
  for (const std::string &note : peers.notes) EXPECT_THAT(note, ContainsRegex(".+: .+: .+"));
  std::vector<std::string> ids;
  for (const auto &row : peers.rows) {
    SCOPED_TRACE(row->id());
    EXPECT_EQ(row->kind(), RowKind::kBaseline);
    ids.push_back(row->id());
    if (row->id() != "std_fill" && row->id() != "pmem_memset") continue;
    std::vector<char> memory(3 * kMiB + 8192, '\xA5');
    const std::vector<void *> ranges = {memory.data() + 64, memory.data() + 2 * kMiB};
    const Cell cell = {PageKind::k4k, MemoryState::kCold, kMiB};
    ASSERT_TRUE(row->suits(cell) && row->ready(cell));
    row->prepare(ranges, cell.size);
    row->clear(ranges, cell.size);
    const auto zeroes = std::count(memory.begin(), memory.end(), '\0');
    EXPECT_EQ(static_cast<uint64_t>(zeroes), 2 * kMiB);
    for (const void *const range : ranges) EXPECT_EQ(*static_cast<const char *>(range), 0);
  }
  EXPECT_THAT(ids, testing::Contains("std_fill"));
}

// Asked of a page, and not of what the rows believe.
bool kernel_has_populate() {
  void *const page =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(page, MAP_FAILED);
  const bool has = madvise(page, 4096, 23) == 0;  // MADV_POPULATE_WRITE
  munmap(page, 4096);
  return has;
}

TEST(Peers, TheKernelClearsPagesOfItsOwn) {
  if (!kernel_has_populate()) GTEST_SKIP() << "NOT TESTED HERE: this kernel does not populate";
  const Peers peers = make_peers();
  std::vector<std::string> ids;
  for (const auto &row : peers.rows) {
    if (!row->id().ends_with("_populate")) continue;
    SCOPED_TRACE(row->id());
    const Cell cell = {PageKind::k4k, MemoryState::kCold, 32 * kMiB};
    ids.push_back(row->id());
    ASSERT_TRUE(row->suits(cell));
    ASSERT_TRUE(row->ready(cell)) << row->trouble();
    std::vector<char> memory(32 * kMiB, '\xA5');
    // More than it has of its own: it begins again.
    for (int i = 0; i < 3; ++i) {
      row->prepare({memory.data()}, cell.size);
      row->clear({memory.data()}, cell.size);
    }
    const auto untouched = std::count(memory.begin(), memory.end(), '\xA5');
    EXPECT_EQ(static_cast<uint64_t>(untouched), 32 * kMiB);
    EXPECT_FALSE(row->suits({PageKind::k4k, MemoryState::kCold, kGiB}));
    EXPECT_FALSE(row->suits({PageKind::k2m, MemoryState::kCold, 4096}));
    EXPECT_FALSE(row->suits({PageKind::k4k, MemoryState::kRecycled, 4096}));
  }
  EXPECT_THAT(ids, testing::UnorderedElementsAre("map_populate", "punch_populate"));
}

TEST(Tunings, AreThoseThatTheLoaderLists) {
  constexpr const char *kOld =
      "glibc.cpu.x86_rep_stosb_threshold: 0x800 (min: 0x1, max: 0xffffffffffffffff)\n"
      "glibc.cpu.x86_non_temporal_threshold: 0xc0000 (min: 0x4040, max: 0xfffffffffffffff)\n";
  Tunings tunings = find_tunings(kOld);
  ASSERT_THAT(tunings.all, SizeIs(1));
  EXPECT_THAT(tunings.all[0].setting, HasSubstr("glibc.cpu.x86_rep_stosb_threshold=0x4"));
  EXPECT_THAT(tunings.notes, ElementsAre(HasSubstr("use glibc 2.40 or newer")));
  tunings = find_tunings(std::string(kOld) +
                         "glibc.cpu.x86_memset_non_temporal_threshold: 0xc0000 (min: 0x4040)\n");
  EXPECT_THAT(tunings.all, SizeIs(2));
  EXPECT_THAT(tunings.notes, IsEmpty());
  for (const char *const none : {"", "glibc.malloc.check: 0 (min: 0, max: 3)\n"}) {
    tunings = find_tunings(none);
    EXPECT_THAT(tunings.all, IsEmpty());
    EXPECT_THAT(tunings.notes, ElementsAre(ContainsRegex(".+: use glibc")));
  }
}

TEST(TunedSamples, AreReadAsTheyWereWritten) {
  Sample sample;
  sample.bytes = 64 * kMiB;
  sample.ns = 1234567.125;
  sample.ranges = 16'384;
  sample.sections = 3;
  sample.clock_ns = 63;
  sample.faults = 1;
  sample.preempted = 2;
  Sample read;
  ASSERT_TRUE(read_sample(write_sample(sample), read));
  EXPECT_EQ(read.bytes, sample.bytes);
  EXPECT_EQ(read.ns, sample.ns);
  EXPECT_EQ(read.ranges, sample.ranges);
  EXPECT_EQ(read.sections, sample.sections);
  EXPECT_EQ(read.clock_ns, sample.clock_ns);
  EXPECT_EQ(read.faults, sample.faults);
  EXPECT_EQ(read.preempted, sample.preempted);
  for (const char *const wrong :
       {"", "ready", "1 2 3", "1 0 1 1 0 0 0", "1 2 3 4 5 6 7 8", "a b"}) {
    EXPECT_FALSE(read_sample(wrong, read)) << wrong;
  }
  EXPECT_EQ(read.bytes, sample.bytes);
}

}  // namespace
}  // namespace hpz::bench
