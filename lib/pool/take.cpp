// SPDX-License-Identifier: BSD-2-Clause
//
// Taking pages: where they are looked for, and what a taker does for one that is not clean.
#include <errno.h>

#include <algorithm>

#include "lib/plan/options.h"
#include "lib/pool/passes.h"
#include "lib/pool/pool.h"
#include "lib/team/clock.h"

namespace hpz {
namespace {

constexpr int kPoisoned = 1;  // no errno value: the kernel may have any of these for us

}  // namespace

struct Pool::Search {
  uint32_t flags = 0;
  uint64_t deadline_ns = 0;
  const PoolNode *start = nullptr;  // whose order it is
  Passes passes;

  bool has(uint32_t flag) const noexcept { return (flags & flag) != 0; }
  bool has_expired() const noexcept { return deadline_ns != 0 && monotonic_ns() >= deadline_ns; }
};

struct Pool::Taken {
  uint64_t since_ns = 0;
  PoolNode *node = nullptr;
  Page *page = nullptr;
  hpz_take_outcome outcome = HPZ_TAKE_HIT;
  bool renews = false;  // there is no memory yet, and nobody else sees to it
  bool lifts = false;   // it is the filler who is at it
  // As it was under the lock.
  uint64_t ticket = 0;
};

void PoolNode::Latency::add(uint64_t ns) noexcept {
  ++takes;
  sum_ns += ns;
  min_ns = std::min(min_ns, ns);
  max_ns = std::max(max_ns, ns);
}

Page *Pool::look(PoolNode &node, unsigned kinds, bool may_renew, Taken &taken) noexcept {
  return node.locked([&]() -> Page * {
    Page *page = nullptr;
    taken.outcome = HPZ_TAKE_HIT;
    if ((kinds & Pass::kAny) != 0) page = node.pages.take_any();
    if ((kinds & Pass::kClean) != 0) page = node.pages.take_clean();
    if (page != nullptr) {
      taken.ticket = page->ticket();
      node.latency[HPZ_TAKE_HIT].add(monotonic_ns() - taken.since_ns);
    } else if ((kinds & Pass::kDirty) != 0) {
      page = node.pages.begin(true, may_renew);
      taken.outcome = HPZ_TAKE_MISS;
    }
    if (page == nullptr && (kinds & Pass::kBusy) != 0) {
      page = node.pages.join();
      taken.outcome = HPZ_TAKE_WAIT;
    }
    if (page == nullptr) return nullptr;
    if (taken.outcome != HPZ_TAKE_HIT) {
      node.clearing.fetch_add(1, std::memory_order_relaxed);
      node.turns.fetch_add(1, std::memory_order_relaxed);
      taken.lifts = node.filler.current == page;
      taken.renews = !page->has_memory && page->workers == 1;
    }
    taken.node = &node;
    taken.page = page;
    node.events.look(node.pages.counts());
    return page;
  });
}

Page *Pool::find_page(const Search &search, bool may_renew, Taken &taken) noexcept {
  for (uint32_t i = 0; i < search.passes.count; ++i) {
    const Pass &pass = search.passes.pass[i];
    for (uint32_t at = pass.begin; at < pass.end; ++at) {
      PoolNode &node = *nodes_[search.start->order[at]];
      Page *const page = look(node, pass.kinds, may_renew, taken);
      if (page != nullptr) return page;
    }
  }
  return nullptr;
}

// The page is reserved. 0: it is taken, and reads zero; kPoisoned: it was, meanwhile; -ETIMEDOUT;
// or why it cannot be renewed.
int Pool::clear_for_taker(const Search &search, Taken &taken) noexcept {
  PoolNode &node = *taken.node;
  Page &page = *taken.page;
  if (taken.lifts) node.filler.lift();
  if (unit_bytes_ >= kWakeToHelpBytes && may_help()) wake_filler(node);
  bool renews = taken.renews, has_expired = false, has_too_many = false;
  int error = 0;
  for (;;) {
    error = clear_page({node, page, renews, false}, [&](uint64_t) {
      has_expired = search.has_expired();
      return !has_expired;
    });
    if (error == 0 && has_expired) error = -ETIMEDOUT;
    uint32_t turn = 0;
    bool is_over = true, waits = false;
    node.locked([&] {
      switch (node.pages.settle(page)) {
        case NodePages::Settled::kTaken:
          error = 0;
          taken.ticket = page.ticket();
          node.latency[taken.outcome].add(monotonic_ns() - taken.since_ns);
          break;
        case NodePages::Settled::kLost:
          error = kPoisoned;
          break;
        case NodePages::Settled::kUnfinished:
          is_over = error != 0;
          renews = !page.has_memory;
          break;
        case NodePages::Settled::kNotYet:
          is_over = error != 0;
          renews = false;
          waits = true;
          turn = page.turn.load(std::memory_order_relaxed);
          break;
      }
      if (is_over && error < 0) node.pages.give_up(page);
      has_too_many = node.has_too_many();
      node.events.look(node.pages.counts());
    });
    if (is_over) break;
    if (waits) {  // ... and looks again, at what the others have left undone
      wait_for_turn(page, turn, search.deadline_ns);
      has_expired = search.has_expired();
    }
  }
  node.clearing.fetch_sub(1, std::memory_order_relaxed);
  node.turns.fetch_add(1, std::memory_order_relaxed);
  wake_filler(node);
  if (error != 0) {
    tell_waiters();
    if (has_too_many) drop_spares(node);
  }
  return error;
}

// The end of a chunk is near, as a rule, and to be woken takes as long.
void Pool::wait_for_turn(Page &page, uint32_t turn, uint64_t deadline_ns) noexcept {
  const uint64_t end_ns = monotonic_ns() + kAwakeNs;
  while (may_help() && monotonic_ns() < end_ns) {
    if (page.turn.load(std::memory_order_relaxed) != turn) return;
  }
  futex_wait(page.turn, turn, deadline_ns);
}

int Pool::take_one(const Search &search, Taken &taken) noexcept {
  bool is_waiter = false, may_renew = true;
  int refused = 0, error = 0;
  for (;;) {
    const uint32_t news = news_.load(std::memory_order_acquire);
    if (find_page(search, may_renew, taken) != nullptr) {
      error = taken.outcome == HPZ_TAKE_HIT ? 0 : clear_for_taker(search, taken);
      if (error == 0 || error == -ETIMEDOUT) break;
      if (error != kPoisoned) {
        may_renew = false;
        refused = error;
      }
      continue;
    }
    error = refused != 0 ? refused : search.has(HPZ_TAKE_CLEAN_ONLY) ? -EAGAIN : -ENOMEM;
    if (!search.has(HPZ_TAKE_AWAIT)) break;
    if (!is_waiter) {
      // Said first, then looked again: whoever gives one now tells.
      awaiting_.fetch_add(1, std::memory_order_seq_cst);
      is_waiter = true;
      continue;
    }
    error = -ETIMEDOUT;
    if (search.has_expired()) break;
    uint64_t until_ns = search.deadline_ns;
    if (refused != 0) until_ns = std::min(until_ns, monotonic_ns() + kRetryNs);
    futex_wait(news_, news, until_ns);
    may_renew = true;
  }
  if (is_waiter) awaiting_.fetch_sub(1, std::memory_order_relaxed);
  return error;
}

int Pool::take(const hpz_take_options &options, hpz_page *out, size_t count) noexcept {
  Search search;
  search.flags = options.flags;
  search.deadline_ns = options.deadline_ns;
  search.start = options.node == -1 ? &nearest_node() : find_node(options.node);
  if (search.start == nullptr) return -EINVAL;
  search.passes =
      plan_passes(options.flags, options.node != -1, static_cast<uint32_t>(nodes_.size()));

  const size_t size = out->size;
  Taken taken;
  taken.since_ns = monotonic_ns();
  for (size_t i = 0; i < count; ++i) {
    const int error = take_one(search, taken);
    if (error != 0) return i != 0 ? static_cast<int>(i) : error;
    const Page &page = *taken.page;
    hpz_page own = HPZ_PAGE_INIT;
    own.size = size;
    own.base = page.base;
    own.len = unit_bytes_;
    own.ticket = taken.ticket;
    own.node = taken.node->id;
    own.fd = page.fd;
    own.outcome = taken.outcome;
    auto *const at = reinterpret_cast<hpz_page *>(reinterpret_cast<char *>(out) + i * size);
    at->size = size;
    write_info(at, own);
    if (count > 1) taken.since_ns = monotonic_ns();
  }
  return static_cast<int>(count);
}

}  // namespace hpz
