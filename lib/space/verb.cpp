// SPDX-License-Identifier: BSD-2-Clause
//
// What the verbs have in common: see space.h.
#include <errno.h>

#include <algorithm>

#include "lib/space/mappings.h"
#include "lib/space/space.h"
#include "lib/team/clock.h"

namespace hpz {
namespace {

// More chunks than this cost memory (56 bytes each with their samples) and make nothing finer.
constexpr uint64_t kMostChunks = 1'000'000;
// Chunks per worker of a small job, so that none of them waits long for the last one.
constexpr uint64_t kChunksEach = 8;
constexpr size_t kMostPieces = 4096;  // in a chunk, so that tiny ones do not make it endless

uint64_t round_up(uint64_t bytes, uint64_t grain) noexcept {
  const uint64_t up = (bytes + (grain - 1)) & ~(grain - 1);
  return up < bytes ? ~(grain - 1) : up;
}

}  // namespace

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
  if (wanted == 0) return 0;
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

uint64_t VerbJob::page_bytes() const noexcept {
  if (call_.space.page_bytes != 0 || pieces_.empty()) return call_.space.page_bytes;
  uintptr_t lo = UINTPTR_MAX, hi = 0;
  for (const Piece &piece : pieces_) {
    const auto begin = reinterpret_cast<uintptr_t>(piece.at);
    lo = std::min(lo, begin);
    hi = std::max(hi, begin + piece.bytes);
  }
  return largest_page_bytes(lo, hi);
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

int VerbJob::plan(uint64_t page_bytes) noexcept {
  const uint64_t block = grain(page_bytes);
  const Cut cut = {chunk_bytes(block), block, window_piece_, kMostPieces};
  if (!cut_chunks(pieces_, cut, chunks_) || !tasks_.resize(chunks_.size())) return -ENOMEM;
  for (size_t i = 0; i < chunks_.size(); ++i) {
    tasks_[i].bytes = chunks_[i].bytes;
    if (chunks_[i].piece == window_piece_) window_chunk_ = i;
  }

  // Where there is one node, nothing is asked any more.
  MemoryPolicy allowed;
  const bool is_told = read_allowed_nodes(allowed) == 0;
  has_many_nodes_ = is_told ? allowed.count() > 1
                            : call_.team != nullptr && call_.team->placement().nodes.size() > 1;
  if (!has_many_nodes_) return 0;
  if (!nodes_.resize(chunks_.size())) return -ENOMEM;
  const uint32_t here = index_of_node(Runner().node_id());
  for (size_t i = 0; i < chunks_.size(); ++i) {
    ChunkNodes &nodes = nodes_[i];
    sample(i, nodes);
    uint32_t best = 0, best_count = 0;
    for (uint32_t a = 0; a < nodes.known; ++a) {
      const auto count =
          static_cast<uint32_t>(std::count(nodes.node, nodes.node + nodes.known, nodes.node[a]));
      if (count > best_count) {
        best = a;
        best_count = count;
      }
    }
    tasks_[i].node = best_count != 0 ? index_of_node(nodes.node[best]) : here;
    // What is not there yet comes to lie where it is first touched: not stolen, it lies where the
    // calling thread's own touch would have put it.
    tasks_[i].bound = best_count == 0 && nodes.absent != 0;
  }
  return 0;
}

// At most kSamples addresses, evenly over the chunk.
void VerbJob::sample(size_t index, ChunkNodes &nodes) const noexcept {
  constexpr uint64_t kSmallestPage = 4096;
  const Chunk &chunk = chunks_[index];
  const uint64_t step = std::max(chunk.bytes / ChunkNodes::kSamples, kSmallestPage);
  void *pages[ChunkNodes::kSamples] = {};
  size_t count = 0;
  uint64_t seen = 0, next = 0;  // bytes of the chunk
  for_each_part(pieces_, chunk, [&](char *at, uint64_t bytes, uint64_t) {
    for (; next < seen + bytes && count < ChunkNodes::kSamples; next += step) {
      pages[count++] = at + (next - seen);
    }
    seen += bytes;
    return count < ChunkNodes::kSamples;
  });
  int where[ChunkNodes::kSamples];
  nodes = ChunkNodes();
  if (query_page_nodes(pages, count, where) != 0) return;
  for (size_t i = 0; i < count; ++i) {
    if (where[i] >= 0) nodes.node[nodes.known++] = where[i];
    // The kernel says -EFAULT for the shared zero page and for what is not mapped, too.
    if (where[i] == -ENOENT || where[i] == -EFAULT) ++nodes.absent;
  }
}

uint32_t VerbJob::index_of_node(int32_t id) const noexcept {
  if (call_.team == nullptr) return 0;
  const Array<Placement::Node> &nodes = call_.team->placement().nodes;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].id == id) return i;
  }
  return 0;  // a node that came later: anybody may do it
}

