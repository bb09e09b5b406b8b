// SPDX-License-Identifier: BSD-2-Clause
//
// The signals that are the host's threads' to take, not ours.
#ifndef HPZERO_LIB_PLAN_SIGNALS_H
#define HPZERO_LIB_PLAN_SIGNALS_H

#include <signal.h>

namespace hpz {

// Every signal but those that a fault raises: blocked, these kill the process past its handler.
inline sigset_t host_signals() noexcept {
  sigset_t signals;
  sigfillset(&signals);
  for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS}) {
    sigdelset(&signals, fault);
  }
  return signals;
}

}  // namespace hpz

#endif
