// SPDX-License-Identifier: BSD-2-Clause
//
// What the clearing calls answer to input that is odd or wrong.
#include <errno.h>
#include <hpzero/hpzero.h>
#include <string.h>

#include "tests/support/guarded_buffer.h"
#include "tests/support/machine.h"

namespace hpz::test {
namespace {

void *const kTop = reinterpret_cast<void *>(UINTPTR_MAX);

TEST(Calls, field_C7_length_zero_succeeds_for_any_pointer) {
  const GuardedBuffer buffer(4096);
  for (void *const at :
       {static_cast<void *>(nullptr), kTop, static_cast<void *>(buffer.end()),
        static_cast<void *>(buffer.begin()), reinterpret_cast<void *>(UINTPTR_MAX - 4095)}) {
    hpz_zero(at, 0);
    hpz_zero_cached(at, 0);
    hpz_zero_stream(at, 0);
    hpz_zero_pages(&at, 1, 0);
    for (const hpz_kernel_info &info : kernel_infos()) {
      if (info.missing != nullptr) continue;
      EXPECT_EQ(hpz_zero_with(info.id, at, 0), 0) << info.id;
      EXPECT_EQ(hpz_zero_pages_with(info.id, &at, 1, 0), 0) << info.id;
    }
    EXPECT_EQ(hpz_is_zero(at, 0), 1);
  }
  hpz_zero_pages(nullptr, 0, 4096);
  EXPECT_EQ(hpz_zero_pages_with("memset", nullptr, 0, 4096), 0);
  EXPECT_TRUE(buffer.only_cleared(buffer.begin(), 0));
}

TEST(Calls, wrapping_ranges_are_EINVAL_and_nothing_is_written) {
  const GuardedBuffer buffer(3 * 4096);
  unsigned char *const at = buffer.begin() + 4096;
  const size_t to_the_top = UINTPTR_MAX - reinterpret_cast<uintptr_t>(at) + 1;
  for (const hpz_kernel_info &info : kernel_infos()) {
    if (info.missing != nullptr) continue;
    SCOPED_TRACE(info.id);
    // From the first length that wraps to the last one.
    for (const size_t len : {to_the_top + 1, to_the_top + 64, SIZE_MAX - 63, SIZE_MAX}) {
      EXPECT_EQ(hpz_zero_with(info.id, at, len), -EINVAL);
    }
    EXPECT_EQ(hpz_zero_with(info.id, kTop, 2), -EINVAL);
    EXPECT_EQ(hpz_zero_with(info.id, kTop, SIZE_MAX), -EINVAL);
    EXPECT_EQ(hpz_zero_with(info.id, reinterpret_cast<void *>(2), SIZE_MAX), -EINVAL);
    // One page among good ones: none of them is touched, wherever it stands.
    for (size_t bad = 0; bad < 3; ++bad) {
      void *pages[3] = {buffer.begin(), at, at + 4096};
      pages[bad] = reinterpret_cast<void *>(UINTPTR_MAX - 100);
      EXPECT_EQ(hpz_zero_pages_with(info.id, pages, 3, 4096), -EINVAL);
    }
  }
  EXPECT_TRUE(buffer.only_cleared(buffer.begin(), 0));
}

TEST(Calls, unknown_kernels_are_ENOENT_and_nothing_is_written) {
  const GuardedBuffer buffer(4096);
  void *page = buffer.begin();
  const std::string endless(100000, 'x');
  for (const char *const id : {static_cast<const char *>(nullptr), "", "memse", "memsets", "MEMSET",
                               " memset", "memset ", "auto", "avx512_nt,memset", endless.c_str()}) {
    EXPECT_EQ(hpz_zero_with(id, buffer.begin(), 4096), -ENOENT);
    EXPECT_EQ(hpz_zero_with(id, kTop, SIZE_MAX), -ENOENT);
    EXPECT_EQ(hpz_zero_pages_with(id, &page, 1, 4096), -ENOENT);
  }
  EXPECT_TRUE(buffer.only_cleared(buffer.begin(), 0));
}

TEST(Calls, kernels_of_another_cpu_are_EOPNOTSUPP_and_nothing_is_written) {
  const GuardedBuffer buffer(4096);
  void *page = buffer.begin();
  // Every feature taken away, as far as the library believes it; the baseline's kernels stay.
  hpz_plan_info plan = HPZ_PLAN_INFO_INIT;
  ASSERT_EQ(hpz_plan_info_get(HPZ_POLICY_AUTO, &plan), 0);
  ASSERT_EQ(setenv("HPZ_CPU_DISABLE", plan.features, 1), 0);
  ASSERT_EQ(hpz_init(nullptr), 0);
  size_t refused = 0, ran = 0;
  for (const hpz_kernel_info &info : kernel_infos()) {
    SCOPED_TRACE(info.id);
    if (info.missing == nullptr) {
      EXPECT_EQ(hpz_zero_with(info.id, buffer.begin(), 4096), 0);
      EXPECT_TRUE(buffer.only_cleared(buffer.begin(), 4096));
      buffer.poison();
      ++ran;
      continue;
    }
    EXPECT_EQ(hpz_zero_with(info.id, buffer.begin(), 4096), -EOPNOTSUPP);
    EXPECT_EQ(hpz_zero_with(info.id, nullptr, 0), -EOPNOTSUPP);
    EXPECT_EQ(hpz_zero_with(info.id, kTop, SIZE_MAX), -EOPNOTSUPP);
    EXPECT_EQ(hpz_zero_pages_with(info.id, &page, 1, 4096), -EOPNOTSUPP);
    ++refused;
  }
  EXPECT_EQ(ran, baseline_kernels());
  EXPECT_GE(refused, 1u);
  EXPECT_TRUE(buffer.only_cleared(buffer.begin(), 0));
  // The policies do without them.
  hpz_zero_stream(buffer.begin(), 4096);
  EXPECT_TRUE(buffer.only_cleared(buffer.begin(), 4096));
  ASSERT_EQ(unsetenv("HPZ_CPU_DISABLE"), 0);
  ASSERT_EQ(hpz_init(nullptr), 0);
  for (const std::string &id : kernels_that_must_run()) {
    EXPECT_EQ(hpz_zero_with(id.c_str(), buffer.begin(), 4096), 0) << id;
  }
}

// A fault is a signal, as with memset: no result could say it.
TEST(CallsDeathTest, faults_are_signals) {
  const GuardedBuffer buffer(4096);
  unsigned char *const at = buffer.end() - 2048;
  EXPECT_DEATH(hpz_zero(at, 4096), "");
  EXPECT_DEATH(hpz_zero_with("memset", at, 4096), "");
  EXPECT_DEATH(hpz_zero(nullptr, 1), "");
}

}  // namespace
}  // namespace hpz::test
