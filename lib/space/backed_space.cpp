// SPDX-License-Identifier: BSD-2-Clause
//
// A space over a backing as one range, of addresses or of positions.
#include <errno.h>
#include <stdlib.h>

#include <algorithm>
#include <new>

#include "lib/space/backed.h"
#include "lib/space/backed_clear.h"
#include "lib/space/handle.h"
#include "lib/space/pages.h"

namespace hpz {
namespace {

// Position 0 as an address that is none: a multiple of every page size, and not null.
constexpr uintptr_t kFirstPosition = kLargestPageBytes;
constexpr uint64_t kMostPositions = uint64_t{1} << 63;  // as many bytes as a file can have

}  // namespace

int make_backed_space(const Backing &backing, uint64_t len, hpz_space **out) noexcept {
  uint64_t end;
  if (__builtin_add_overflow(backing.skew, len, &end) || end > kMostPositions) return -EINVAL;
  void *const memory = malloc(sizeof(hpz_space));
  if (memory == nullptr) return -ENOMEM;
  auto *const space = new (memory) hpz_space;
  char *const first =
      backing.lasting != nullptr ? backing.lasting : reinterpret_cast<char *>(kFirstPosition);
  const hpz_range all = {first + backing.skew, len};
  const int error = space->space.ranges.assign(&all, 1);
  if (error != 0) {
    hpz_space_destroy(space);
    return error;
  }
  space->space.page_bytes = backing.page_bytes;
  space->space.backing = backing;
  *out = space;
  return 0;
}

WholePages whole_pages(const Backing &backing, uint64_t begin, uint64_t end) noexcept {
  const uint64_t in_page = backing.page_bytes - 1;
  const uint64_t first = (begin + in_page) & ~in_page;
  const uint64_t behind = end == backing.end ? end : end & ~in_page;
  return first < behind ? WholePages{first, behind} : WholePages{end, end};
}

TouchResult touch_backing(const Backing &backing, uint64_t position, const char *at,
                          uint64_t bytes) noexcept {
  TouchResult touched = touch_pages(at, bytes);
  if (touched.error == -EFAULT && backing.ops->check != nullptr) {
    uint64_t bad_at = position + touched.done_bytes;
    if (backing.ops->check(backing.self, bad_at, 1, &bad_at) == 0) touched.error = -ENOMEM;
  }
  return touched;
}

TaskOutcome check_backing(const Backing &backing, const VerbJob &job, size_t index) noexcept {
  TaskOutcome outcome;
  if (backing.ops->check == nullptr) return outcome;
  uint64_t begin = kNoOffset, end = 0;
  for_each_part(job.pieces(), job.chunk(index), [&](char *, uint64_t bytes, uint64_t offset) {
    begin = std::min(begin, offset);
    end = offset + bytes;
    return true;
  });
  uint64_t bad_at = begin + backing.skew;
  outcome.error = backing.ops->check(backing.self, bad_at, end - begin, &bad_at);
  if (outcome.error == 0) return outcome;
  outcome.bad_offset = job.wanted_from(index, std::clamp(bad_at - backing.skew, begin, end - 1));
  return outcome;
}

TaskOutcome conclude(const Backing &backing, VerbJob &job, size_t index,
                     const BackedResult &result) noexcept {
  TaskOutcome outcome = {job.chunk(index).bytes, result.error, kNoOffset};
  if (result.error != 0) {
    outcome.bad_offset = result.bad_position - backing.skew;
    outcome.done_bytes = job.bytes_before(index, outcome.bad_offset);
  }
  job.cleared.fetch_add(result.cleared_bytes, std::memory_order_relaxed);
  job.skipped.fetch_add(outcome.done_bytes - result.cleared_bytes, std::memory_order_relaxed);
  job.count_locality(index, result.cleared_bytes);
  return outcome;
}

}  // namespace hpz
