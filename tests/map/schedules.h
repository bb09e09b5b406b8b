// SPDX-License-Identifier: BSD-2-Clause
//
// All orders in which a few threads can come between each other. The threads are fibers of one
// thread; they stop before every access to what they share (lib/map/steps.h), and a depth-first
// search decides who goes on. An execution is cut where it comes to a state in which another one
// has been: where all that is shared has the same value, and each thread has seen the same values
// so far, so that it will go on in the same way; or where all that is left are orders that differ
// from others only in accesses that do not touch each other (sleep sets, as in Godefroid, Partial-
// Order Methods for the Verification of Concurrent Systems, 1996, figure 5.2).
#ifndef HPZERO_TESTS_MAP_SCHEDULES_H
#define HPZERO_TESTS_MAP_SCHEDULES_H

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <string>
#include <vector>

namespace hpz::test {

struct Explored {
  uint64_t states = 0;      // different ones
  uint64_t executions = 0;  // to the end
  std::string failure;      // of the first execution that failed, with its order; "" if none
};

// One execution: its threads, and the check when all of them have ended. Whatever finds a fault
// calls fail_execution.
struct Execution {
  std::vector<std::function<void()>> threads;
  std::function<void()> check;
};

// prepare: of a new execution, always the same; whatever the threads share it looks at, by steps,
// always in the same order. Ends at the first failure, or after most_states (a failure, too).
Explored explore(const std::function<Execution()> &prepare, uint64_t most_states);

void fail_execution(const std::string &what);
// Before an access of a test's own to what its threads share.
void test_step(const void *what, size_t bytes, bool writes);

}  // namespace hpz::test

#endif
