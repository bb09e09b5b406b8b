// SPDX-License-Identifier: BSD-2-Clause
//
// Sets of CPUs, their lists, and the affinity mask of kernels whose masks are larger than
// cpu_set_t.
#include "lib/team/cpu_set.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <string.h>

#include "tests/support/shortage.h"
#include "tests/team/invented_machine.h"

namespace {

// A kernel built for many CPUs: 0 is this machine's.
size_t invented_mask_bytes = 0;
int invented_error = 0;

}  // namespace

extern "C" {
int __real_sched_getaffinity(pid_t thread, size_t bytes, cpu_set_t *mask);
int __wrap_sched_getaffinity(pid_t thread, size_t bytes, cpu_set_t *mask);
int __wrap_sched_getaffinity(pid_t thread, size_t bytes, cpu_set_t *mask) {
  if (invented_mask_bytes == 0 && invented_error == 0) {
    return __real_sched_getaffinity(thread, bytes, mask);
  }
  if (invented_error != 0 || bytes < invented_mask_bytes) {
    errno = invented_error != 0 ? invented_error : EINVAL;
    return -1;
  }
  // CPU 3 and the last one.
  memset(mask, 0, bytes);
  auto *const octets = reinterpret_cast<unsigned char *>(mask);
  octets[0] = 1 << 3;
  octets[invented_mask_bytes - 1] = 1 << 7;
  return 0;
}
}

namespace hpz::test {
namespace {

using testing::ElementsAre;

TEST(CpuLists, good_ones) {
  const struct {
    const char *list;
    std::vector<uint32_t> cpus;
  } rows[] = {
      {"0", {0}},
      {"0-3,8", {0, 1, 2, 3, 8}},
      {"8,0-3", {0, 1, 2, 3, 8}},
      {"5-5", {5}},
      {"2,2,1-3", {1, 2, 3}},
      {"63,64,127,128", {63, 64, 127, 128}},
      {"000000000000000007", {7}},
      {" 1 - 2 , 4 \n", {1, 2, 4}},
      {"1\n", {1}},
      {"1048575", {1048575}},
      {"", {}},
      {"\n", {}},
      {" ", {}},
  };
  for (const auto &row : rows) {
    CpuSet set = cpus("900");
    EXPECT_EQ(parse_cpu_list(row.list, set), 0) << row.list;
    EXPECT_EQ(members(set), row.cpus) << row.list;
    EXPECT_EQ(set.count(), row.cpus.size()) << row.list;
  }
}

TEST(CpuLists, bad_ones_change_nothing) {
  for (const char *const list : {"x",
                                 "-1",
                                 "1-",
                                 "1-x",
                                 "3-1",
                                 ",",
                                 "1,",
                                 ",1",
                                 "1,,2",
                                 "1 2",
                                 "0x1",
                                 "1.5",
                                 "+1",
                                 "1;2",
                                 "1-2-3",
                                 "1:2",
                                 "0-7:2",
                                 "1\n2",
                                 "1\n\n",
                                 "\n1",
                                 "1048576",
                                 "4294967296",
                                 "18446744073709551616",
                                 "99999999999999999999999",
                                 "0-1048576",
                                 "all",
                                 "1\r\n",
                                 "--1"}) {
    CpuSet set = cpus("900");
    EXPECT_EQ(parse_cpu_list(list, set), -EINVAL) << list;
    EXPECT_THAT(members(set), ElementsAre(900)) << list;
  }
}

TEST(CpuLists, no_memory_changes_nothing) {
  CpuSet set = cpus("900");
  fail_allocation_after(0);
  EXPECT_EQ(parse_cpu_list("0-3", set), -ENOMEM);
  EXPECT_TRUE(allocation_failed());
  EXPECT_THAT(members(set), ElementsAre(900));
}

TEST(CpuSets, hold_2048_cpus) {
  CpuSet set = cpus("0-2047");
  EXPECT_EQ(set.count(), 2048u);
  EXPECT_EQ(set.bytes(), 2048u / 8);
  EXPECT_TRUE(set.contains(2047));
  EXPECT_FALSE(set.contains(2048));
  EXPECT_FALSE(set.contains(UINT32_MAX));
  set.keep_only(cpus("1,1024-1026"));
  EXPECT_THAT(members(set), ElementsAre(1, 1024, 1025, 1026));
  set.keep_only(cpus("1026,4000"));
  EXPECT_THAT(members(set), ElementsAre(1026));
  EXPECT_FALSE(set.empty());
  set.keep_only(CpuSet());
  EXPECT_TRUE(set.empty());
  EXPECT_TRUE(CpuSet().empty());
  EXPECT_EQ(CpuSet().end(), 0u);
}

TEST(Affinity, is_the_threads_own) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  CpuSet set;
  ASSERT_EQ(read_affinity(set), 0);
  EXPECT_EQ(set.count(), static_cast<uint32_t>(CPU_COUNT(&mask)));
  for (const uint32_t cpu : members(set)) EXPECT_TRUE(CPU_ISSET(cpu, &mask)) << cpu;
}

TEST(Affinity, field_F3_of_kernels_for_many_cpus) {
  for (const size_t bytes : {size_t{8}, size_t{128}, size_t{136}, size_t{512}, size_t{1024}}) {
    invented_mask_bytes = bytes;
    CpuSet set;
    EXPECT_EQ(read_affinity(set), 0) << bytes;
    EXPECT_THAT(members(set), ElementsAre(3, 8 * bytes - 1)) << bytes;
  }
  // Growing ends.
  invented_mask_bytes = size_t{1} << 30;
  CpuSet set = cpus("900");
  EXPECT_EQ(read_affinity(set), -EINVAL);
  EXPECT_THAT(members(set), ElementsAre(900));
  invented_mask_bytes = 0;
}

TEST(Affinity, refused) {
  CpuSet set = cpus("900");
  invented_error = EPERM;
  EXPECT_EQ(read_affinity(set), -EPERM);
  invented_error = 0;
  EXPECT_THAT(members(set), ElementsAre(900));
}

}  // namespace
}  // namespace hpz::test
