// SPDX-License-Identifier: BSD-2-Clause
//
// Everything that can fail, fails (counting_caller.h), in pools of huge pages: of the kernel's pool
// and of a mount. None of them is missing afterwards.
#include <errno.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "tests/pool/counting_caller.h"
#include "tests/pool/pools.h"
#include "tests/support/huge_pool.h"
#include "tests/support/sandbox.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/watchdog.h"

namespace hpz::test {
namespace {

// What a life has at once, those whose giving back has failed among them, and the poisoned one.
constexpr long kEnough = 12;

hpz_pool_options huge_kind(uint32_t flags, const char *mount) {
  hpz_pool_options kind = HPZ_POOL_OPTIONS_INIT;
  kind.page_bytes = kHugeBytes;
  kind.flags = flags | HPZ_POOL_NO_FILLING;
  kind.mount = mount;
  return kind;
}

void fail_each_call_of(const hpz_pool_options &kind) {
  const long free = HugePool::free_pages();
  fail_each_call(kind, [free] { ASSERT_EQ(HugePool::free_pages(), free); });
}

class HugeFailures : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Pool, HugeFailures, testing::Values(0u, HPZ_POOL_EXPORT));

TEST_P(HugeFailures, of_the_kernels_pool) {
  const Watchdog watchdog(150);
  HugePool machine;
  if (const std::string why = machine.take(kEnough); !why.empty()) GTEST_SKIP() << why;
  fail_each_call_of(huge_kind(GetParam(), nullptr));
}

TEST_P(HugeFailures, of_a_mount) {
  HPZERO_NEEDS_NAMESPACES();
  if (geteuid() != 0) GTEST_SKIP() << "NOT TESTED HERE: only root may mount hugetlbfs";
  const Watchdog watchdog(300);
  HugePool machine;
  if (const std::string why = machine.take(kEnough); !why.empty()) GTEST_SKIP() << why;
  const ScratchFolder folder;
  for (const bool has_tmpfile : {true, false}) {
    SCOPED_TRACE(has_tmpfile ? "O_TMPFILE" : "a name for the moment");
    run_in_child([&] {
      enter_own_mounts();
      ASSERT_EQ(mount("none", folder.path().c_str(), "hugetlbfs", 0, "pagesize=2M"), 0)
          << std::strerror(errno);
      failing_calls.is_without_tmpfile = !has_tmpfile;
      fail_each_call_of(huge_kind(GetParam(), folder.path().c_str()));
      EXPECT_EQ(umount2(folder.path().c_str(), 0), 0) << "somebody has something open there";
    });
  }
}

}  // namespace
}  // namespace hpz::test
