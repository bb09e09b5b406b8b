// SPDX-License-Identifier: BSD-2-Clause
#include "lib/team/cpu_set.h"

#include <errno.h>
#include <sched.h>

#include <algorithm>
#include <utility>

namespace hpz {
namespace {

// Larger than what any kernel is built for (8 Ki CPUs): what is larger still is a mistake, and
// would be a large allocation.
constexpr uint32_t kMaxCpus = uint32_t{1} << 20;

// What 1024 CPUs need. Linux refuses a buffer that is smaller than its mask.
constexpr size_t kFirstWords = 1024 / (8 * sizeof(unsigned long));

void skip_spaces(const char *&at) noexcept {
  while (*at == ' ' || *at == '\t') ++at;
}

bool parse_cpu(const char *&at, uint32_t &out) noexcept {
  if (*at < '0' || *at > '9') return false;
  uint32_t value = 0;
  for (; *at >= '0' && *at <= '9'; ++at) {
    value = 10 * value + static_cast<uint32_t>(*at - '0');
    if (value >= kMaxCpus) return false;
  }
  out = value;
  return true;
}

}  // namespace

bool CpuSet::add(uint32_t cpu) noexcept {
  const size_t word = cpu / kBits;
  if (word >= words_.size() && !words_.resize(word + 1)) return false;
  words_[word] |= 1ul << cpu % kBits;
  return true;
}

bool CpuSet::contains(uint32_t cpu) const noexcept {
  return cpu < end() && (words_[cpu / kBits] >> cpu % kBits & 1) != 0;
}

uint32_t CpuSet::count() const noexcept {
  uint32_t count = 0;
  for (const unsigned long word : words_) {
    count += static_cast<uint32_t>(__builtin_popcountl(word));
  }
  return count;
}

void CpuSet::keep_only(const CpuSet &other) noexcept {
  for (size_t i = 0; i < words_.size(); ++i) {
    words_[i] &= i < other.words_.size() ? other.words_[i] : 0;
  }
}

int read_affinity(CpuSet &out) noexcept {
  CpuSet mask;
  for (size_t words = kFirstWords;; words *= 2) {
    if (!mask.words_.resize(words)) return -ENOMEM;
    auto *const set = reinterpret_cast<cpu_set_t *>(mask.words_.data());
    if (sched_getaffinity(0, mask.bytes(), set) == 0) break;
    // EINVAL is what a mask gets that is smaller than the kernel's.
    if (errno != EINVAL || words * CpuSet::kBits >= kMaxCpus) return -errno;
  }
  out = std::move(mask);
  return 0;
}

int parse_cpu_list(const char *text, CpuSet &out) noexcept {
  CpuSet set;
  skip_spaces(text);
  // The list of no CPUs is what the kernel says of a node that has only memory.
  bool more = *text != '\0' && *text != '\n';
  while (more) {
    uint32_t first;
    if (!parse_cpu(text, first)) return -EINVAL;
    uint32_t last = first;
    skip_spaces(text);
    if (*text == '-') {
      skip_spaces(++text);
      if (!parse_cpu(text, last) || last < first) return -EINVAL;
      skip_spaces(text);
    }
    // From the end, so that memory is had once.
    for (uint32_t cpu = last + 1; cpu-- > first;) {
      if (!set.add(cpu)) return -ENOMEM;
    }
    more = *text == ',';
    if (more) skip_spaces(++text);
  }
  if (*text == '\n') ++text;
  if (*text != '\0') return -EINVAL;
  out = std::move(set);
  return 0;
}

}  // namespace hpz
