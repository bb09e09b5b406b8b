// SPDX-License-Identifier: BSD-2-Clause
//
// How hpzero-bench says no: one sentence that ends with the remedy, exit code 2. What goes wrong by
// no fault of the caller's is an ordinary std::runtime_error and exit code 1.
#ifndef HPZERO_BENCH_REFUSAL_H
#define HPZERO_BENCH_REFUSAL_H

#include <stdexcept>
#include <string>

namespace hpz::bench {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitRefused = 2;

class Refusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace hpz::bench

#endif