int VerbJob::plan_placement() noexcept {
  const int32_t node = call_.options.node;
  MemoryPolicy allowed, own;
  const bool is_told = read_allowed_nodes(allowed) == 0;
  if (node >= 0 && is_told && !allowed.has(node)) return -EINVAL;
  if (!has_many_nodes_) return 0;

  const int32_t here = Runner().node_id();
  const auto place_on = [&](size_t task, int32_t id) {
    tasks_[task].node = index_of_node(id);
    tasks_[task].bound = true;
  };
  if (node >= 0) {
    policy_ = MemoryPolicy::bind_to(node);
    has_policy_ = true;
    for (size_t i = 0; i < tasks_.size(); ++i) place_on(i, node);
    return 0;
  }
  if (read_thread_policy(own) != 0) {
    flags_.fetch_or(HPZ_JOB_NO_PLACEMENT, std::memory_order_relaxed);
  }
  // Workers have a policy of their own: they take on the caller's, or its node. A mapping's policy
  // stands above both.
  policy_ = own.is_default() ? MemoryPolicy::prefer(here) : own;
  has_policy_ = true;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    MemoryPolicy mapping;
    const char *const at = pieces_[chunks_[i].piece].at + chunks_[i].skip;
    const bool has_own = read_mapping_policy(at, mapping) == 0 && !mapping.is_default();
    const MemoryPolicy &policy = has_own ? mapping : own;
    const int32_t only = policy.is_default() ? here : policy.only_node();
    if (only >= 0) {
      place_on(i, only);
    } else {
      tasks_[i].bound = false;  // interleaved: whoever touches it
    }
  }
  return 0;
}

void VerbJob::enter_with_policy(void *job, Runner &runner) noexcept {
  auto &self = *static_cast<VerbJob *>(job);
  if (!self.has_policy_) return;
  if (read_thread_policy(runner.policy_before) == 0 && set_thread_policy(self.policy_) == 0) {
    runner.has_changed_policy = true;
  } else {
    self.flags_.fetch_or(HPZ_JOB_NO_PLACEMENT, std::memory_order_relaxed);
  }
}

void VerbJob::leave_with_policy(void *, Runner &runner) noexcept {
  if (runner.has_changed_policy) set_thread_policy(runner.policy_before);
}

void VerbJob::count_locality(size_t index, uint64_t bytes, const Runner &runner) noexcept {
  if (bytes == 0) return;
  if (!has_many_nodes_) {
    local_.fetch_add(bytes, std::memory_order_relaxed);
    return;
  }
  ChunkNodes &nodes = nodes_[index];  // this task's alone
  // Pages that have come meanwhile are asked for only now.
  if (nodes.absent != 0 || verb_ == HPZ_VERB_POPULATE) sample(index, nodes);
  if (nodes.known == 0) {
    flags_.fetch_or(HPZ_JOB_NO_PLACEMENT, std::memory_order_relaxed);
    return;
  }
  const int32_t wanted = verb_ == HPZ_VERB_POPULATE ? call_.options.node : kNoNode;
  if (wanted != kNoNode &&
      std::count(nodes.node, nodes.node + nodes.known, wanted) != nodes.known) {
    flags_.fetch_or(HPZ_JOB_NO_PLACEMENT, std::memory_order_relaxed);
  }
  const auto local_samples =
      static_cast<uint64_t>(std::count(nodes.node, nodes.node + nodes.known, runner.node_id()));
  const uint64_t local =
      bytes / nodes.known * local_samples + bytes % nodes.known * local_samples / nodes.known;
  local_.fetch_add(local, std::memory_order_relaxed);
  remote_.fetch_add(bytes - local, std::memory_order_relaxed);
}

TaskOutcome VerbJob::run_task(void *job, size_t index, const Runner &runner) noexcept {
  auto &self = *static_cast<VerbJob *>(job);
  return self.work_.run(self.work_.context, index, runner);
}

int VerbJob::execute(const Work &work, uint64_t started_ns, hpz_job_report &report) noexcept {
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
  job.threads = options.threads;
  job.progress = options.progress;
  job.user = options.user;
  job.cancel = options.cancel;
  job.deadline_ns = options.deadline_ns;

  JobResult result;
  if (call_.team == nullptr) {
    run_alone(job, result);
  } else if (const int error = call_.team->run(job, result); error != 0) {
    result.error = error;
  }
  report.done_bytes = result.done_bytes;
  report.cleared_bytes = cleared.load(std::memory_order_relaxed);
  report.populated_bytes = populated.load(std::memory_order_relaxed);
  report.skipped_bytes = skipped.load(std::memory_order_relaxed);
  report.local_bytes = local_.load(std::memory_order_relaxed);
  report.remote_bytes = remote_.load(std::memory_order_relaxed);
  report.wall_ns = monotonic_ns() - started_ns;
  report.cpu_ns = result.cpu_ns;
  report.first_bad_offset = result.bad_offset;
  report.error = result.error;
  report.threads = result.threads;
  report.flags = flags_.load(std::memory_order_relaxed);
  return result.error;
}

}  // namespace hpz
