// SPDX-License-Identifier: BSD-2-Clause
//
// The built-in policy: where each kind of kernel begins and ends, by cache size. Every figure has a
// floor and a ceiling, so that a hypervisor that reports a cache of 0 or of 4 GiB changes nothing.
#include "lib/plan/plan.h"

namespace hpz {
namespace {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;

struct Limits {
  uint64_t fallback;  // where the CPU reports nothing
  uint64_t floor, ceiling;
};

// First-level data caches of 16 KiB (Bulldozer) to 128 KiB (server arm64) exist.
constexpr Limits kL1{32 * kKiB, 16 * kKiB, 128 * kKiB};
// 256 KiB (Skylake client) to 4 MiB.
constexpr Limits kL2{512 * kKiB, 256 * kKiB, 4 * kMiB};
// The ceiling is the share that one core gets in practice, not the sum that the socket has: a
// Granite Rapids that reports 480 MiB keeps a recycled 32 MiB range, and not a 128 MiB one. Higher:
// ranges that are not in cache any more are cleared through it (0.5x). Lower: large ranges that are
// still there are thrown out (0.5x).
constexpr Limits kLlc{8 * kMiB, 2 * kMiB, 64 * kMiB};

constexpr uint64_t within(uint64_t reported, const Limits &limits) {
  if (reported == 0) return limits.fallback;
  if (reported < limits.floor) return limits.floor;
  return reported > limits.ceiling ? limits.ceiling : reported;
}

// Streaming starts above this: below, the fence costs what the read for ownership would (Granite
// Rapids, cold: non-temporal stores 0.95x of memset at 1 KiB, 1.25x at 2 KiB, 1.3x at 4 KiB).
constexpr uint64_t kStreamAbove = kKiB;
// ... and on a CPU that nothing is known about, where any loss must be small against the range.
constexpr uint64_t kStreamAboveUnknown = 64 * kKiB;

// Ordinary stores on a CPU whose bulk kernel has a cost of its own to begin with (DC ZVA: reaching
// block boundaries, up to 2 KiB on each side).
constexpr uint64_t kShortUpto = 4 * kKiB;

// hpz_zero asks the cache from here on: a probe costs 0.1 to 0.8 us, which is up to 7 % of clearing
// this much. Lower: the probe's own cost shows. Higher: cold ranges below lose 2x.
constexpr uint64_t kProbeFrom = 256 * kKiB;

// Where bulk kernels take over. Most of a level, not all of it: the caller's own lines live there
// too.
constexpr uint64_t plain_upto(Tuning::Plain plain, uint64_t l1, uint64_t l2) {
  switch (plain) {
    case Tuning::Plain::kMemset:
      break;
    case Tuning::Plain::kShort:
      return kShortUpto;
    case Tuning::Plain::kUpToL1:
      return l1 / 4 * 3;
    case Tuning::Plain::kUpToL2:
      return l2 / 8 * 7;
  }
  return 0;
}

}  // namespace

Selection built_in_bands(std::span<const Kernel> table, FeatureSet features,
                         const CacheSizes &caches, const Tuning &tuning) noexcept {
  const Kernel *const library = best_of_role(table, features, kLibc);
  const Kernel *const plain = best_of_role(table, features, kCached);
  const Kernel *const bulk = best_of_role(table, features, kBulk);
  const Kernel *const streaming = best_of_role(table, features, kStream);
  const Kernel *const stream = streaming != nullptr ? streaming : library;
  const bool known = tuning.plain != Tuning::Plain::kMemset;

  const uint64_t l1 = within(caches.l1, kL1);
  const uint64_t l2 = within(caches.l2, kL2);
  const uint64_t cache_holds = within(caches.llc, kLlc) / 4 * 3;

  Selection selection;
  if (known) {
    selection.cached.append(plain_upto(tuning.plain, l1, l2), *plain);
    selection.cached.append(cache_holds, bulk != nullptr ? *bulk : *plain);
    selection.cached.append(kNoLimit, *stream);
  } else {
    selection.cached.append(kNoLimit, *library);
  }
  selection.stream.append(known ? kStreamAbove : kStreamAboveUnknown, *library);
  selection.stream.append(kNoLimit, *stream);
  selection.probe_from = kProbeFrom;
  selection.probe_upto = cache_holds;
  return selection;
}

}  // namespace hpz
