// SPDX-License-Identifier: BSD-2-Clause
//
// System calls that are refused, as in containers, under old kernels and in sandboxes: recipes
// R-SEC, R-OLD, R-PID of the field reports.
#ifndef HPZERO_TESTS_SUPPORT_SANDBOX_H
#define HPZERO_TESTS_SUPPORT_SANDBOX_H

#include <initializer_list>
#include <vector>

namespace hpz::test {

struct Refusal {
  long number;         // SYS_*
  int error;           // what it returns instead, as errno; 0: the process is killed
  int argument = -1;   // only where this argument (0 to 5)
  unsigned value = 0;  // ... has this value
};

// For Setting::prepare: of the child and what it executes. Throws where there is no seccomp.
void refuse(std::initializer_list<Refusal> refusals);

// Of this process with all its threads, from here on: any system call but these kills it. Throws as
// refuse does; then nothing has changed.
void allow_only(const std::vector<long> &numbers);

}  // namespace hpz::test

#endif
