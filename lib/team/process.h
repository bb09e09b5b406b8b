// SPDX-License-Identifier: BSD-2-Clause
//
// Whether this is still the process that created something: after fork its threads are gone.
#ifndef HPZERO_LIB_TEAM_PROCESS_H
#define HPZERO_LIB_TEAM_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

namespace hpz {

// The process id, and a mark in a page that the kernel wipes in children: a process that is number
// 1 of its namespace may have a child that is number 1 of another.
class ProcessId {
 public:
  ProcessId() noexcept;
  bool is_current() const noexcept;
  // By the mark alone, without a system call; false: not known by it. For who knows that the kernel
  // does wipe it: emulators take such advice, and do nothing. (A child that shares our memory, of
  // vfork, has the mark, too.)
  bool is_marked() const noexcept;

 private:
  pid_t pid_;
  uint64_t mark_;
};

}  // namespace hpz

#endif
