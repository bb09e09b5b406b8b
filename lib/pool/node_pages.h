// SPDX-License-Identifier: BSD-2-Clause
//
// The pages of one node: which is in what state, and what may become of it. Knows no threads, no
// memory and no clock; callers hold the node's lock.
//
//   absent  add -> clean, dirty
//   dirty   begin -> busy              take_any -> taken            pop_spare -> absent
//   busy    leave, settle, give_up: when nobody is at it any more, all of it cleared -> clean, or
//           taken if it is reserved; else -> dirty
//   clean   take_clean -> taken        take_any -> taken            pop_spare -> absent
//   taken   give -> dirty, clean       begin_given -> busy
//   any     poison -> poisoned: at once where nobody has it, else when nobody has it any more
#ifndef HPZERO_LIB_POOL_NODE_PAGES_H
#define HPZERO_LIB_POOL_NODE_PAGES_H

#include <stdint.h>

#include "lib/pool/page.h"

namespace hpz {

class NodePages {
 public:
  struct Counts {
    uint64_t clean = 0, dirty = 0, busy = 0, taken = 0, poisoned = 0;
    uint64_t usable() const noexcept { return clean + dirty + busy + taken; }
  };

  // chunks: of which a page is cleared, at least 1.
  explicit NodePages(uint32_t chunks) noexcept : chunks_(chunks) {}

  const Counts &counts() const noexcept { return counts_; }
  uint32_t chunks() const noexcept { return chunks_; }
  bool has_dirty() const noexcept { return counts_.dirty != 0; }
  bool has_spare() const noexcept { return counts_.dirty + counts_.clean != 0; }
  // A dirty one that needs no new memory.
  bool has_clearable() const noexcept { return dirty_.front() != nullptr; }

  void add(Page &page, bool is_zero) noexcept;  // an absent one
  // Takes one out that nobody has, dirty ones first, and makes it absent; null: there is none.
  Page *pop_spare() noexcept;

  // A page for a taker, or null. Their tickets are new.
  Page *take_clean() noexcept;
  Page *take_any() noexcept;  // of any content: a dirty one first; never one without memory

  // A dirty page to be cleared, or null. The caller becomes the first of its workers; reserved: and
  // will take it. One without memory only if there is no other, and the caller may renew it.
  Page *begin(bool is_reserved, bool may_renew) noexcept;
  // The same of one that is taken, for the pool.
  void begin_given(Page &page) noexcept;
  // A busy page that nobody has reserved, reserved now for the caller, who becomes one of its
  // workers; or null.
  Page *join() noexcept;
  // A busy page of a taker's at which there is something left to do, or null. The caller becomes
  // one of its workers, for the pool.
  Page *help() noexcept;

  // A worker has done all chunks that it had and goes: the pool's, not a taker. True: the taker who
  // has reserved the page is the last one, and is to be woken.
  [[nodiscard]] bool leave(Page &page) noexcept;

  enum class Settled {
    kNotYet,      // others are still at it
    kUnfinished,  // the taker is alone, and there are chunks left, or there is no memory yet
    kTaken,       // it is the taker's
    kLost         // poisoned
  };
  // The taker who has reserved it has no chunk in work.
  Settled settle(Page &page) noexcept;
  // ... and does not want it any more. (Of the others the last one sees to it.)
  void give_up(Page &page) noexcept;

  // Back from its taker; is_zero: for sure.
  void give(Page &page, bool is_zero) noexcept;

  void poison(Page &page) noexcept;

 private:
  PageList &list_of(const Page &page) noexcept;
  uint64_t &count_of(PoolPageState state) noexcept;
  void leave_state(Page &page) noexcept;
  void enter_state(Page &page, PoolPageState state) noexcept;
  void take(Page &page, bool is_zero) noexcept;
  void resolve(Page &page) noexcept;
  void reserve(Page &page, bool is_reserved) noexcept;

  const uint32_t chunks_;
  Counts counts_;
  PageList clean_;
  PageList dirty_;    // the oldest first, before them those that are cleared in part
  PageList dropped_;  // dirty ones without memory
  PageList busy_;
  PageList reserved_;  // busy ones that takers have
};

}  // namespace hpz

#endif
