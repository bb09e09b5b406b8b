// SPDX-License-Identifier: BSD-2-Clause
//
// Programs started: what they get, what they say, how they end.
#include "bench/child.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>

#include "bench/cleanup.h"

namespace hpz::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kPatience = 120;

ChildEnd shell(const std::string &script, double seconds = kPatience, std::string_view input = "") {
  ChildRequest request;
  request.arguments = {"sh", "-c", script};
  request.seconds = seconds;
  request.input = input;
  request.has_results = true;
  return run_child(request);
}

TEST(Child, SaysAllOfIt) {
  const std::string input(1 << 20, 'x');
  const ChildEnd end =
      shell("cat; echo trouble >&2; echo figures > /dev/fd/3; exit 5", kPatience, input);
  EXPECT_EQ(end.output, input);
  EXPECT_EQ(end.errors, "trouble\n");
  EXPECT_EQ(end.results, "figures\n");
  EXPECT_EQ(end.code, 5);
  EXPECT_FALSE(end.is_late);
  EXPECT_FALSE(end.is_missing);
}

TEST(Child, IsMissing) {
  ChildRequest request;
  request.arguments = {"/nowhere/at/all"};
  request.seconds = kPatience;
  EXPECT_TRUE(run_child(request).is_missing);
}

TEST(Child, IsEndedWhenItIsLate) {
  const ChildEnd end = shell("exec sleep 1000", 0.1);
  EXPECT_TRUE(end.is_late);
  EXPECT_EQ(end.code, -1);
}

TEST(Child, DoesNotSeeWhatItIsNotToSee) {
  setenv("HPZERO_TEST_SECRET_1", "x", 1);
  ChildRequest request;
  request.arguments = {"env"};
  request.seconds = kPatience;
  request.unset = {"HPZERO_TEST_SECRET_"};
  EXPECT_THAT(run_child(request).output, Not(HasSubstr("HPZERO_TEST_SECRET_1")));
  unsetenv("HPZERO_TEST_SECRET_1");
}

// What is noted for the time when this program ends is not undone by the end of another, however
// early that comes.
TEST(Child, UndoesNothingOfItsParents) {
  char path[] = "/tmp/hpzero_child_XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  close(fd);
  const int note = note_temporary_file(path);
  install_cleanup_handler();
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(shell("exec sleep 1000", -1).is_late);
    ASSERT_EQ(access(path, F_OK), 0) << i;
  }
  put_back(note);
  EXPECT_NE(access(path, F_OK), 0);
}

}  // namespace
}  // namespace hpz::bench
