// SPDX-License-Identifier: BSD-2-Clause
//
// What descriptors are found to be: DAX devices of an invented /sys, and real ones.
#include "lib/space/file_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "tests/support/scratch_folder.h"

namespace hpz {
namespace {

// /dev/null in the part of a DAX device: character device 1:3.
class Device : public testing::Test {
 protected:
  ~Device() override { close(fd_); }
  void write(const std::string &name, const std::string &content) {
    root_.write("sys/dev/char/1:3/" + name, content);
  }
  int inspect() { return inspect_file(fd_, root_.path().c_str(), facts_); }

  test::ScratchFolder root_;
  int fd_ = open("/dev/null", O_RDWR | O_CLOEXEC);
  FileFacts facts_;
};

TEST_F(Device, field_E14_alignment_of_the_device) {
  write("size", "4294967296\n");
  write("align", "2097152\n");
  ASSERT_EQ(inspect(), 0);
  EXPECT_EQ(facts_.bytes, uint64_t{4} << 30);
  EXPECT_EQ(facts_.page_bytes, uint64_t{2} << 20);
  EXPECT_FALSE(facts_.can_shrink);
  EXPECT_FALSE(facts_.takes_writes);
  EXPECT_FALSE(facts_.has_true_holes || facts_.punches_exactly || facts_.zeroes_in_place);
}

// Kernels before 5.10 tell it of the region.
TEST_F(Device, field_E14_alignment_of_the_region) {
  write("size", "8589934592");
  write("dax_region/align", "1073741824\n");
  ASSERT_EQ(inspect(), 0);
  EXPECT_EQ(facts_.page_bytes, uint64_t{1} << 30);
  write("align", "0x200000\n");
  ASSERT_EQ(inspect(), 0);
  EXPECT_EQ(facts_.page_bytes, uint64_t{2} << 20) << "its own comes first";
}

TEST_F(Device, what_is_no_dax_device) {
  EXPECT_EQ(inspect(), -ENODEV) << "nothing in /sys";
  write("size", "4294967296\n");
  EXPECT_EQ(inspect(), -ENODEV) << "no alignment";
  for (const char *bad : {"", "\n", "huge\n", "2097152 bytes\n", "0\n", "3000000\n", "2048\n",
                          "99999999999999999999999\n", "2199023255552\n", "-4096\n"}) {
    write("align", bad);
    EXPECT_EQ(inspect(), -ENODEV) << bad;
  }
  write("align", "2097152\n");
  write("size", "unknown\n");
  EXPECT_EQ(inspect(), -ENODEV);
}

TEST(FileFacts, memfd) {
  const int fd = memfd_create("facts", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, 12345), 0);
  FileFacts facts;
  ASSERT_EQ(inspect_file(fd, "", facts), 0);
  EXPECT_EQ(facts.bytes, 12345u);
  EXPECT_EQ(facts.page_bytes, static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_TRUE(facts.can_shrink && facts.takes_writes);
  EXPECT_TRUE(facts.has_true_holes && facts.punches_exactly);
  EXPECT_FALSE(facts.zeroes_in_place);
  close(fd);
}

TEST(FileFacts, seals) {
  const int fd = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_GE(fd, 0);
  EXPECT_FALSE(is_sealed(fd));
  ASSERT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK), 0);
  EXPECT_FALSE(is_sealed(fd)) << "the size, not the content";
  ASSERT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
  EXPECT_TRUE(is_sealed(fd));
  close(fd);
  EXPECT_FALSE(is_sealed(-1));
}

}  // namespace
}  // namespace hpz
