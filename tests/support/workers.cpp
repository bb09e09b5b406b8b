// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/workers.h"

namespace hpz::test {

std::string workers_name(const testing::TestParamInfo<uint32_t> &threads) {
  return threads.param == 0 ? "alone" : "team_of_" + std::to_string(threads.param);
}

TeamPointer make_team(uint32_t threads) {
  hpz_team *team = nullptr;
  if (threads != 0) {
    hpz_team_options options = HPZ_TEAM_OPTIONS_INIT;
    options.threads = threads;
    EXPECT_EQ(hpz_team_create(&options, &team), 0);
  }
  return {team, hpz_team_destroy};
}

SpacePointer make_space(const std::vector<hpz_range> &ranges) {
  hpz_space *space = nullptr;
  EXPECT_EQ(hpz_space_direct(ranges.data(), ranges.size(), nullptr, &space), 0);
  return {space, hpz_space_destroy};
}

SpacePointer make_space(void *base, size_t len) {
  return make_space(std::vector<hpz_range>{{base, len}});
}

}  // namespace hpz::test
