// SPDX-License-Identifier: BSD-2-Clause
//
// Planning a verb's job, and executing it.
#include "lib/space/verb_job.h"

#include <errno.h>

#include <algorithm>

#include "lib/space/mappings.h"
#include "lib/space/pages.h"
#include "lib/space/piece_mappings.h"
#include "lib/team/clock.h"

namespace hpz {
namespace {

// More chunks than this cost memory (some 120 bytes each with their samples), and time to plan.
constexpr uint64_t kMostChunks = 1'000'000;
// Chunks per worker of a small job, so that none of them waits long for the last one.
constexpr uint64_t kChunksEach = 8;
constexpr size_t kMostPieces = 4096;  // in a chunk, so that tiny ones do not make it endless

uint64_t round_up(uint64_t bytes, uint64_t grain) noexcept {
  const uint64_t up = (bytes + (grain - 1)) & ~(grain - 1);
  return up < bytes ? ~(grain - 1) : up;
}

}  // namespace

VerbJob::VerbJob(const VerbCall &call, hpz_verb verb) noexcept
    : call_(call), verb_(verb), started_ns_(monotonic_ns()), started_cpu_ns_(thread_cpu_ns()) {}

int VerbJob::find_pieces() noexcept {
  const int error = call_.space.ranges.find(call_.extents, call_.count, pieces_);
  if (error != 0) return error;
  for (const Piece &piece : pieces_) total_ += piece.bytes;
  return 0;
}

int VerbJob::split_touch_window() noexcept {
  // Fits a first-level cache beside what else is in use there.
  constexpr uintptr_t kPage = 4096, kWindowBytes = 32 * 1024;
  const auto wanted = reinterpret_cast<uintptr_t>(call_.options.touch_next);
  if (wanted == 0 || !call_.space.has_addresses()) return 0;
  for (const Piece &piece : pieces_) {
    const uintptr_t skip = wanted - reinterpret_cast<uintptr_t>(piece.at);
    if (skip >= piece.bytes) continue;
    // From the beginning of its page, if that belongs to the piece.
    const char *const at = piece.at + skip - std::min(skip, wanted & (kPage - 1));
    window_piece_ = split_off(pieces_, at, kWindowBytes);
    return window_piece_ == SIZE_MAX ? -ENOMEM : 0;
  }
  return 0;
}

uint64_t VerbJob::page_bytes(const PieceMappings *known) const noexcept {
  if (call_.space.page_bytes != 0) return call_.space.page_bytes;
  if (known != nullptr) return known->largest_page_bytes(pieces_);
  // Piece by piece, for what lies between them is somebody else's. The first ones of very many tell
  // enough for what are only chunk boundaries.
  constexpr size_t kMostLookups = 100;
  uint64_t largest = 0;
  for (size_t i = 0; i < std::min(pieces_.size(), kMostLookups); ++i) {
    const auto begin = reinterpret_cast<uintptr_t>(pieces_[i].at);
    uint64_t its_largest;
    if (!query_page_bytes(begin, begin + pieces_[i].bytes, its_largest)) {
      PieceMappings mappings;
      return mappings.read(pieces_) == 0 ? mappings.largest_page_bytes(pieces_) : 0;
    }
    largest = std::max(largest, its_largest);
  }
  return largest;
}

uint64_t VerbJob::offset_of(size_t index, const char *at) const noexcept {
  uint64_t found = kNoOffset;
  for_each_part(pieces_, chunks_[index], [&](const char *part, uint64_t bytes, uint64_t offset) {
    const auto skip =
        static_cast<uint64_t>(reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(part));
    if (skip < bytes) found = offset + skip;
    return skip >= bytes;
  });
  return found;
}

uint64_t VerbJob::wanted_from(size_t index, uint64_t offset) const noexcept {
  uint64_t found = kNoOffset;
  for_each_part(pieces_, chunks_[index], [&](const char *, uint64_t bytes, uint64_t begin) {
    found = std::max(begin, offset);
    return begin + bytes <= offset;
  });
  return found;
}

uint64_t VerbJob::bytes_before(size_t index, uint64_t offset) const noexcept {
  uint64_t before = 0;
  for_each_part(pieces_, chunks_[index], [&](const char *, uint64_t bytes, uint64_t begin) {
    if (begin < offset) before += std::min(bytes, offset - begin);
    return begin < offset;
  });
  return before;
}

// Two threads at one transparent huge page would hinder each other while it is faulted in.
uint64_t VerbJob::grain(uint64_t page_bytes) const noexcept {
  const uint64_t smallest = std::max<uint64_t>(page_bytes, 4096);
  const uint64_t wanted = call_.options.chunk_bytes;
  uint64_t grain = std::max(page_bytes, kHugePageBytes);
  while (wanted != 0 && grain > wanted && grain > smallest) grain /= 2;
  return grain;
}

uint64_t VerbJob::chunk_bytes(uint64_t grain) const noexcept {
  uint64_t bytes = call_.options.chunk_bytes;
  if (bytes == 0) {
    const uint64_t workers = call_.team != nullptr ? call_.team->worker_count() : 1;
    bytes = std::min(kUsualChunkBytes, total_ / (kChunksEach * std::max<uint64_t>(workers, 1)));
  }
  bytes = std::max(bytes, total_ / kMostChunks);
  return std::max(grain, round_up(bytes, grain));
}

int VerbJob::cut(uint64_t page_bytes) noexcept {
  page_bytes_ = page_bytes;
  const uint64_t block = grain(page_bytes);
  const Cut wanted = {chunk_bytes(block), block, window_piece_, kMostPieces};
  if (!cut_chunks(pieces_, wanted, chunks_) || !tasks_.resize(chunks_.size())) return -ENOMEM;
  for (size_t i = 0; i < chunks_.size(); ++i) {
    tasks_[i].bytes = chunks_[i].bytes;
    if (chunks_[i].piece == window_piece_) window_chunk_ = i;
  }
  return locate();
}

TaskOutcome VerbJob::run_task(void *job, size_t index) noexcept {
  auto &self = *static_cast<VerbJob *>(job);
  const TaskOutcome outcome = self.work_.run(self.work_.context, index);
  self.tell(index, outcome.done_bytes);
  return outcome;
}

// done_bytes: of the chunk's parts, in their order.
void VerbJob::tell(size_t index, uint64_t done_bytes) const noexcept {
  const DoneObserver &observer = call_.observer;
  if (observer.done == nullptr) return;
  uint64_t left = done_bytes;
  for_each_part(pieces_, chunks_[index], [&](const char *, uint64_t bytes, uint64_t offset) {
    const uint64_t done = std::min(bytes, left);
    if (done != 0) observer.done(observer.context, offset, done);
    left -= done;
    return left != 0;
  });
}

int VerbJob::execute(const Work &work, hpz_job_report &report) noexcept {
  work_ = work;
  const hpz_job_options &options = call_.options;
  Job job = {};
  job.run = run_task;
  job.enter = enter_with_policy;
  job.leave = leave_with_policy;
  job.context = this;
  job.tasks = &tasks_;
  job.total_bytes = total_;
  job.last_task = std::min(window_chunk_, tasks_.size());
  job.verb = verb_;
  job.is_huge = page_bytes_ >= kHugePageBytes;
  job.threads = options.threads;
  job.progress = options.progress;
  job.user = options.user;
  job.cancel = options.cancel;
  job.deadline_ns = options.deadline_ns;

  JobResult result;
  if (const int error = call_.team_call.run(job, result); error != 0) result.error = error;
  report.done_bytes = result.done_bytes;
  report.cleared_bytes = cleared.load(std::memory_order_relaxed);
  report.populated_bytes = populated.load(std::memory_order_relaxed);
  report.skipped_bytes = skipped.load(std::memory_order_relaxed);
  report.local_bytes = local_.load(std::memory_order_relaxed);
  report.remote_bytes = remote_.load(std::memory_order_relaxed);
  report.wall_ns = monotonic_ns() - started_ns_;
  report.cpu_ns = result.cpu_ns + (thread_cpu_ns() - started_cpu_ns_);
  report.first_bad_offset = result.bad_offset;
  report.error = result.error;
  report.threads = result.threads;
  report.flags = flags_.load(std::memory_order_relaxed);
  return result.error;
}

}  // namespace hpz
