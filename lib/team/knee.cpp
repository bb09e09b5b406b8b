// SPDX-License-Identifier: BSD-2-Clause
#include "lib/team/knee.h"

namespace hpz {
namespace {

// 1 2 3 4 6 9 13 19 28 42 ...: steps that are worth measuring, few enough to climb 64 in a dozen.
constexpr uint32_t step_up(uint32_t level) noexcept {
  return level < 4 ? level + 1 : level + level / 2;
}
constexpr uint32_t step_down(uint32_t level) noexcept {
  uint32_t below = 1;
  while (step_up(below) < level) below = step_up(below);
  return level == 1 ? 1 : below;
}

// Chunks per worker that a rate is taken from, after one each for the change to take effect. Fewer:
// noise decides. More: short jobs end before the climb does.
constexpr uint32_t kChunksEach = 3;
// A shorter measurement says more about the clock and the scheduler than about the memory.
constexpr uint64_t kShortestNs = 500'000;

}  // namespace

Climb::Climb(uint32_t most, uint32_t known, bool is_trusted) noexcept
    : phase_(Phase::kFirst), may_go_down_(known > 1), most_(most == 0 ? 1 : most) {
  measure_at(known == 0 ? 1 : known < most_ ? known : most_);
  if (most_ == 1 || (known != 0 && is_trusted)) phase_ = Phase::kSettled;
}

void Climb::measure_at(uint32_t level) noexcept {
  level_ = level;
  ended_ = 0;
  bytes_ = 0;
}

bool Climb::chunk_ended(uint64_t now_ns, uint64_t bytes, uint32_t active) noexcept {
  if (phase_ == Phase::kSettled) return false;
  if (active != level_) {  // workers are still coming or going
    measure_at(level_);
    return false;
  }
  if (++ended_ <= level_) {
    begin_ns_ = now_ns;
    return false;
  }
  bytes_ += bytes;
  const uint64_t took = now_ns > begin_ns_ ? now_ns - begin_ns_ : 0;
  if (ended_ < level_ * (1 + kChunksEach) || took < kShortestNs) return false;
  const double rate = static_cast<double>(bytes_) / static_cast<double>(took);

  switch (phase_) {
    case Phase::kFirst:
    case Phase::kUp: {
      const bool gained = phase_ == Phase::kFirst || rate >= kWorthwhile * better_rate_;
      if (gained) {
        may_go_down_ = may_go_down_ && phase_ == Phase::kFirst;
        better_ = level_;
        better_rate_ = rate;
        if (level_ < most_) {
          phase_ = Phase::kUp;
          const uint32_t up = step_up(level_);
          measure_at(up < most_ ? up : most_);
          return true;
        }
      }
      if (!may_go_down_) break;
      phase_ = Phase::kTryDown;
      measure_at(step_down(better_));
      return true;
    }
    case Phase::kTryDown:
      if (better_rate_ >= kWorthwhile * rate) break;  // what was given up was worth it
      better_ = level_;
      if (rate > better_rate_) better_rate_ = rate;  // several small losses must not add up
      if (level_ == 1) break;
      measure_at(step_down(level_));
      return true;
    case Phase::kSettled:
      break;
  }
  phase_ = Phase::kSettled;
  level_ = better_;
  return true;
}

}  // namespace hpz
