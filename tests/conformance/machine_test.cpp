// SPDX-License-Identifier: BSD-2-Clause
//
// The library's opinion of this machine against the Linux kernel's, and the oracle against itself.
#include <errno.h>
#include <string.h>

#include "tests/support/guarded_buffer.h"
#include "tests/support/machine.h"

#include <hpzero/hpzero.h>

namespace hpz::test {
namespace {

TEST(Machine, has_every_kernel_that_it_must) {
  std::set<std::string> usable;
  for (const hpz_kernel_info &info : kernel_infos()) {
    if (info.missing == nullptr) {
      usable.insert(info.id);
    } else {
      EXPECT_EQ(wrongly_unusable(info), "") << info.id;
    }
  }
  const std::set<std::string> must = kernels_that_must_run();
  EXPECT_GE(must.size(), baseline_kernels()) << "no kernel is left to be tested";
  for (const std::string &id : must) {
    EXPECT_EQ(usable.count(id), 1U) << id;
    unsigned char bytes[4096];
    memset(bytes, kPoison, sizeof bytes);
    ASSERT_EQ(hpz_zero_with(id.c_str(), bytes, sizeof bytes), 0) << id;
    ASSERT_TRUE(all_are(bytes, bytes + sizeof bytes, 0, id.c_str()));
  }
}

// Usable kernels whose features this machine lacks would be illegal instructions at worst, and an
// accident at best.
TEST(Machine, has_no_feature_that_it_lacks) {
  hpz_plan_info plan = HPZ_PLAN_INFO_INIT;
  ASSERT_EQ(hpz_plan_info_get(HPZ_POLICY_AUTO, &plan), 0);
  for (const std::string &feature : split(plan.features, ',')) {
    for (const std::string &flag : known_flags()) {
      if (feature != flag) continue;
      EXPECT_EQ(machine_flags().count(flag), 1U) << flag;
    }
  }
}

TEST(Oracle, sees_every_single_wrong_byte) {
  const GuardedBuffer buffer(4096);
  unsigned char *const dst = buffer.begin() + 1000;
  const size_t len = 700;
  memset(dst, 0, len);
  ASSERT_TRUE(buffer.only_cleared(dst, len));
  for (unsigned char *at = buffer.begin(); at != buffer.end(); ++at) {
    const unsigned char was = *at;
    for (const unsigned char wrong :
         {static_cast<unsigned char>(was ^ 1), static_cast<unsigned char>(was ^ kPoison)}) {
      *at = wrong;
      ASSERT_FALSE(buffer.only_cleared(dst, len)) << at - buffer.begin();
    }
    *at = was;
  }
  ASSERT_TRUE(buffer.only_cleared(dst, len));
}

TEST(OracleDeathTest, sees_a_write_outside) {
  const GuardedBuffer buffer(4096);
  // GoogleTest's own report of the child needs no line of it.
  EXPECT_DEATH(*const_cast<volatile unsigned char *>(buffer.end()) = 0, "");
  EXPECT_DEATH(*const_cast<volatile unsigned char *>(buffer.begin() - 1) = 0, "");
}

}  // namespace
}  // namespace hpz::test
