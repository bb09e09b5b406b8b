// SPDX-License-Identifier: BSD-2-Clause
//
// Where a job's memory lies, or will lie; who is to work on it, and who did.
#include <errno.h>

#include <algorithm>

#include "lib/space/pages.h"
#include "lib/space/verb_job.h"

namespace hpz {
namespace {

// The node whose threads are to touch what lies under this policy.
int32_t toucher_of(const MemoryPolicy &policy, int32_t here) noexcept {
  const bool is_here = policy.is_default() || policy.has(here) || policy.first_node() == kNoNode;
  return is_here ? here : policy.first_node();
}

}  // namespace

int VerbJob::locate() noexcept {
  const int error = find_nodes();
  // Where there is one node, nothing is asked any more.
  if (error != 0 || !has_many_nodes_) return error;
  if (!call_.space.has_addresses()) {
    place_unseen(current_node());
    return 0;
  }
  if (!nodes_.resize(chunks_.size())) return -ENOMEM;
  const int32_t here = current_node();
  for (size_t i = 0; i < chunks_.size(); ++i) place(i, here);
  if (has_policy_) choose_policy(here);
  return 0;
}

// Where populate is to place pages; other verbs have no say in it.
int32_t VerbJob::wanted_node() const noexcept {
  return verb_ == HPZ_VERB_POPULATE ? call_.options.node : kNoNode;
}

// Whether there are several nodes, and whether the one that is asked for is among them.
int VerbJob::find_nodes() noexcept {
  const int32_t node = wanted_node();
  MemoryPolicy allowed;
  const bool is_told = read_allowed_nodes(allowed) == 0;
  if (is_told && node != kNoNode && !allowed.has(node)) return -EINVAL;
  // A cpuset may allow one node of several; memory may lie on the others all the same.
  has_many_nodes_ = (is_told && allowed.count() > 1) ||
                    (call_.team != nullptr && call_.team->placement().nodes.size() > 1);
  if (!is_told && (has_many_nodes_ || call_.team == nullptr || node != kNoNode)) {
    add_flag(HPZ_JOB_NO_PLACEMENT);
  }
  // Asked for once; a thread without a policy of its own has the default one.
  if (has_many_nodes_ && read_thread_policy(own_) != 0) {
    add_flag(HPZ_JOB_NO_PLACEMENT);
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
  const int32_t node = wanted_node();
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
  task.node = index_of_node(toucher_of(policy, here));
}

// Memory of which nobody knows where it lies. What of it is not there yet is placed as if the
// calling thread had touched it.
void VerbJob::place_unseen(int32_t here) noexcept {
  has_policy_ = true;
  choose_policy(here);
  const int32_t wanted = wanted_node();
  const uint32_t its_node = index_of_node(wanted != kNoNode ? wanted : toucher_of(own_, here));
  const bool is_bound = verb_ == HPZ_VERB_POPULATE && (wanted != kNoNode || !own_.is_interleaved());
  const size_t nodes = call_.team != nullptr ? call_.team->placement().nodes.size() : 1;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    tasks_[i].bound = is_bound;
    tasks_[i].node = is_bound ? its_node : static_cast<uint32_t>(i * nodes / tasks_.size());
  }
}

// Of the threads that work on a job with absent pages.
void VerbJob::choose_policy(int32_t here) noexcept {
  const int32_t node = wanted_node();
  if (node == kNoNode) {
    policy_ = own_.is_default() ? MemoryPolicy::prefer(here) : own_;
  } else if (page_bytes_ >= kHugePageBytes) {
    policy_ = MemoryPolicy::bind_to(node);
  } else {
    // Bound to a full node, ordinary pages would call the kernel's OOM killer, not return an error.
    policy_ = MemoryPolicy::prefer(node);
  }
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
    self.add_flag(HPZ_JOB_NO_PLACEMENT);
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
  if (nodes_.empty()) {  // nobody knows
    add_flag(HPZ_JOB_NO_PLACEMENT);
    return;
  }
  ChunkNodes &nodes = nodes_[index];  // this task's alone
  // Pages that have come meanwhile are asked for only now.
  if (nodes.absent != 0 || verb_ == HPZ_VERB_POPULATE) sample(index, nodes);
  if (nodes.known == 0) {
    add_flag(HPZ_JOB_NO_PLACEMENT);
    return;
  }
  const int32_t wanted = wanted_node();
  if (wanted != kNoNode &&
      std::count(nodes.node, nodes.node + nodes.known, wanted) != nodes.known) {
    add_flag(HPZ_JOB_NO_PLACEMENT);
  }
  const auto local_samples =
      static_cast<uint64_t>(std::count(nodes.node, nodes.node + nodes.known, current_node()));
  const uint64_t local =
      bytes / nodes.known * local_samples + bytes % nodes.known * local_samples / nodes.known;
  local_.fetch_add(local, std::memory_order_relaxed);
  remote_.fetch_add(bytes - local, std::memory_order_relaxed);
}

}  // namespace hpz
