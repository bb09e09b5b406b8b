// SPDX-License-Identifier: BSD-2-Clause
//
// Everything of the public interface that clears: each kernel of the table, by hpz_zero_with and
// hpz_zero_pages_with, and each policy. The tests run over all of them, so that a new kernel is
// tested with no test edited.
#ifndef HPZERO_TESTS_CONFORMANCE_CLEARER_H
#define HPZERO_TESTS_CONFORMANCE_CLEARER_H

#include <gtest/gtest.h>
#include <hpzero/hpzero.h>

#include <string>
#include <vector>

namespace hpz::test {

struct Clearer {
  std::string name;    // in the test's name
  std::string kernel;  // empty: a policy
  void (*policy)(void *, size_t) = nullptr;
  hpz_kernel_info info = HPZ_KERNEL_INFO_INIT;  // of the kernel

  bool usable() const { return kernel.empty() || info.missing == nullptr; }
  int range(void *dst, size_t len) const;
  int pages(void *const *pages, size_t count, size_t page_bytes) const;
};

std::vector<Clearer> range_clearers();  // kernels and policies
std::vector<Clearer> page_clearers();   // kernels and hpz_zero_pages

std::string name_of(const testing::TestParamInfo<Clearer> &parameter);
void PrintTo(const Clearer &clearer, std::ostream *out);  // for failures

// A test over one clearer. Where the CPU lacks a kernel, the library must refuse it and be right in
// that; the test then says that it was skipped.
class ClearerTest : public testing::TestWithParam<Clearer> {
 protected:
  void SetUp() override;
};

// Fails at the end of a run over the whole file (HPZERO_TEST_WHOLE=1) in which one of the kernels
// that this machine must be able to run did not run.
class RanEverything : public testing::Environment {
 public:
  void TearDown() override;
};

}  // namespace hpz::test

#endif
