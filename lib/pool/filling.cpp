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
  const bool wakes = node.locked_by(work.is_filler, [&] {
    if (work.is_filler) {
      node.filler.current = nullptr;
      node.filler.rests.fetch_add(1, std::memory_order_relaxed);
    }
    const bool is_awaited = node.pages.leave(page);
    if (is_awaited) page.turn.fetch_add(1, std::memory_order_relaxed);
    node.events.look(node.pages.counts());
    return is_awaited;
  });
  if (wakes) futex_wake(page.turn, 1);
  if (work.is_filler && node.filler.pausers.load(std::memory_order_relaxed) != 0) {
    futex_wake(node.filler.rests, UINT32_MAX);
  }
  tell_waiters();
}

int Pool::clear_for_pool(PoolNode &node, Page &page, bool renews) noexcept {
  const Work work = {node, page, renews, false};
  const int error = clear_page(work, [](uint64_t) { return true; });
  leave(work);
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
  if (!filler.is_asleep) return nullptr;
  filler.is_asleep = false;
  filler.epoch.fetch_add(1, std::memory_order_relaxed);
  return &filler.epoch;
}

void Pool::wake_filler(PoolNode &node) noexcept {
  FutexWord *const word = node.locked([&] { return whom_to_wake(node); });
  if (word != nullptr) futex_wake(*word, 1);
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

// Under the lock. Not: until when it may sleep, at most (0: until it is woken).
bool Pool::filler_has_work(PoolNode &node, uint64_t &until_ns) noexcept {
  const Filler &filler = node.filler;
  until_ns = 0;
  if (!filler.may_work() || node.clearing.load(std::memory_order_relaxed) != 0 ||
      !node.pages.has_dirty()) {
    return false;
  }
  const uint64_t retry_ns = node.pages.has_clearable() ? 0 : filler.retry_ns;
  const uint64_t begin_ns = std::max(filler.not_before_ns, retry_ns);
  if (begin_ns == 0 || begin_ns <= monotonic_ns()) return true;
  until_ns = begin_ns;
  return false;
}

void Pool::fill_until_closed(PoolNode &node) noexcept {
  constexpr uint64_t kRetryNs = 20'000'000;  // renewing, where there was no huge page to be had
  constexpr uint64_t kSecondNs = 1'000'000'000;
  Filler &filler = node.filler;
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
    return filler.may_work() && node.clearing.load(std::memory_order_relaxed) == 0;
  };
  for (;;) {
    filler.sink();
    uint64_t until_ns = 0;
    uint32_t epoch = 0;
    bool renews = false;
    enum { kClosed, kNothing, kPage };
    Page *page = nullptr;
    const int found = node.locked_by(true, [&] {
      filler.is_asleep = false;
      if (filler.is_closing.load(std::memory_order_relaxed)) return int{kClosed};
      if (!filler_has_work(node, until_ns)) {
        epoch = filler.epoch.load(std::memory_order_relaxed);
        filler.is_asleep = true;
        return int{kNothing};
      }
      page = node.pages.begin(false, true);
      renews = !page->has_memory;
      filler.current = page;
      node.events.look(node.pages.counts());
      return int{kPage};
    });
    if (found == kClosed) return;
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
