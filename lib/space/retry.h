// SPDX-License-Identifier: BSD-2-Clause
//
// System calls that fail for the moment.
#ifndef HPZERO_LIB_SPACE_RETRY_H
#define HPZERO_LIB_SPACE_RETRY_H

#include <errno.h>

namespace hpz {

// Makes a call that returns a negative number and sets errno where it fails; again after EAGAIN (a
// page is busy, or memory is short) and EINTR, for a bounded number of times: more often in a row
// is no moment any more. 0, or the last errno, negative.
template <class Call> int retry(const Call &call) noexcept {
  constexpr int kMost = 100;
  for (int i = 0;; ++i) {
    if (call() >= 0) return 0;
    if ((errno != EAGAIN && errno != EINTR) || i == kMost) return -errno;
  }
}

}  // namespace hpz

#endif
