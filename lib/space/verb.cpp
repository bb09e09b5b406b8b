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
  if (call_.space.page_bytes != 0) return call_.space.page_bytes;
  // Piece by piece, for what lies between them is somebody else's. The first ones of very many tell
  // enough for what are only chunk boundaries.
  constexpr size_t kMostLookups = 100;
  uint64_t largest = 0;
  for (size_t i = 0; i < std::min(pieces_.size(), kMostLookups); ++i) {
    const auto begin = reinterpret_cast<uintptr_t>(pieces_[i].at);
    largest = std::max(largest, largest_page_bytes(begin, begin + pieces_[i].bytes));
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
  page_bytes_ = page_bytes;
  const uint64_t block = grain(page_bytes);
  const Cut cut = {chunk_bytes(block), block, window_piece_, kMostPieces};
  if (!cut_chunks(pieces_, cut, chunks_) || !tasks_.resize(chunks_.size())) return -ENOMEM;
  for (size_t i = 0; i < chunks_.size(); ++i) {
    tasks_[i].bytes = chunks_[i].bytes;
    if (chunks_[i].piece == window_piece_) window_chunk_ = i;
  }
  const int error = find_nodes();
  // Where there is one node, nothing is asked any more.
  if (error != 0 || !has_many_nodes_) return error;
  if (!nodes_.resize(chunks_.size())) return -ENOMEM;
  const int32_t here = current_node();
  for (size_t i = 0; i < chunks_.size(); ++i) place(i, here);
  return has_policy_ ? choose_policy() : 0;
}

// Whether there are several nodes, and whether the one that is asked for is among them.
int VerbJob::find_nodes() noexcept {
  const int32_t node = verb_ == HPZ_VERB_POPULATE ? call_.options.node : kNoNode;
  MemoryPolicy allowed;
  const bool is_told = read_allowed_nodes(allowed) == 0;
  if (is_told && node != kNoNode && !allowed.has(node)) return -EINVAL;
  // A cpuset may allow one node of several; memory may lie on the others all the same.
  has_many_nodes_ = (is_told && allowed.count() > 1) ||
                    (call_.team != nullptr && call_.team->placement().nodes.size() > 1);
  if (!is_told && (has_many_nodes_ || call_.team == nullptr || node != kNoNode)) {
    flags_.fetch_or(HPZ_JOB_NO_PLACEMENT, std::memory_order_relaxed);
  }
  // Asked for once; a thread without a policy of its own has the default one.
  if (has_many_nodes_ && read_thread_policy(own_) != 0) {
    flags_.fetch_or(HPZ_JOB_NO_PLACEMENT, std::memory_order_relaxed);
  }
  return 0;
}

void VerbJob::place(size_t index, int32_t here) noexcept {
  ChunkNodes &nodes = nodes_[index];
  // What populate does to pages that are there costs nothing: it is about those that are not.
  if (verb_ == HPZ_VERB_POPULATE) return place_absent(index, here);
  sample(index, nodes);
  uint32_t best = 0, best_count = 0;
  for (uint32_t a = 0; a < nodes.known; ++a) {
    const auto count =
        static_cast<uint32_t>(std::count(nodes.node, nodes.node + nodes.known, nodes.node[a]));
    if (count > best_count) {
      best = a;
      best_count = count;
    }
  }
  if (best_count != 0) {
    tasks_[index].node = index_of_node(nodes.node[best]);
  } else if (nodes.absent != 0) {
    place_absent(index, here);
  } else {
    tasks_[index].node = index_of_node(here);
  }
}

// Who touches such a page first decides where it lies, but for the policies: the mapping's, else
// the calling thread's, which the workers take on.
void VerbJob::place_absent(size_t index, int32_t here) noexcept {
  has_policy_ = true;
  Task &task = tasks_[index];
  const int32_t node = verb_ == HPZ_VERB_POPULATE ? call_.options.node : kNoNode;
  task.bound = true;
  if (node != kNoNode) {
    task.node = index_of_node(node);
    return;
  }
  MemoryPolicy mapping;
  const char *const at = pieces_[chunks_[index].piece].at + chunks_[index].skip;
  const bool has_own = read_mapping_policy(at, mapping) == 0 && !mapping.is_default();
  const MemoryPolicy &policy = has_own ? mapping : own_;
  task.bound = !policy.is_interleaved();
  const bool is_here = policy.is_default() || policy.has(here) || policy.first_node() == kNoNode;
  task.node = index_of_node(is_here ? here : policy.first_node());
}

// Of the threads that work on a job with absent pages.
int VerbJob::choose_policy() noexcept {
  const int32_t node = verb_ == HPZ_VERB_POPULATE ? call_.options.node : kNoNode;
  if (node == kNoNode) {
    policy_ = own_.is_default() ? MemoryPolicy::prefer(current_node()) : own_;
  } else if (page_bytes_ >= kHugePageBytes) {
    policy_ = MemoryPolicy::bind_to(node);
  } else {
    // Bound to a full node, ordinary pages would call the kernel's OOM killer, not return an error.
    policy_ = MemoryPolicy::prefer(node);
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

void VerbJob::count_locality(size_t index, uint64_t bytes) noexcept {
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
      static_cast<uint64_t>(std::count(nodes.node, nodes.node + nodes.known, current_node()));
  const uint64_t local =
      bytes / nodes.known * local_samples + bytes % nodes.known * local_samples / nodes.known;
  local_.fetch_add(local, std::memory_order_relaxed);
  remote_.fetch_add(bytes - local, std::memory_order_relaxed);
}

TaskOutcome VerbJob::run_task(void *job, size_t index) noexcept {
  auto &self = *static_cast<VerbJob *>(job);
  return self.work_.run(self.work_.context, index);
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
