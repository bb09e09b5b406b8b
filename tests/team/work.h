// SPDX-License-Identifier: BSD-2-Clause
//
// What makes a job: memory that somebody has written to, and the space over it.
#ifndef HPZERO_TESTS_TEAM_WORK_H
#define HPZERO_TESTS_TEAM_WORK_H

#include <hpzero/hpzero.h>
#include <string.h>

#include "tests/support/guarded_buffer.h"
#include "tests/support/memory.h"
#include "tests/support/workers.h"

namespace hpz::test {

class Work {
 public:
  explicit Work(size_t bytes) : memory_(bytes), space_(make_space(memory_.begin(), bytes)) {
    fill();
  }

  unsigned char *begin() const { return memory_.begin(); }
  hpz_space *space() const { return space_.get(); }
  void fill() const { memset(memory_.begin(), kPoison, memory_.bytes()); }
  bool is_zero() const { return hpz_is_zero(memory_.begin(), memory_.bytes()) != 0; }

  int zero(hpz_team *team, const hpz_job_options *options = nullptr) const {
    return hpz_space_zero(space(), team, nullptr, 0, options, nullptr);
  }

 private:
  const Memory memory_;
  const SpacePointer space_;
};

}  // namespace hpz::test

#endif
