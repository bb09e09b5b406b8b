// SPDX-License-Identifier: BSD-2-Clause
//
// The record of a page, and lists of them.
#ifndef HPZERO_LIB_POOL_PAGE_H
#define HPZERO_LIB_POOL_PAGE_H

#include <stdint.h>

#include <atomic>

#include "lib/team/futex.h"

namespace hpz {

enum class PoolPageState : uint8_t {
  kAbsent,  // an address without memory, to grow into
  kDirty,
  kBusy,
  kClean,
  kTaken,
  kPoisoned
};

// Hands out the chunks of a page, each once. All that were handed out are done when nobody who
// works on the page is left, so that it is enough to count from the front: clearing that stops in
// between is gone on with later. (Clearing that fails poisons the page.)
class Chunks {
 public:
  void reset() noexcept { next_.store(0, std::memory_order_relaxed); }
  void close() noexcept { next_.store(UINT32_MAX / 2, std::memory_order_relaxed); }  // no more
  bool are_out(uint32_t count) const noexcept {
    return next_.load(std::memory_order_relaxed) >= count;
  }
  // False: none is left. Read and write of the memory are ordered by the lock of the node.
  bool claim(uint32_t count, uint32_t &chunk) noexcept {
    if (are_out(count)) return false;
    chunk = next_.fetch_add(1, std::memory_order_relaxed);
    return chunk < count;
  }

 private:
  std::atomic<uint32_t> next_{0};
};

struct Region;

// Under the lock of its node, but for what is atomic; the memory itself belongs to who has taken it
// or works on it.
struct alignas(64) Page {
  Page *next = nullptr, *previous = nullptr;  // in the list of its state
  char *base = nullptr;
  Region *region = nullptr;
  uint32_t id = 0;                // in the table of pages
  uint32_t generation = 0;        // of its tickets; 0: it has had none
  std::atomic<uint32_t> node{0};  // index; changes only while the page is absent
  PoolPageState state = PoolPageState::kAbsent;
  bool is_reserved = false;  // busy: for a taker, who is among the workers
  bool is_bad = false;       // poisoned as soon as nobody has it
  bool was_zero = false;     // taken: it read zero then. Absent: it will, when it has memory
  bool is_hole = false;      // absent, its memory is given back, and nobody fills it yet
  bool has_memory = true;    // false: a dropped slab, to be renewed; its chunks are closed
  uint32_t workers = 0;      // busy: threads that may be at its memory
  int32_t fd = -1;
  Chunks chunks;
  // Names it and its taking, where generation is not 0.
  uint64_t ticket() const noexcept { return uint64_t{generation} << 32 | id; }

  FutexWord turn{0};  // counts what a taker that waits for it has to look at

  // One page alone, taken and given on and on, comes round in some minutes.
  void end_tickets() noexcept {
    if (++generation == 0) generation = 1;
  }
};

// Intrusive, in both directions; a page is in one list at most.
class PageList {
 public:
  Page *front() const noexcept { return first_; }
  Page *back() const noexcept { return last_; }

  void push_front(Page &page) noexcept {
    page.previous = nullptr;
    page.next = first_;
    (first_ != nullptr ? first_->previous : last_) = &page;
    first_ = &page;
  }
  void push_back(Page &page) noexcept {
    page.next = nullptr;
    page.previous = last_;
    (last_ != nullptr ? last_->next : first_) = &page;
    last_ = &page;
  }
  void remove(Page &page) noexcept {
    (page.previous != nullptr ? page.previous->next : first_) = page.next;
    (page.next != nullptr ? page.next->previous : last_) = page.previous;
    page.next = page.previous = nullptr;
  }

 private:
  Page *first_ = nullptr, *last_ = nullptr;
};

}  // namespace hpz

#endif
