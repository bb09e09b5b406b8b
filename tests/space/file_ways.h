// SPDX-License-Identifier: BSD-2-Clause
//
// The ways in which a space reaches its file, for tests that hold for all of them.
#ifndef HPZERO_TESTS_SPACE_FILE_WAYS_H
#define HPZERO_TESTS_SPACE_FILE_WAYS_H

#include <gtest/gtest.h>
#include <hpzero/space.h>
#include <stdint.h>

#include <ostream>
#include <string>
#include <tuple>

#include "tests/support/workers.h"

namespace hpz::test {

struct FileWay {
  const char *name;
  uint32_t flags;
  uint64_t window_bytes;
};
inline void PrintTo(const FileWay &way, std::ostream *out) {
  *out << way.name;
}
inline constexpr FileWay kFileWays[] = {
    {"lasting", 0, 0},
    {"windows_of_64_KiB", 0, 64 * 1024},
    {"windows_of_2_MiB", 0, 2 << 20},
    {"punch", HPZ_SPACE_PUNCH, 0},
    {"punch_by_windows", HPZ_SPACE_PUNCH, 64 * 1024},
    {"allocate", HPZ_SPACE_ALLOCATE, 0},
    {"allocate_by_windows", HPZ_SPACE_ALLOCATE, 2 << 20},
};

inline int create_file_space(int fd, uint64_t offset, uint64_t len, const FileWay &way,
                             hpz_space **out) {
  hpz_space_options options = HPZ_SPACE_OPTIONS_INIT;
  options.flags = way.flags;
  options.window_bytes = way.window_bytes;
  return hpz_space_file(fd, offset, len, &options, out);
}

inline SpacePointer make_file_space(int fd, uint64_t offset, uint64_t len, const FileWay &way) {
  hpz_space *space = nullptr;
  EXPECT_EQ(create_file_space(fd, offset, len, way, &space), 0);
  return {space, hpz_space_destroy};
}

// Parameters: the way, and the threads of the team, 0 for none.
class ByWay : public testing::TestWithParam<std::tuple<FileWay, uint32_t>> {
 protected:
  ByWay() : team_(make_team(std::get<1>(GetParam()))) {}
  hpz_team *team() const { return team_.get(); }
  const FileWay &way() const { return std::get<0>(GetParam()); }
  bool is(uint32_t flag) const { return (way().flags & flag) != 0; }

 private:
  TeamPointer team_;
};
inline std::string way_name(const testing::TestParamInfo<std::tuple<FileWay, uint32_t>> &info) {
  const uint32_t threads = std::get<1>(info.param);
  return std::string(std::get<0>(info.param).name) +
         (threads == 0 ? "_alone" : "_team_of_" + std::to_string(threads));
}
#define HPZERO_BY_WAY(fixture)                                                                    \
  INSTANTIATE_TEST_SUITE_P(                                                                       \
      , fixture, testing::Combine(testing::ValuesIn(kFileWays), testing::Values(0u, 1u, 2u, 5u)), \
      way_name)

}  // namespace hpz::test

#endif
