// SPDX-License-Identifier: BSD-2-Clause
//
// The verb populate: errors where a touch would get a signal, and exact bytes. Shortages of huge
// pages by cgroup, by mount, on a node, and poison are tried in the guest (tests/guest), of the
// machine's pool in huge_pool_test.cpp.
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/space.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/support/workers.h"

namespace hpz::test {
namespace {

constexpr size_t kMiB = 1 << 20;

class PopulateVerb : public ByWorkers {};
HPZERO_BY_WORKERS(PopulateVerb);

TEST_P(PopulateVerb, makes_resident_and_keeps_content) {
  const Memory memory(24 * kMiB);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  memory.begin()[5 * kMiB] = 42;
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  ASSERT_EQ(hpz_space_populate(space.get(), team(), nullptr, 0, nullptr, &report), 0);
  EXPECT_EQ(report.populated_bytes, memory.bytes());
  EXPECT_EQ(report.cleared_bytes, 0u) << "the kernel clears";
  EXPECT_EQ(memory.resident_bytes(), memory.bytes());
  EXPECT_EQ(memory.begin()[5 * kMiB], 42);

  const Memory partly(24 * kMiB);
  madvise(partly.begin(), partly.bytes(), MADV_NOHUGEPAGE);
  const SpacePointer other = make_space(partly.begin(), partly.bytes());
  const hpz_extent extents[] = {{1, 1}, {10 * kMiB + page - 1, 2}};
  ASSERT_EQ(hpz_space_populate(other.get(), team(), extents, 2, nullptr, &report), 0);
  EXPECT_EQ(report.done_bytes, 3u);
  EXPECT_EQ(partly.resident_bytes(), 3 * page) << "whole pages, and no others";
}

// By plain stores of this function alone: a sanitizer's would fault in its shadow memory, 1 MiB of
// it for these 8. (clang 14's AddressSanitizer heeds the first attribute alone, MemorySanitizer the
// second.)
#ifdef __clang__
__attribute__((noinline, no_sanitize("address", "thread"), disable_sanitizer_instrumentation))
#endif
void touch(unsigned char *at, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 4096) *static_cast<volatile unsigned char *>(at + i) = 1;
}

// Row D10: each page is faulted in once.
TEST_P(PopulateVerb, field_D10_no_fault_is_left) {
  const Memory memory(8 * kMiB);
  madvise(memory.begin(), memory.bytes(), MADV_NOHUGEPAGE);  // huge ones would be 4 faults
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  ASSERT_EQ(hpz_space_populate(space.get(), team(), nullptr, 0, nullptr, nullptr), 0);
  const auto faults = [] {
    rusage usage;
    getrusage(RUSAGE_THREAD, &usage);  // workers that go to sleep have faults of their own
    return usage.ru_minflt;
  };
  const long before = faults();
  touch(memory.begin(), memory.bytes());
  EXPECT_LE(faults() - before, 8) << "of 2048 pages";
}

TEST_P(PopulateVerb, hole) {
  const Memory memory(16 * kMiB);
  const size_t hole = 9 * kMiB + 4 * 4096;
  ASSERT_EQ(munmap(memory.begin() + hole, kMiB), 0);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.threads = 1;  // in order: then all before the hole is done
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  EXPECT_EQ(hpz_space_populate(space.get(), team(), nullptr, 0, &options, &report), -EFAULT);
  EXPECT_EQ(report.error, -EFAULT);
  EXPECT_EQ(report.first_bad_offset, hole);
  EXPECT_EQ(report.done_bytes, hole);
  EXPECT_EQ(report.populated_bytes, hole);
}

// What the caller says of the page size steers the chunks. It does not make bytes out of errors, or
// pages out of what is smaller.
TEST_P(PopulateVerb, hole_in_pages_that_are_said_to_be_larger) {
  for (const size_t page_bytes : {2 * kMiB, size_t{1} << 30}) {
    const Memory memory(16 * kMiB);
    madvise(memory.begin(), memory.bytes(), MADV_NOHUGEPAGE);
    const size_t hole = 5 * kMiB + 4096;
    ASSERT_EQ(munmap(memory.begin() + hole, 4096), 0);
    const hpz_range range = {memory.begin(), memory.bytes()};
    hpz_space_options space_options = HPZ_SPACE_OPTIONS_INIT;
    space_options.page_bytes = page_bytes;
    hpz_space *handle = nullptr;
    ASSERT_EQ(hpz_space_direct(&range, 1, &space_options, &handle), 0);
    const SpacePointer space(handle, hpz_space_destroy);
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.threads = 1;  // in order
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    EXPECT_EQ(hpz_space_populate(space.get(), team(), nullptr, 0, &options, &report), -EFAULT);
    EXPECT_EQ(report.first_bad_offset, hole);
    EXPECT_EQ(report.done_bytes, hole);
  }
}

TEST_P(PopulateVerb, read_only) {
  const Memory memory(8 * kMiB);
  ASSERT_EQ(mprotect(memory.begin() + 4 * kMiB, kMiB, PROT_READ), 0);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.threads = 1;
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  EXPECT_EQ(hpz_space_populate(space.get(), team(), nullptr, 0, &options, &report), -EACCES);
  EXPECT_EQ(report.first_bad_offset, 4 * kMiB);
  EXPECT_EQ(report.done_bytes, 4 * kMiB);
  ASSERT_EQ(mprotect(memory.begin() + 4 * kMiB, kMiB, PROT_NONE), 0);
  EXPECT_EQ(hpz_space_populate(space.get(), team(), nullptr, 0, &options, &report), -EACCES);
}

TEST_P(PopulateVerb, file_shorter_than_its_mapping) {
  const int fd = memfd_create("short", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, 4 * kMiB + 100), 0);
  const Memory memory(fd, 8 * kMiB, MAP_SHARED);
  close(fd);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.threads = 1;
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  EXPECT_EQ(hpz_space_populate(space.get(), team(), nullptr, 0, &options, &report), -EFAULT);
  EXPECT_EQ(report.first_bad_offset, 4 * kMiB + 4096);
  EXPECT_EQ(report.done_bytes, 4 * kMiB + 4096) << "the last page is the file's";
}

TEST_P(PopulateVerb, node_that_is_not_there) {
  const Memory memory(4 * kMiB);
  const SpacePointer space = make_space(memory.begin(), memory.bytes());
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.node = 999;
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  const int result = hpz_space_populate(space.get(), team(), nullptr, 0, &options, &report);
  // Emulators and sandboxes refuse the question for the nodes; then it is best effort.
  unsigned long nodes[16] = {};
  if (syscall(SYS_get_mempolicy, nullptr, nodes, 8 * sizeof nodes, nullptr, MPOL_F_MEMS_ALLOWED) ==
      0) {
    EXPECT_EQ(result, -EINVAL);
  } else {
    EXPECT_EQ(result, 0);
    EXPECT_NE(report.flags & HPZ_JOB_NO_PLACEMENT, 0u);
  }
  options.node = 0;
  EXPECT_EQ(hpz_space_populate(space.get(), team(), nullptr, 0, &options, &report), 0);
}

}  // namespace
}  // namespace hpz::test
