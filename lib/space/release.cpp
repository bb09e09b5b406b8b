// SPDX-License-Identifier: BSD-2-Clause
//
// The verb release: whole pages go back to the kernel, what is left of others is cleared.
#include <errno.h>
#include <sys/mman.h>

#include <algorithm>

#include "lib/space/backed.h"
#include "lib/space/clear_parts.h"
#include "lib/space/pages.h"
#include "lib/space/piece_mappings.h"
#include "lib/space/retry.h"
#include "lib/space/space.h"
#include "lib/space/touch.h"
#include "lib/space/verb_job.h"
#include "lib/zero/dispatch.h"

namespace hpz {
namespace {

// The advice after which such memory reads zero; 0: there is none.
int advice_for(const Mapping &mapping) noexcept {
  if (!mapping.has_flags || mapping.has_userfaultfd || mapping.is_locked || mapping.is_special) {
    return 0;
  }
  if (mapping.is_shared) return MADV_REMOVE;
  return mapping.is_anonymous ? MADV_DONTNEED : 0;
}

struct Releasing {
  VerbJob *job;
  const Plan *plan;
  PieceMappings mappings;
};

struct ReleaseProgress {
  uint64_t cleared = 0, released = 0;
  int error = 0;
  const char *bad_at = nullptr;
};

int advise(char *at, uint64_t bytes, int advice) noexcept {
  const int error = retry([&] { return madvise(at, bytes, advice); });
  return error == -EINVAL || error == -ENOSYS ? -EOPNOTSUPP : error;
}

// Part of a page: the rest of it is somebody's.
bool clear_edge(const Plan &plan, char *at, uint64_t bytes, ReleaseProgress &progress) noexcept {
  if (bytes == 0) return true;
  const TouchResult touched = touch_pages(at, bytes);
  PartClearer clearer(plan.selection.stream, touched.done_bytes);
  if (touched.done_bytes != 0) clearer.add(at, touched.done_bytes);
  const ClearResult cleared = clearer.finish();
  progress.cleared += cleared.done_bytes;
  progress.error = cleared.error != 0 ? cleared.error : touched.error;
  progress.bad_at = cleared.error != 0 ? cleared.bad_at : at + touched.done_bytes;
  return progress.error == 0;
}

// Whether the file behind a shared mapping reaches to the end of these pages, by touching the last
// one, which goes with the others. If it does not: gives back what it has of them.
bool reaches(char *at, uint64_t bytes, uint64_t page, ReleaseProgress &progress) noexcept {
  const auto is_there = [&](uint64_t index) {
    return touch_pages(at + index * page, 1).error == 0;
  };
  uint64_t there = 0, missing = bytes / page;  // pages before `there` are, `missing` is not
  if (is_there(missing - 1)) return true;
  for (--missing; there < missing;) {
    const uint64_t middle = there + (missing - there) / 2;
    if (is_there(middle)) {
      there = middle + 1;
    } else {
      missing = middle;
    }
  }
  progress.bad_at = at + missing * page;
  progress.error = missing != 0 ? advise(at, missing * page, MADV_REMOVE) : 0;
  if (progress.error == 0) {
    progress.released += missing * page;
    progress.error = touch_pages(progress.bad_at, 1).error;
  } else {
    progress.bad_at = at;
  }
  return false;
}

bool release_part(const Plan &plan, const Mapping &mapping, char *at, uint64_t bytes,
                  ReleaseProgress &progress) noexcept {
  const uint64_t page = std::max<uint64_t>(mapping.page_bytes, base_page_bytes());
  const auto begin = reinterpret_cast<uintptr_t>(at);
  const uint64_t head = std::min<uint64_t>((0 - begin) & (page - 1), bytes);
  const uint64_t body = (bytes - head) & ~(page - 1);
  if (!clear_edge(plan, at, head, progress)) return false;
  if (body != 0) {
    // Past the end of its file a hole is punched as well, and reading is a signal as before.
    if (mapping.is_shared && !reaches(at + head, body, page, progress)) return false;
    progress.error = advise(at + head, body, advice_for(mapping));
    progress.bad_at = at + head;
    if (progress.error != 0) return false;
    progress.released += body;
  }
  return clear_edge(plan, at + head + body, bytes - head - body, progress);
}

TaskOutcome release_chunk(void *context, size_t index) noexcept {
  const auto &releasing = *static_cast<const Releasing *>(context);
  VerbJob &job = *releasing.job;
  ReleaseProgress progress;
  for_each_part(job.pieces(), job.chunk(index), [&](char *at, uint64_t bytes, uint64_t) {
    return releasing.mappings.for_each_mapping(
        at, bytes, [&](const Mapping *mapping, char *where, uint64_t in_mapping) {
          if (mapping == nullptr) {  // all was mapped when the list was made
            progress.error = -EFAULT;
            progress.bad_at = where;
            return false;
          }
          return release_part(*releasing.plan, *mapping, where, in_mapping, progress);
        });
  });
  job.cleared.fetch_add(progress.cleared, std::memory_order_relaxed);
  job.skipped.fetch_add(progress.released, std::memory_order_relaxed);
  job.count_locality(index, progress.cleared);
  TaskOutcome outcome = {progress.cleared + progress.released, progress.error, kNoOffset};
  if (progress.error != 0) outcome.bad_offset = job.offset_of(index, progress.bad_at);
  return outcome;
}

}  // namespace

int release_space(const VerbCall &call, hpz_job_report &report) noexcept {
  if (call.space.backing.ops != nullptr) return release_backed(call, report);
  VerbJob job(call, HPZ_VERB_RELEASE);
  Releasing releasing = {&job, settled_plan(), {}};
  if (releasing.plan == nullptr) return -ENOMEM;
  int error = job.find_pieces();
  if (error != 0) return error;
  // Without knowing what is mapped nothing is exact.
  error = releasing.mappings.read(job.pieces());
  if (error != 0) return error == -ENOMEM ? error : -EOPNOTSUPP;
  MappingCheck check = releasing.mappings.check(job.pieces());
  for (const Piece &piece : job.pieces()) {
    if (check.error != 0) break;
    releasing.mappings.for_each_mapping(
        piece.at, piece.bytes, [&](const Mapping *mapping, const char *at, uint64_t) {
          if (mapping != nullptr && advice_for(*mapping) != 0) return true;
          check = {-EOPNOTSUPP, piece.offset + static_cast<uint64_t>(at - piece.at)};
          return false;
        });
  }
  if (check.error != 0) {
    report.first_bad_offset = check.bad_offset;
    return check.error;
  }
  error = job.cut(job.page_bytes(&releasing.mappings));
  if (error != 0) return error;
  return job.execute({release_chunk, &releasing}, report);
}

}  // namespace hpz
