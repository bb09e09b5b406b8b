// SPDX-License-Identifier: BSD-2-Clause
//
// How many workers of a node still raise its rate: beyond the knee they only burn CPU that others
// pay for. Pure: told when chunks end, it says how many should be at work.
#ifndef HPZERO_LIB_TEAM_KNEE_H
#define HPZERO_LIB_TEAM_KNEE_H

#include <stdint.h>

namespace hpz {

// What was found, to be remembered per node and verb.
struct Knee {
  uint32_t threads = 0;     // 0: nothing known
  uint64_t expires_ns = 0;  // CLOCK_MONOTONIC

  // Long enough that jobs in a row profit, short enough that a tenant who came or went, or a
  // machine that was busy while it was measured, does not decide for the rest of the day.
  static constexpr uint64_t kTrustedNs = 60'000'000'000;
  uint32_t trusted(uint64_t now_ns) const noexcept { return now_ns < expires_ns ? threads : 0; }
};

// The climb: at each step the rate of a few chunks per worker is measured; a step up must bring 5 %
// or it is taken back. From a knee that is known but no longer trusted, a failed step up is
// followed by steps down as long as they cost less than 5 %.
class Climb {
 public:
  // known: where an earlier climb ended, 0 none. is_trusted: stay there.
  Climb(uint32_t most, uint32_t known, bool is_trusted) noexcept;

  uint32_t limit() const noexcept { return level_; }
  bool is_settled() const noexcept { return phase_ == Phase::kSettled; }
  // The best level measured so far, where a job that ended early leaves off; 0: none.
  uint32_t best() const noexcept { return better_; }

  // A chunk ended. active: workers on this job and node. True: limit() or is_settled() changed.
  bool chunk_ended(uint64_t now_ns, uint64_t bytes, uint32_t active) noexcept;

  static constexpr double kWorthwhile = 1.05;

 private:
  enum class Phase : uint8_t { kFirst, kUp, kTryDown, kSettled };
  void measure_at(uint32_t level) noexcept;

  Phase phase_;
  bool may_go_down_;
  uint32_t most_, level_, better_ = 0;
  double better_rate_ = 0;  // of level better_
  uint32_t ended_ = 0;      // chunks since this level began
  uint64_t begin_ns_ = 0, bytes_ = 0;
};

}  // namespace hpz

#endif
