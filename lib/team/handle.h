// SPDX-License-Identifier: BSD-2-Clause
//
// The public handle of a team is the address of the Team.
#ifndef HPZERO_LIB_TEAM_HANDLE_H
#define HPZERO_LIB_TEAM_HANDLE_H

#include "lib/team/team.h"

namespace hpz {

inline Team *team_of(struct hpz_team *handle) noexcept {
  return reinterpret_cast<Team *>(handle);
}
inline struct hpz_team *handle_of(Team *team) noexcept {
  return reinterpret_cast<struct hpz_team *>(team);
}

}  // namespace hpz

#endif
