// SPDX-License-Identifier: BSD-2-Clause
//
// team.h but for hpz_fault_claim: checks, and hands over to Team.
#include <errno.h>
#include <hpzero/team.h>

#include "lib/plan/options.h"
#include "lib/team/handle.h"

using namespace hpz;

extern "C" {

int hpz_team_create(const struct hpz_team_options *options, struct hpz_team **out) noexcept {
  if (out == nullptr) return -EINVAL;
  hpz_team_options known = HPZ_TEAM_OPTIONS_INIT;
  if (options != nullptr && !read_options(options, options->size, known)) return -EINVAL;
  if (known.flags != 0) return -EINVAL;
  Team *team = nullptr;
  const int error = Team::create(known, &team);
  if (error == 0) *out = handle_of(team);
  return error;
}

void hpz_team_destroy(struct hpz_team *team) noexcept {
  if (team != nullptr) team_of(team)->destroy();
}

int hpz_team_info_get(const struct hpz_team *team, struct hpz_team_info *out) noexcept {
  if (team == nullptr || out == nullptr) return -EINVAL;
  Team *const self = team_of(const_cast<struct hpz_team *>(team));
  if (!self->is_of_this_process()) return -ECHILD;
  hpz_team_info info = HPZ_TEAM_INFO_INIT;
  self->describe(info);
  return write_info(out, info) ? 0 : -EINVAL;
}

}  // extern "C"
