// SPDX-License-Identifier: BSD-2-Clause
//
// What the verbs have in common: from extents to tasks (verb_job.cpp), each for the threads of the
// node that owns its memory (locality.cpp), and back to a report.
#ifndef HPZERO_LIB_SPACE_VERB_JOB_H
#define HPZERO_LIB_SPACE_VERB_JOB_H

#include <hpzero/space.h>
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "lib/space/piece_mappings.h"
#include "lib/space/pieces.h"
#include "lib/space/space.h"
#include "lib/team/job.h"
#include "lib/team/mempolicy.h"

namespace hpz {

inline constexpr uint64_t kUsualChunkBytes = uint64_t{32} << 20;

// Where a chunk's memory lies, by samples.
struct ChunkNodes {
  static constexpr size_t kSamples = 16;
  uint32_t known = 0;   // samples that have a node
  uint32_t absent = 0;  // ... whose page is not there yet
  int32_t node[kSamples] = {};
};

// A job of one verb. Its run function is the verb's; everything else is done here.
class VerbJob {
 public:
  VerbJob(const VerbCall &call, hpz_verb verb) noexcept;

  // Finds the pieces; -EINVAL, -ENOMEM.
  int find_pieces() noexcept;
  const Array<Piece> &pieces() const noexcept { return pieces_; }
  // Splits off what the calling thread reads next (options.touch_next), to be cleared last.
  int split_touch_window() noexcept;
  // The largest page size of the mappings, of those that are known already, if given; 0: it cannot
  // be found out.
  uint64_t page_bytes(const PieceMappings *known) const noexcept;
  // Cuts into chunks, no two of which share a page of this size, nor a transparent huge page unless
  // the caller wants smaller chunks, and queues each at the node that owns its memory. What is not
  // there yet is for the threads of the node on which the policies place it; all of it in a
  // populate job. -ENOMEM; -EINVAL: options.node is no node that may be used.
  int cut(uint64_t page_bytes) noexcept;

  struct Work {
    TaskOutcome (*run)(void *context, size_t index) noexcept;
    void *context;
  };
  // Fills in all of the report but what only the verb knows, which it adds by the counters below.
  int execute(const Work &work, hpz_job_report &report) noexcept;

  const Chunk &chunk(size_t index) const noexcept { return chunks_[index]; }
  bool is_window(size_t index) const noexcept { return index == window_chunk_; }
  uint64_t offset_of(size_t index, const char *at) const noexcept;  // at: in that chunk
  // The first of the chunk's bytes at or behind this offset, which is not behind all of them.
  uint64_t wanted_from(size_t index, uint64_t offset) const noexcept;
  // How many of the chunk's bytes lie before this offset.
  uint64_t bytes_before(size_t index, uint64_t offset) const noexcept;
  // Which of the bytes were worked on by a CPU of their node.
  void count_locality(size_t index, uint64_t bytes) noexcept;

  void add_flag(uint32_t flag) noexcept { flags_.fetch_or(flag, std::memory_order_relaxed); }

  std::atomic<uint64_t> cleared{0}, populated{0}, skipped{0};

 private:
  uint64_t grain(uint64_t page_bytes) const noexcept;
  uint64_t chunk_bytes(uint64_t grain) const noexcept;
  void sample(size_t index, ChunkNodes &nodes) const noexcept;
  uint32_t index_of_node(int32_t id) const noexcept;
  int32_t wanted_node() const noexcept;
  int find_nodes() noexcept;
  int locate() noexcept;
  void choose_policy(int32_t here) noexcept;
  void place(size_t index, int32_t here) noexcept;
  void place_absent(size_t index, int32_t here) noexcept;
  void place_unseen(int32_t here) noexcept;
  static void enter_with_policy(void *job, Runner &runner) noexcept;
  static void leave_with_policy(void *job, Runner &runner) noexcept;
  static TaskOutcome run_task(void *job, size_t index) noexcept;
  void tell(size_t index, uint64_t done_bytes) const noexcept;

  const VerbCall &call_;
  const hpz_verb verb_;
  Work work_ = {};
  Array<Piece> pieces_;
  Array<Chunk> chunks_;
  Array<Task> tasks_;
  Array<ChunkNodes> nodes_;  // empty: one node, or not known
  size_t window_piece_ = SIZE_MAX, window_chunk_ = SIZE_MAX;
  const uint64_t started_ns_, started_cpu_ns_;
  uint64_t total_ = 0, page_bytes_ = 0;
  bool has_many_nodes_ = false, has_policy_ = false;
  MemoryPolicy own_;     // of the calling thread
  MemoryPolicy policy_;  // of the threads while they work, if has_policy_
  std::atomic<uint64_t> local_{0}, remote_{0};
  std::atomic<uint32_t> flags_{0};
};

}  // namespace hpz

#endif
