// SPDX-License-Identifier: BSD-2-Clause
//
// Files of huge pages: exact bytes of pages in part, whatever the kernel makes of a hole in one,
// and shortages as results.
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/space/file_ways.h"
#include "tests/support/huge_pool.h"
#include "tests/support/poisoned_file.h"

namespace hpz::test {
namespace {

constexpr size_t kHuge = kHugeBytes;

int huge_file() {
  return memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_2MB);
}

class HugeFiles : public ByWay {
 protected:
  hpz_job_options small_chunks() const {
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.chunk_bytes = kHuge;
    return options;
  }
};
HPZERO_BY_WAY(HugeFiles);

// Row E2: its two ranges, and others.
TEST_P(HugeFiles, field_E2_exact_bytes) {
  HugePool pool;
  if (const std::string why = pool.take(8); !why.empty()) GTEST_SKIP() << why;
  const std::vector<std::vector<hpz_extent>> lists = {
      {{4096, 8192}},
      {{kHuge - 4096, 8192}},
      {{0, 8 * kHuge}},
      {{1, 3 * kHuge}, {5 * kHuge - 1, kHuge + 2}},
      {{kHuge, kHuge}, {3 * kHuge, 2 * kHuge}, {7 * kHuge + 4095, 2}}};
  PoisonedFile file(huge_file(), 8 * kHuge);
  const hpz_job_options options = small_chunks();
  for (const auto verb : {hpz_space_zero, hpz_space_reset, hpz_space_release}) {
    for (const std::vector<hpz_extent> &extents : lists) {
      file.fill(0, file.bytes(), 0xA5);
      const SpacePointer space = make_file_space(file.fd(), 0, file.bytes(), way());
      hpz_job_report report = HPZ_JOB_REPORT_INIT;
      ASSERT_EQ(verb(space.get(), team(), extents.data(), extents.size(), &options, &report), 0);
      uint64_t bytes = 0;
      for (const hpz_extent &extent : extents) bytes += extent.len;
      EXPECT_EQ(report.done_bytes, bytes);
      file.clear(extents, 0);
      ASSERT_TRUE(file.is_as_expected());
    }
  }
}

// What has no alignment at all.
TEST_P(HugeFiles, spaces_within_pages) {
  HugePool pool;
  if (const std::string why = pool.take(3); !why.empty()) GTEST_SKIP() << why;
  PoisonedFile file(huge_file(), 3 * kHuge);
  for (const auto verb : {hpz_space_zero, hpz_space_release}) {
    file.fill(0, file.bytes(), 0xA5);
    const SpacePointer space = make_file_space(file.fd(), 12345, kHuge + 54321, way());
    ASSERT_EQ(verb(space.get(), team(), nullptr, 0, nullptr, nullptr), 0);
    file.clear(12345, kHuge + 54321);
    ASSERT_TRUE(file.is_as_expected());
  }
}

TEST_P(HugeFiles, pages_go_back_to_the_pool) {
  HugePool pool;
  if (const std::string why = pool.take_exactly(6); !why.empty()) GTEST_SKIP() << why;
  PoisonedFile file(huge_file(), 6 * kHuge);
  EXPECT_EQ(HugePool::free_pages(), 0);
  const SpacePointer space = make_file_space(file.fd(), 0, file.bytes(), way());
  ASSERT_EQ(hpz_space_zero(space.get(), team(), nullptr, 0, nullptr, nullptr), 0);
  EXPECT_EQ(HugePool::free_pages(), is(HPZ_SPACE_PUNCH) ? 6 : 0);
  ASSERT_EQ(hpz_space_populate(space.get(), team(), nullptr, 0, nullptr, nullptr), 0);
  EXPECT_EQ(HugePool::free_pages(), 0);
  const hpz_extent extent = {5, 4 * kHuge};  // whole pages: 3
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  ASSERT_EQ(hpz_space_release(space.get(), team(), &extent, 1, nullptr, &report), 0);
  EXPECT_EQ(HugePool::free_pages(), 3);
  EXPECT_EQ(report.skipped_bytes, 3 * kHuge);
  file.clear(0, file.bytes());
  EXPECT_TRUE(file.is_as_expected());
}

// Rows D1 and D4, of files: an error and exact bytes, not a signal; nothing is reserved before.
TEST_P(HugeFiles, field_D1_shortage) {
  HugePool pool;
  if (const std::string why = pool.take_exactly(5); !why.empty()) GTEST_SKIP() << why;
  for (const auto verb : {hpz_space_populate, hpz_space_zero, hpz_space_reset}) {
    if (verb != hpz_space_populate && is(HPZ_SPACE_PUNCH)) continue;  // wants no pages
    PoisonedFile file(huge_file(), 0);
    ASSERT_EQ(ftruncate(file.fd(), 8 * kHuge), 0);
    const SpacePointer space = make_file_space(file.fd(), 0, 8 * kHuge, way());
    const hpz_job_options options = small_chunks();
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    EXPECT_EQ(verb(space.get(), team(), nullptr, 0, &options, &report), -ENOMEM);
    EXPECT_EQ(report.done_bytes, 5 * kHuge) << "all that there was, and no more";
    EXPECT_EQ(report.first_bad_offset % kHuge, 0u);
    EXPECT_LT(report.first_bad_offset, 8 * kHuge);
    EXPECT_EQ(HugePool::free_pages(), 0);
  }
}

}  // namespace
}  // namespace hpz::test
