// SPDX-License-Identifier: BSD-2-Clause
//
// The list of clearers and the record of those that ran.
#include "tests/conformance/clearer.h"

#include <errno.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "tests/support/guarded_buffer.h"
#include "tests/support/machine.h"
#include "tests/support/settings.h"

namespace hpz::test {
namespace {

std::set<std::string> &kernels_that_ran() {
  static std::set<std::string> ids;
  return ids;
}

std::string joined(const std::set<std::string> &words) {
  std::string text;
  for (const std::string &word : words) text += ' ' + word;
  return text.empty() ? " none" : text;
}

std::vector<Clearer> with_kernels(std::vector<Clearer> clearers) {
  for (const hpz_kernel_info &info : kernel_infos()) {
    clearers.push_back({"kernel_" + std::string(info.id), info.id, nullptr, info});
  }
  return clearers;
}

}  // namespace

int Clearer::range(void *dst, size_t len) const {
  if (usable()) forget(dst, len);
  if (kernel.empty()) {
    policy(dst, len);
    return 0;
  }
  const int result = hpz_zero_with(kernel.c_str(), dst, len);
  if (result == 0 && len >= 128) kernels_that_ran().insert(kernel);
  return result;
}

int Clearer::pages(void *const *pages, size_t count, size_t page_bytes) const {
  for (size_t i = 0; i < count && page_bytes != 0 && usable(); ++i) forget(pages[i], page_bytes);
  if (kernel.empty()) {
    hpz_zero_pages(pages, count, page_bytes);
    return 0;
  }
  return hpz_zero_pages_with(kernel.c_str(), pages, count, page_bytes);
}

std::vector<Clearer> range_clearers() {
  return with_kernels(
      {{"auto", "", hpz_zero}, {"cached", "", hpz_zero_cached}, {"stream", "", hpz_zero_stream}});
}

std::vector<Clearer> page_clearers() {
  return with_kernels({{"stream", "", nullptr}});
}

std::string name_of(const testing::TestParamInfo<Clearer> &parameter) {
  return parameter.param.name;
}

void PrintTo(const Clearer &clearer, std::ostream *out) {
  *out << clearer.name;
}

void ClearerTest::SetUp() {
  const Clearer &clearer = GetParam();
  if (clearer.usable()) return;
  unsigned char bytes[256] = {1};
  EXPECT_EQ(clearer.range(bytes, sizeof bytes), -EOPNOTSUPP);
  void *page = bytes;
  EXPECT_EQ(clearer.pages(&page, 1, sizeof bytes), -EOPNOTSUPP);
  EXPECT_EQ(bytes[0], 1) << "written by a kernel that was refused";
  ASSERT_EQ(wrongly_unusable(clearer.info), "");
  GTEST_SKIP() << "NOT TESTED HERE: kernel " << clearer.kernel << ", this CPU lacks "
               << clearer.info.missing;
}

void RanEverything::TearDown() {
  if (!is_set("HPZERO_TEST_WHOLE")) return;
  std::set<std::string> all, missed;
  for (const hpz_kernel_info &info : kernel_infos()) all.insert(info.id);
  const std::set<std::string> must = kernels_that_must_run(), &ran = kernels_that_ran();
  std::set_difference(must.begin(), must.end(), ran.begin(), ran.end(),
                      std::inserter(missed, missed.end()));
  std::set<std::string> not_run;
  std::set_difference(all.begin(), all.end(), ran.begin(), ran.end(),
                      std::inserter(not_run, not_run.end()));
  std::cout << "kernels that ran:" << joined(ran) << "\nkernels that did not:" << joined(not_run)
            << '\n';
  EXPECT_FALSE(must.empty());
  EXPECT_TRUE(missed.empty()) << "kernels that this machine must run did not:" << joined(missed);
}

}  // namespace hpz::test
