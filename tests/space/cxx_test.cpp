// SPDX-License-Identifier: BSD-2-Clause
//
// hpzero.hpp: teams and spaces as C++ objects.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>
#include <hpzero/hpzero.hpp>

#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace hpz::test {
namespace {

TEST(Cxx, teams_and_spaces) {
  const hpzero::team two(2);
  EXPECT_EQ(two.info().threads, 2u);
  std::vector<char> memory(4 << 20, 'x');
  hpzero::space space(memory.data(), memory.size());
  EXPECT_EQ(space.zero({{10, 20}}).done_bytes, 20u);
  EXPECT_EQ(memory[9], 'x');
  EXPECT_EQ(memory[10], 0);
  EXPECT_EQ(memory[30], 'x');
  EXPECT_EQ(space.zero({}).done_bytes, 0u) << "no extents, no bytes";
  EXPECT_EQ(space.release({}, &two).done_bytes, 0u);
  EXPECT_EQ(space.reset_all(&two).done_bytes, memory.size());
  EXPECT_TRUE(hpzero::is_zero(memory.data(), memory.size()));
  EXPECT_EQ(space.populate_all(&two).done_bytes, memory.size());

  hpzero::space moved = std::move(space);
  const uint32_t cancel = 1;
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.cancel = &cancel;
  EXPECT_THROW(moved.zero_all(&two, &options), std::system_error);
  EXPECT_THROW(hpzero::team(1, "no cpus"), std::system_error);
  EXPECT_THROW(hpzero::space(nullptr, 1), std::system_error);
}

TEST(Cxx, spaces_of_files) {
  const int fd = memfd_create("file", MFD_CLOEXEC);
  ASSERT_EQ(pwrite(fd, "content", 7, 0), 7);
  hpzero::space space(fd, 1, 6);
  EXPECT_EQ(space.zero({{0, 2}}).done_bytes, 2u);
  char content[7];
  ASSERT_EQ(pread(fd, content, 7, 0), 7);
  EXPECT_EQ(std::string(content, 7), std::string("c\0\0tent", 7));
  EXPECT_THROW(hpzero::space(fd, 1, 7), std::system_error);
  EXPECT_THROW(hpzero::space(-1, 0, 0), std::system_error);
  close(fd);
}

}  // namespace
}  // namespace hpz::test
