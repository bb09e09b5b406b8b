// SPDX-License-Identifier: BSD-2-Clause
#include "bench/threads.h"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "bench/clock.h"
#include "bench/refusal.h"

namespace hpz::bench {
namespace {

// Plain words instead of cpu_set_t, which a kernel with more than 1024 CPUs does not fit.
constexpr size_t kWordBits = sizeof(unsigned long) * CHAR_BIT;
constexpr size_t kMostCpus = 1 << 16;

void set_affinity(const std::vector<unsigned long> &words) {
  // Refused by a sandbox: then threads run where they run.
  (void)sched_setaffinity(0, words.size() * sizeof(unsigned long),
                          reinterpret_cast<const cpu_set_t *>(words.data()));
}

// Empty where nobody tells.
std::vector<unsigned long> affinity() {
  std::vector<unsigned long> words(kMostCpus / kWordBits);
  if (sched_getaffinity(0, words.size() * sizeof(unsigned long),
                        reinterpret_cast<cpu_set_t *>(words.data())) != 0) {
    words.clear();
  }
  return words;
}

}  // namespace

Slice slice_of(uint64_t bytes, uint64_t grain, uint32_t index, uint32_t count) {
  const uint64_t grains = (bytes + grain - 1) / grain;
  const auto edge = [&](uint32_t at) {
    // Without the product of both, which a machine's memory and threads could make too large.
    const uint64_t whole = grains / count * at, rest = grains % count * at / count;
    return std::min((whole + rest) * grain, bytes);
  };
  return {edge(index), edge(index + 1) - edge(index)};
}

std::vector<uint32_t> doubling_counts(uint32_t most) {
  std::vector<uint32_t> counts;
  for (uint32_t count = 1; count < most; count *= 2) counts.push_back(count);
  counts.push_back(std::max(most, 1u));
  return counts;
}

void run_on(int cpu) {
  if (cpu >= 0) run_on_any({cpu});
}

void run_on_any(const std::vector<int> &cpus) {
  std::vector<unsigned long> words;
  for (const int cpu : cpus) {
    const auto bit = static_cast<size_t>(cpu);
    words.resize(std::max(words.size(), bit / kWordBits + 1));
    words[bit / kWordBits] |= 1UL << (bit % kWordBits);
  }
  if (!words.empty()) set_affinity(words);
}

CpuPair::CpuPair() : before_(affinity()) {
  const int here = sched_getcpu();
  if (here < 0 || before_.empty()) return;
  here_ = other_ = here;
  for (size_t cpu = 0; cpu < kMostCpus && other_ == here; ++cpu) {
    if ((before_[cpu / kWordBits] >> (cpu % kWordBits) & 1) != 0) other_ = static_cast<int>(cpu);
  }
}

CpuPair::~CpuPair() {
  if (!before_.empty()) set_affinity(before_);
}

uint32_t usable_cpus() {
  uint32_t count = 0;
  for (const unsigned long word : affinity()) count += static_cast<uint32_t>(std::popcount(word));
  return count > 0 ? count : std::max(std::thread::hardware_concurrency(), 1u);
}

std::vector<int> usable_cpu_numbers() {
  std::vector<int> cpus;
  const std::vector<unsigned long> words = affinity();
  for (size_t cpu = 0; cpu < words.size() * kWordBits; ++cpu) {
    if ((words[cpu / kWordBits] >> (cpu % kWordBits) & 1) != 0) {
      cpus.push_back(static_cast<int>(cpu));
    }
  }
  return cpus;
}

void refuse_more_than_cpus(const std::vector<uint32_t> &threads) {
  if (threads.empty()) return;
  const uint32_t cpus = usable_cpus();
  const uint32_t largest = *std::max_element(threads.begin(), threads.end());
  if (largest > cpus) {
    throw Refusal(std::to_string(largest) + " threads are more than the " + std::to_string(cpus) +
                  " CPUs that may be used here: use --threads up to " + std::to_string(cpus));
  }
}

std::vector<uint32_t> thread_counts(const std::vector<uint32_t> &asked_for, uint32_t most) {
  refuse_more_than_cpus(asked_for);
  return asked_for.empty() ? doubling_counts(most) : asked_for;
}

Sample time_on_threads(uint32_t count, uint64_t bytes, uint64_t grain, const SliceWork &work) {
  Sample sample;
  sample.bytes = bytes;
  sample.ranges = sample.threads = count;
  sample.sections = 1;
  std::mutex mutex;
  std::exception_ptr trouble;
  const uint64_t begin = now_ns();
  {
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (uint32_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        const uint64_t cpu_before = thread_cpu_ns();
        std::exception_ptr own;
        try {
          work(slice_of(bytes, grain, i, count));
        } catch (...) {
          own = std::current_exception();
        }
        const uint64_t cpu_ns = thread_cpu_ns() - cpu_before;
        const std::lock_guard lock(mutex);
        sample.cpu_ns += cpu_ns;
        if (own) trouble = own;
      });
    }
  }
  const uint64_t end = now_ns_all_stored();
  if (trouble) std::rethrow_exception(trouble);
  sample.ns = static_cast<double>(end - begin);
  return sample;
}

Sample time_alone(uint64_t bytes, const std::function<void()> &work) {
  Sample sample;
  sample.bytes = bytes;
  sample.ranges = sample.sections = sample.threads = 1;
  const uint64_t cpu_before = thread_cpu_ns();
  const uint64_t begin = now_ns();
  work();
  const uint64_t end = now_ns_all_stored();
  sample.cpu_ns = thread_cpu_ns() - cpu_before;
  sample.ns = static_cast<double>(end - begin);
  return sample;
}

}  // namespace hpz::bench
