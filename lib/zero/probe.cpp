// SPDX-License-Identifier: BSD-2-Clause
#include "lib/zero/probe.h"

#include <atomic>

#include "arch/arch.h"

namespace hpz::probe {
namespace {

constinit std::atomic<uint64_t> g_threshold{kUncalibrated};

uint64_t measure() noexcept {
  // Odd, so that there is a median; enough for it to survive a few interrupts.
  constexpr size_t kSamples = 15;
  alignas(2 * kLineBytes) uint64_t line[2 * kLineBytes / sizeof(uint64_t)] = {};
  uint64_t hit = UINT64_MAX;
  uint64_t misses[kSamples];
  for (size_t i = 0; i < kSamples; ++i) {
    const uint64_t ticks = timed_touch(line);
    if (ticks < hit) hit = ticks;
  }
  for (size_t i = 0; i < kSamples; ++i) {
    evict(line);
    const uint64_t ticks = timed_touch(line);
    size_t at = i;  // insertion sort: std::sort would be more code than all of this file
    for (; at > 0 && misses[at - 1] > ticks; --at) misses[at] = misses[at - 1];
    misses[at] = ticks;
  }
  return threshold(hit, misses[kSamples / 2]);
}

}  // namespace

uint64_t known_threshold(bool has_counter) noexcept {
  // Not stored: hpz_init may have the counter back later (HPZ_CPU_DISABLE).
  return has_counter ? g_threshold.load(std::memory_order_relaxed) : kUnusable;
}

uint64_t calibrated_threshold(bool has_counter) noexcept {
  uint64_t ticks = known_threshold(has_counter);
  if (ticks == kUncalibrated) {
    // Threads that come here together each measure; whichever stores last, the value is a good one.
    ticks = measure();
    g_threshold.store(ticks, std::memory_order_relaxed);
  }
  return ticks;
}

bool misses_cache(void *dst, size_t len, uint64_t threshold_ticks) noexcept {
  // Two lines in the middle of the range. The first may be slow by its page walk alone; then the
  // second one tells. It lies in the next page, whose translation CPUs fetch ahead, unlike its
  // lines: within the first one's page, the prefetchers that its miss wakes make up to 33 % of cold
  // second lines look cached (Granite Rapids, 2 MiB pages, 16384 ranges), in the next page none.
  constexpr uintptr_t kPage = 4096;
  const uintptr_t middle = (reinterpret_cast<uintptr_t>(dst) + len / 2) & ~(kPage - 1);
  constexpr uintptr_t kFirst = 2048, kSecond = kPage + kFirst + 3 * kLineBytes;
  if (timed_touch(reinterpret_cast<void *>(middle + kFirst)) <= threshold_ticks) return false;
  return timed_touch(reinterpret_cast<void *>(middle + kSecond)) > threshold_ticks;
}

}  // namespace hpz::probe
