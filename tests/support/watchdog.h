// SPDX-License-Identifier: BSD-2-Clause
//
// Ends a test that hangs, or that waits for what does not come: by SIGALRM.
#ifndef HPZERO_TESTS_SUPPORT_WATCHDOG_H
#define HPZERO_TESTS_SUPPORT_WATCHDOG_H

#include <unistd.h>

namespace hpz::test {

class Watchdog {
 public:
  explicit Watchdog(unsigned seconds = 60) { alarm(seconds); }
  ~Watchdog() { alarm(0); }
  Watchdog(const Watchdog &) = delete;
  Watchdog &operator=(const Watchdog &) = delete;
};

}  // namespace hpz::test

#endif
