// SPDX-License-Identifier: BSD-2-Clause
//
// Whether this is still the process that created something: after fork its threads are gone.
#ifndef HPZERO_LIB_TEAM_PROCESS_H
#define HPZERO_LIB_TEAM_PROCESS_H

#include <sys/types.h>
#include <unistd.h>

namespace hpz {

class ProcessId {
 public:
  ProcessId() noexcept : pid_(getpid()) {}
  bool is_current() const noexcept { return pid_ == getpid(); }

 private:
  pid_t pid_;
};

}  // namespace hpz

#endif
