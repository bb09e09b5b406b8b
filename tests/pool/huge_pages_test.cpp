// SPDX-License-Identifier: BSD-2-Clause
//
// What the kernel's pools of huge pages are said to have, on machines that need not exist.
#include "lib/pool/huge_pages.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/scratch_folder.h"

namespace hpz::test {
namespace {

constexpr uint64_t k2M = uint64_t{2} << 20, k1G = uint64_t{1} << 30;

void add_pool(const ScratchFolder &root, const std::string &kib, const char *free,
              const char *reserved) {
  const std::string folder = "sys/kernel/mm/hugepages/hugepages-" + kib + "kB/";
  root.write(folder + "free_hugepages", free);
  root.write(folder + "resv_hugepages", reserved);
}

// Row G8: each size has its own numbers, and none is the default one.
TEST(HugePageCounts, field_G8_by_size) {
  const ScratchFolder root;
  add_pool(root, "2048", "100\n", "30\n");
  add_pool(root, "1048576", "7\n", "0\n");
  const char *const at = root.path().c_str();
  EXPECT_EQ(free_huge_pages(at, k2M, 0), 70) << "less those that somebody has reserved";
  EXPECT_EQ(free_huge_pages(at, k1G, 0), 7);
  EXPECT_LT(free_huge_pages(at, uint64_t{32} << 20, 0), 0);
}

TEST(HugePageCounts, by_node) {
  const ScratchFolder root;
  add_pool(root, "2048", "100\n", "0\n");
  root.write("sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "90\n");
  root.write("sys/devices/system/node/node3/hugepages/hugepages-2048kB/free_hugepages", "10\n");
  const char *const at = root.path().c_str();
  EXPECT_EQ(free_huge_pages(at, k2M, 0), 90);
  EXPECT_EQ(free_huge_pages(at, k2M, 3), 10);
  EXPECT_EQ(free_huge_pages(at, k2M, 1), 100) << "nobody tells: what the machine has";
}

TEST(HugePageCounts, never_below_zero) {
  const ScratchFolder root;
  add_pool(root, "2048", "3\n", "5\n");
  EXPECT_EQ(free_huge_pages(root.path().c_str(), k2M, 0), 0);
  root.write("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "");
  EXPECT_LT(free_huge_pages(root.path().c_str(), k2M, 0), 0) << "empty";
}

TEST(HugePageCounts, transparent) {
  const ScratchFolder root;
  EXPECT_EQ(transparent_page_bytes(root.path().c_str()), 0u) << "nobody tells";
  root.write("sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n");
  EXPECT_EQ(transparent_page_bytes(root.path().c_str()), k2M);
}

}  // namespace
}  // namespace hpz::test
