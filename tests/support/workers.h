// SPDX-License-Identifier: BSD-2-Clause
//
// Who executes the verbs in a test: the calling thread alone, or teams of several sizes.
#ifndef HPZERO_TESTS_SUPPORT_WORKERS_H
#define HPZERO_TESTS_SUPPORT_WORKERS_H

#include <gtest/gtest.h>
#include <hpzero/space.h>
#include <hpzero/team.h>
#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/memory.h"

namespace hpz::test {

using TeamPointer = std::unique_ptr<hpz_team, decltype(&hpz_team_destroy)>;
using SpacePointer = std::unique_ptr<hpz_space, decltype(&hpz_space_destroy)>;

TeamPointer make_team(uint32_t threads);                        // 0: null, no team
SpacePointer make_space(const std::vector<hpz_range> &ranges);  // a failure of the test if none
SpacePointer make_space(void *base, size_t len);

// Parameter: threads of the team, 0 for none. More than this machine has CPUs, too.
class ByWorkers : public testing::TestWithParam<uint32_t> {
 protected:
  ByWorkers() : team_(make_team(GetParam())) {}
  hpz_team *team() const { return team_.get(); }

 private:
  TeamPointer team_;
};
#define HPZERO_BY_WORKERS(fixture) \
  INSTANTIATE_TEST_SUITE_P(, fixture, testing::Values(0u, 1u, 2u, 5u), workers_name)
std::string workers_name(const testing::TestParamInfo<uint32_t> &threads);

}  // namespace hpz::test

#endif
