// SPDX-License-Identifier: BSD-2-Clause
//
// smaps, as Linux writes it, in any portions.
#include "lib/space/mappings.h"

#include <gtest/gtest.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <string>

#include "tests/support/memory.h"

namespace hpz::test {
namespace {

constexpr char kText[] =
    "555500000000-555500001000 r--p 00000000 fe:01 77                         /usr/bin/vmm\n"
    "Size:                  4 kB\nKernelPageSize:        4 kB\nMMUPageSize:           4 kB\n"
    "VmFlags: rd mr mw me sd \n"
    "7f0000000000-7f0000400000 rw-p 00000000 00:0f 12345                      "
    "/anon_hugepage (deleted)\n"
    "KernelPageSize:     2048 kB\nVmFlags: rd wr mr mw me de ht sd \n"
    "7f0000400000-7f0000800000 rw-s 00001000 00:01 99                         "
    "/memfd:guest memory (deleted)\n"
    "KernelPageSize:        4 kB\nVmFlags: rd wr sh mr mw me ms sd lo \n"
    "7f0001000000-7f0001400000 rw-p 00000000 00:00 0 \n"
    "KernelPageSize:        4 kB\nVmFlags: rd wr mr mw me ac sd um uw \n"
    "7f0002000000-7f0002400000 rw-p 00000000 00:00 0                          [anon:heap of f00]\n"
    "KernelPageSize:        4 kB\nVmFlags: rd wr mr mw me ac sd \n"
    "7f0003000000-7f0003400000 rw-p 00000000 00:0f 5                          /data/file\n"
    "KernelPageSize:        4 kB\n"
    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n"
    "VmFlags: ex \n";

Array<Mapping> parse(const std::string &text, size_t portion, uintptr_t lo, uintptr_t hi) {
  Array<Mapping> out;
  SmapsParser parser(lo, hi, out);
  for (size_t at = 0; at < text.size(); at += portion) {
    parser.feed(text.data() + at, std::min(portion, text.size() - at));
  }
  EXPECT_FALSE(parser.has_failed());
  return out;
}

TEST(Smaps, kinds_of_mappings) {
  for (const size_t portion : {size_t{1}, size_t{7}, size_t{100}, sizeof kText}) {
    const Array<Mapping> all = parse(kText, portion, 0, UINTPTR_MAX);
    ASSERT_EQ(all.size(), 7u);
    EXPECT_FALSE(all[0].is_writable);
    EXPECT_FALSE(all[0].is_anonymous);
    EXPECT_TRUE(all[1].is_hugetlb);
    EXPECT_FALSE(all[1].is_anonymous) << "not before its device is looked at";
    EXPECT_TRUE(all[1].may_be_kernels_huge);
    EXPECT_EQ(all[1].device, 0x0fu);
    EXPECT_EQ(all[1].page_bytes, 2048u * 1024);
    EXPECT_TRUE(all[2].is_shared);
    EXPECT_FALSE(all[2].is_anonymous);
    EXPECT_TRUE(all[2].is_locked);
    EXPECT_EQ(all[2].file_offset, 0x1000u);
    EXPECT_TRUE(all[3].has_userfaultfd);
    EXPECT_TRUE(all[4].is_anonymous);
    EXPECT_TRUE(all[4].has_flags);
    EXPECT_FALSE(all[4].has_userfaultfd);
    EXPECT_FALSE(all[5].is_anonymous) << "a private file's absent page is the file's";
    EXPECT_FALSE(all[5].has_flags) << "nothing said, nothing known";
    EXPECT_EQ(all[6].begin, 0xffffffffff600000u);
  }
}

TEST(Smaps, only_what_is_asked_for) {
  const Array<Mapping> some = parse(kText, 64, 0x7f00003fffff, 0x7f0000400001);
  ASSERT_EQ(some.size(), 2u);
  EXPECT_EQ(some[0].begin, 0x7f0000000000u);
  EXPECT_EQ(some[1].begin, 0x7f0000400000u);
  EXPECT_TRUE(parse(kText, 64, 0x7f0000400000, 0x7f0000400000).empty());
}

// A file of any hugetlbfs can be called so, once it has no path to the root of the process.
TEST(Smaps, the_kernels_own_huge_pages_are_told_by_their_device) {
  for (const uint64_t device :
       {uint64_t{0}, uint64_t{0x0e}, uint64_t{0x0f}, uint64_t{0x0f} << 32}) {
    Array<Mapping> all = parse(kText, 64, 0, UINTPTR_MAX);
    for (Mapping &mapping : all) judge_huge_mapping(mapping, device);
    EXPECT_EQ(all[1].is_anonymous, device == 0x0f) << device;
    EXPECT_FALSE(all[2].is_anonymous) << "of another name";
    EXPECT_TRUE(all[3].is_anonymous) << "not of that name, and as it was";
  }
  const Array<Mapping> shared =
      parse("1000-2000 rw-s 00000000 00:0f 5 /anon_hugepage (deleted)\n", 100, 0, UINTPTR_MAX);
  ASSERT_EQ(shared.size(), 1u);
  EXPECT_FALSE(shared[0].may_be_kernels_huge);
}

// FUSE and others may number a file 0.
TEST(Smaps, file_number_0_of_a_device_is_a_file) {
  const Array<Mapping> all = parse(
      "1000-2000 rw-p 00000000 00:2a 0   /data/file\n"
      "2000-3000 rw-p 00000000 fe:00 0   /data/other\n"
      "3000-4000 rw-p 00000000 00:00 0 \n",
      100, 0, UINTPTR_MAX);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_FALSE(all[0].is_anonymous);
  EXPECT_EQ(all[0].device, 0x2au);
  EXPECT_FALSE(all[1].is_anonymous);
  EXPECT_EQ(all[1].device, uint64_t{0xfe} << 32);
  EXPECT_TRUE(all[2].is_anonymous);
}

TEST(Smaps, long_paths_and_garbage) {
  const std::string path(5000, 'x');
  const Array<Mapping> one = parse("1000-2000 rw-p 00000000 fe:01 7   /" + path +
                                       "\nVmFlags: rd wr \n3000-4000 rw-p 00000000 00:00 0 \n",
                                   100, 0, UINTPTR_MAX);
  ASSERT_EQ(one.size(), 2u);
  EXPECT_FALSE(one[0].is_anonymous);
  for (const char *const bad :
       {"hello\n", "1000\n", "1000-\n", "1000-2000\n", "1000-2000 rw\n", "\n"}) {
    Array<Mapping> out;
    SmapsParser parser(0, UINTPTR_MAX, out);
    parser.feed(bad, strlen(bad));
    EXPECT_TRUE(parser.has_failed()) << bad;
  }
}

TEST(Mappings, are_found_by_address) {
  const Array<Mapping> all = parse(kText, 64, 0, UINTPTR_MAX);
  EXPECT_EQ(find_mapping(all, 0x7f0000000000), &all[1]);
  EXPECT_EQ(find_mapping(all, 0x7f00003fffff), &all[1]);
  EXPECT_EQ(find_mapping(all, 0x7f0000800000), nullptr);
  EXPECT_EQ(find_mapping(all, 0), nullptr);
  EXPECT_EQ(find_mapping(all, UINTPTR_MAX), nullptr);
}

TEST(Mappings, of_this_process) {
  constexpr size_t kBytes = 1 << 20;
  void *const map =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(map, MAP_FAILED);
  const auto at = reinterpret_cast<uintptr_t>(map);
  Array<Mapping> found;
  ASSERT_EQ(read_mappings(at, at + kBytes, found), 0);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_LE(found[0].begin, at);
  EXPECT_GE(found[0].end, at + kBytes);
  EXPECT_TRUE(found[0].is_anonymous);
  EXPECT_TRUE(found[0].is_writable);
  EXPECT_GE(found[0].page_bytes, 4096u);
  uint64_t largest = 0;
  const bool is_answered = query_page_bytes(at, at + kBytes, largest);
  EXPECT_EQ(is_answered, can_query_mappings());
  if (is_answered) {
    EXPECT_EQ(largest, found[0].page_bytes) << "both answers are the kernel's";
  }
  munmap(map, kBytes);
}

}  // namespace
}  // namespace hpz::test
