// SPDX-License-Identifier: BSD-2-Clause
//
// The verb populate over a backing: by itself, or by touching what is mapped.
#include <errno.h>

#include <algorithm>

#include "lib/space/backed.h"

namespace hpz {
namespace {

struct Populating {
  VerbJob *job;
  const Backing *backing;
};

// How far [position, end), whole pages, is resident.
struct Populated {
  uint64_t position;
  int error;
};

Populated touch_windows(const Backing &backing, uint64_t position, uint64_t end) noexcept {
  while (position < end) {
    const uint64_t bytes = std::min(end - position, backing.window_bytes);
    char *at = nullptr;
    const int error = backing.ops->map(backing.self, position, bytes, &at);
    if (error != 0) return {position, error};
    const TouchResult touched = touch_backing(backing, position, at, bytes);
    backing.ops->unmap(backing.self, position, bytes, at);
    position += touched.done_bytes;
    if (touched.error != 0) return {position, touched.error};
  }
  return {end, 0};
}

Populated populate_pages(const Backing &backing, uint64_t position, uint64_t end) noexcept {
  if (backing.ops->populate != nullptr) {
    const int error = backing.ops->populate(backing.self, position, end - position);
    return {error == 0 ? end : position, error};
  }
  if (backing.lasting != nullptr) {
    const TouchResult touched =
        touch_backing(backing, position, backing.lasting + position, end - position);
    return {position + touched.done_bytes, touched.error};
  }
  if (backing.ops->map == nullptr) return {position, -EOPNOTSUPP};
  return touch_windows(backing, position, end);
}

TaskOutcome populate_chunk(void *context, size_t index) noexcept {
  const auto &populating = *static_cast<const Populating *>(context);
  const Backing &backing = *populating.backing;
  VerbJob &job = *populating.job;
  TaskOutcome outcome = check_backing(backing, job, index);
  if (outcome.error != 0) return outcome;
  const uint64_t in_page = backing.page_bytes - 1;
  // Pages that follow on, none of them twice.
  uint64_t begin = 0, end = 0;
  const auto populate_run = [&] {
    if (begin == end) return true;
    const Populated populated = populate_pages(backing, begin, end);
    outcome.error = populated.error;
    // A page that is resident in part is not. The first one may begin before the space does.
    const uint64_t bad = std::max(populated.position & ~in_page, backing.skew) - backing.skew;
    if (outcome.error != 0) outcome.bad_offset = job.wanted_from(index, bad);
    return outcome.error == 0;
  };
  for_each_part(job.pieces(), job.chunk(index), [&](char *, uint64_t bytes, uint64_t offset) {
    const uint64_t position = offset + backing.skew;
    const uint64_t first = position & ~in_page;
    if (first > end) {
      if (!populate_run()) return false;
      begin = first;
    }
    end = std::min((position + bytes + in_page) & ~in_page, backing.end);
    return true;
  });
  if (outcome.error == 0) populate_run();
  outcome.done_bytes =
      outcome.error == 0 ? job.chunk(index).bytes : job.bytes_before(index, outcome.bad_offset);
  job.populated.fetch_add(outcome.done_bytes, std::memory_order_relaxed);
  job.count_locality(index, outcome.done_bytes);
  return outcome;
}

}  // namespace

int populate_backed(const VerbCall &call, hpz_job_report &report) noexcept {
  VerbJob job(call, HPZ_VERB_POPULATE);
  const Populating populating = {&job, &call.space.backing};
  int error = job.find_pieces();
  if (error == 0) error = job.cut(call.space.backing.page_bytes);
  if (error != 0) return error;
  return job.execute({populate_chunk, const_cast<Populating *>(&populating)}, report);
}

}  // namespace hpz
