// SPDX-License-Identifier: BSD-2-Clause
//
// Clearing pages: by chunks, by whoever is at them; and the filler's rounds.
#include <errno.h>

#include <algorithm>

#include "lib/pool/pool.h"
#include "lib/space/clear_parts.h"
#include "lib/team/clock.h"
#include "lib/zero/dispatch.h"

namespace hpz {

// --- Chunks --------------------------------------------------------------------------------------

int Pool::clear_chunk(const Page &page, uint32_t chunk, uint64_t &bytes) noexcept {
  const uint64_t begin = chunk * chunk_bytes_;
  bytes = std::min(chunk_bytes_, unit_bytes_ - begin);
  PartClearer clearer(current_plan().selection.stream, bytes);
  clearer.add(page.base + begin, bytes);
  return clearer.finish().error;
}

// A dropped slab gets a file of its own again, which the kernel clears.
int Pool::renew(const Work &work) noexcept {
  PoolNode &node = work.node;
  Page &page = work.page;
  // Its own pages went back to the kernel, and others may have come since.
  if (may_grow(node, 1) != 0) return -ENOMEM;
  MappedMemory memory;
  int error = map_memory(source_, unit_bytes_, memory);
  if (error != 0) return error;
  const hpz_range range = {memory.base, unit_bytes_};
  uint32_t report_flags = 0;
  const Population how = {has_many_nodes_ ? node.id : -1, nullptr, &node.filler.cancel};
  error = populate_memory(source_, &range, 1, how, report_flags);
  if (error != 0) {
    unmap_memory(memory, unit_bytes_);
    return error;
  }
  node.renewed_bytes.fetch_add(unit_bytes_, std::memory_order_relaxed);
  node.locked_by(work.is_filler, [&] {
    page.region->memory = memory;
    page.base = memory.base;
    page.fd = memory.fd;
    page.has_memory = true;
    page.chunks.close();  // none is left to be cleared
  });
  return 0;
}

// Of the pool's own workers.
void Pool::leave(const Work &work) noexcept {
  PoolNode &node = work.node;
  Page &page = work.page;
  bool wakes = false, has_too_many = false;
  node.locked_by(work.is_filler, [&] {
    if (work.is_filler) {
      node.filler.current = nullptr;
      node.filler.rests.fetch_add(1, std::memory_order_relaxed);
    }
    wakes = node.pages.leave(page);
    if (wakes) page.turn.fetch_add(1, std::memory_order_relaxed);
    has_too_many = node.has_too_many();
    node.events.look(node.pages.counts());
  });
  if (wakes) futex_wake(page.turn, 1);
  if (work.is_filler && node.filler.pausers.load(std::memory_order_relaxed) != 0) {
    futex_wake(node.filler.rests, UINT32_MAX);
  }
  tell_waiters();
  if (has_too_many && !work.is_filler) drop_spares(node);  // what a filler leaves, shrink() drops
}

int Pool::clear_for_pool(PoolNode &node, Page &page, bool renews) noexcept {
  const Work work = {node, page, renews, false};
  const int error = clear_page(work, [](uint64_t) { return true; });
  leave(work);
  if (error != 0) wake_filler(node);  // who tries again later
  return error;
}

// --- Who sleeps ----------------------------------------------------------------------------------

// Takers that found nothing at all. Whoever is about to sleep has said so before it looked under
// the lock that the caller has had since: it is seen here, or has seen the page.
void Pool::tell_waiters() noexcept {
  if (awaiting_.load(std::memory_order_seq_cst) == 0) return;
  news_.fetch_add(1, std::memory_order_release);
  futex_wake(news_, UINT32_MAX);
}

// Under the lock: the word to wake when it is released; null: none.
FutexWord *Pool::whom_to_wake(PoolNode &node) noexcept {
  Filler &filler = node.filler;
  if (!filler.is_asleep || !(has_work(node) || filler.is_closing.load(std::memory_order_relaxed))) {
    return nullptr;
  }
  filler.is_asleep = false;
  filler.epoch.fetch_add(1, std::memory_order_relaxed);
  return &filler.epoch;
}

void Pool::wake_filler(PoolNode &node) noexcept {
  FutexWord *const word = node.locked([&] { return whom_to_wake(node); });
  if (word != nullptr) futex_wake(*word, 1);
}

// What is too many is not cleared: whoever has just left it is about to drop it. And shrinking
// waits for a filler that is at a page, not for one that comes to it later.
bool Pool::has_work(const PoolNode &node) const noexcept {
  if (!node.filler.may_work() || node.has_too_many()) return false;
  const bool helps = node.clearing.load(std::memory_order_relaxed) != 0;
  return helps ? may_help() : node.pages.has_dirty();
}

// --- The filler ----------------------------------------------------------------------------------

void *Pool::filler_main(void *node) noexcept {
  auto &self = *static_cast<PoolNode *>(node);
  self.filler.enter();
  self.pool.fill_until_closed(self);
  return nullptr;
}

int Pool::start_filler(PoolNode &node) noexcept {
  if (node.filler.is_there()) return 0;
  node.filler.wants_idle = wants_idle_;
  const int error = node.filler.start(filler_main, &node, node.cpus);
  if (error == 0 && !node.filler.is_pinned) flags_.fetch_or(HPZ_POOL_UNPINNED);
  return error;
}

// Under the lock: a page to work on, or null: until when it may sleep, at most (0: until it is
// woken). While takers clear, theirs: one thread alone may fill the path to the memory, and what
// would go to another page would be missing there.
Page *Pool::find_work(PoolNode &node, uint64_t &until_ns) noexcept {
  const Filler &filler = node.filler;
  until_ns = 0;
  if (!has_work(node)) return nullptr;
  const bool helps = node.clearing.load(std::memory_order_relaxed) != 0;
  const uint64_t retry_ns = helps || node.pages.has_clearable() ? 0 : filler.retry_ns;
  const uint64_t begin_ns = std::max(filler.not_before_ns, retry_ns);
  if (begin_ns != 0 && begin_ns > monotonic_ns()) {
    until_ns = begin_ns;
    return nullptr;
  }
  return helps ? node.pages.help() : node.pages.begin(false, true);
}

// Whoever takes page after page clears the next one soon, and to sleep and be woken would take
// longer.
void Pool::look_for_takers(const PoolNode &node, uint32_t seen) noexcept {
  const uint64_t end_ns = monotonic_ns() + kAwakeNs;
  while (node.turns.load(std::memory_order_relaxed) == seen && monotonic_ns() < end_ns) {
  }
}

void Pool::fill_until_closed(PoolNode &node) noexcept {
  constexpr uint64_t kSecondNs = 1'000'000'000;
  Filler &filler = node.filler;
  bool was_awake = false;
  bool helps = false;
  const auto may_go_on = [&](uint64_t bytes) {
    if (fill_bytes_per_s_ != 0) {
      const uint64_t now = monotonic_ns();
      const double takes_ns =
          static_cast<double>(bytes) * kSecondNs / static_cast<double>(fill_bytes_per_s_);
      // An hour is for ever enough, and no overflow.
      const double at_most = 3600.0 * kSecondNs;
      filler.not_before_ns =
          std::max(now, filler.not_before_ns) + static_cast<uint64_t>(std::min(takes_ns, at_most));
      if (filler.not_before_ns > now) return false;
    }
    return filler.may_work() && (helps || node.clearing.load(std::memory_order_relaxed) == 0);
  };
  for (;;) {
    filler.sink();
    uint64_t until_ns = 0;
    uint32_t epoch = 0, turn = 0;
    bool renews = false;
    enum { kClosed, kNothing, kTakers, kPage };
    Page *page = nullptr;
    const int found = node.locked_by(true, [&] {
      filler.is_asleep = false;
      if (filler.is_closing.load(std::memory_order_relaxed)) return int{kClosed};
      page = find_work(node, until_ns);
      if (page == nullptr) {
        turn = node.turns.load(std::memory_order_relaxed);
        const bool helps_again =
            has_work(node) && node.clearing.load(std::memory_order_relaxed) != 0;
        if (helps_again && !was_awake) return int{kTakers};
        epoch = filler.epoch.load(std::memory_order_relaxed);
        filler.is_asleep = true;
        return int{kNothing};
      }
      helps = page->is_reserved;
      renews = !page->has_memory;
      filler.current = page;
      node.events.look(node.pages.counts());
      return int{kPage};
    });
    if (found == kClosed) return;
    if (found == kTakers) {
      look_for_takers(node, turn);
      was_awake = true;
      continue;
    }
    was_awake = false;
    if (found == kNothing) {
      futex_wait(filler.epoch, epoch, until_ns);
      continue;
    }
    const Work work = {node, *page, renews, true};
    const int error = clear_page(work, may_go_on);
    if (error != 0) filler.retry_ns = monotonic_ns() + kRetryNs;
    leave(work);
  }
}

}  // namespace hpz
