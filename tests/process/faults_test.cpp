// SPDX-License-Identifier: BSD-2-Clause
//
// A page that nobody has touched is faulted in once: by the store that clears it, never before by a
// load (which would map the shared zero page), the probe of hpz_zero included.
#include <hpzero/hpzero.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <functional>

#include "tests/support/guarded_buffer.h"
#include "tests/support/machine.h"

namespace hpz::test {
namespace {

long faults_so_far() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

long faults_of(size_t len, const std::function<void(void *, size_t)> &clear) {
  void *const map = mmap(nullptr, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(map, MAP_FAILED);
  madvise(map, len, MADV_NOHUGEPAGE);
  const long before = faults_so_far();
  clear(map, len);
  const long faults = faults_so_far() - before;
  munmap(map, len);
  return faults;
}

void expect_one_fault_per_page(const std::function<void(void *, size_t)> &clear) {
  for (const size_t len : Sizes{8192, 65536, 262144, 300 * 4096, 4 << 20, 24 << 20}) {
    faults_of(len, clear);  // whatever is done once is done now
    // Exactly: the probe touches one page, so that a load by it is one fault too many. The least of
    // a few, since the process may fault elsewhere.
    long least = LONG_MAX;
    for (int i = 0; i < 5; ++i) least = std::min(least, faults_of(len, clear));
    EXPECT_EQ(least, static_cast<long>(len / kPageBytes)) << len << " bytes";
  }
}

TEST(Faults, one_per_fresh_page_by_every_policy) {
  ASSERT_EQ(hpz_init(nullptr), 0);
  expect_one_fault_per_page(hpz_zero);
  expect_one_fault_per_page(hpz_zero_cached);
  expect_one_fault_per_page(hpz_zero_stream);
  expect_one_fault_per_page([](void *at, size_t len) { hpz_zero_pages(&at, 1, len); });
}

TEST(Faults, one_per_fresh_page_by_every_kernel) {
  for (const hpz_kernel_info &info : kernel_infos()) {
    if (info.missing != nullptr) continue;
    SCOPED_TRACE(info.id);
    expect_one_fault_per_page(
        [&info](void *at, size_t len) { ASSERT_EQ(hpz_zero_with(info.id, at, len), 0); });
  }
}

}  // namespace
}  // namespace hpz::test
