// SPDX-License-Identifier: BSD-2-Clause
#include "lib/pool/node_pages.h"

namespace hpz {

uint64_t &NodePages::count_of(PoolPageState state) noexcept {
  switch (state) {
    case PoolPageState::kDirty:
      return counts_.dirty;
    case PoolPageState::kBusy:
      return counts_.busy;
    case PoolPageState::kClean:
      return counts_.clean;
    case PoolPageState::kTaken:
      return counts_.taken;
    case PoolPageState::kAbsent:
    case PoolPageState::kPoisoned:
      break;
  }
  return counts_.poisoned;
}

// Of a state in which pages are listed.
PageList &NodePages::list_of(const Page &page) noexcept {
  if (page.state == PoolPageState::kClean) return clean_;
  if (page.state == PoolPageState::kBusy) return page.is_reserved ? reserved_ : busy_;
  return page.has_memory ? dirty_ : dropped_;
}

void NodePages::leave_state(Page &page) noexcept {
  if (page.state == PoolPageState::kAbsent) return;
  --count_of(page.state);
  if (page.state == PoolPageState::kClean || page.state == PoolPageState::kDirty ||
      page.state == PoolPageState::kBusy) {
    list_of(page).remove(page);
  }
}

// is_reserved and has_memory are those of the new state already.
void NodePages::enter_state(Page &page, PoolPageState state) noexcept {
  page.state = state;
  if (state == PoolPageState::kAbsent) return;
  ++count_of(state);
  if (state == PoolPageState::kClean) {
    clean_.push_front(page);
  } else if (state == PoolPageState::kBusy) {
    list_of(page).push_back(page);
  } else if (state == PoolPageState::kDirty) {
    // What is cleared in part costs the next one the least.
    if (page.has_memory && page.chunks.are_out(1)) {
      dirty_.push_front(page);
    } else {
      list_of(page).push_back(page);
    }
  }
}

void NodePages::add(Page &page, bool is_zero) noexcept {
  page.is_bad = page.is_reserved = false;
  page.has_memory = true;
  page.workers = 0;
  page.chunks.reset();
  enter_state(page, is_zero ? PoolPageState::kClean : PoolPageState::kDirty);
}

Page *NodePages::pop_spare() noexcept {
  Page *page = dropped_.front();
  if (page == nullptr) page = dirty_.back();
  if (page == nullptr) page = clean_.back();
  if (page == nullptr) return nullptr;
  leave_state(*page);
  enter_state(*page, PoolPageState::kAbsent);
  page->end_tickets();
  return page;
}

void NodePages::take(Page &page, bool is_zero) noexcept {
  leave_state(page);
  page.is_reserved = false;
  page.was_zero = is_zero;
  page.end_tickets();
  enter_state(page, PoolPageState::kTaken);
}

Page *NodePages::take_clean() noexcept {
  Page *const page = clean_.front();
  if (page != nullptr) take(*page, true);
  return page;
}

Page *NodePages::take_any() noexcept {
  // The one that is cleared the least, if at all.
  Page *const page = dirty_.back();
  if (page == nullptr) return take_clean();
  take(*page, false);
  return page;
}

Page *NodePages::begin(bool is_reserved, bool may_renew) noexcept {
  Page *page = dirty_.front();
  if (page == nullptr && may_renew) page = dropped_.front();
  if (page == nullptr) return nullptr;
  leave_state(*page);
  page->is_reserved = is_reserved;
  page->workers = 1;
  enter_state(*page, PoolPageState::kBusy);
  return page;
}

void NodePages::begin_given(Page &page) noexcept {
  leave_state(page);
  page.chunks.reset();
  page.workers = 1;
  if (page.is_bad) page.chunks.close();
  enter_state(page, PoolPageState::kBusy);
}

Page *NodePages::join() noexcept {
  Page *const page = busy_.front();
  if (page == nullptr) return nullptr;
  reserve(*page, true);
  ++page->workers;
  return page;
}

Page *NodePages::help() noexcept {
  for (Page *page = reserved_.front(); page != nullptr; page = page->next) {
    if (!page->has_memory || page->chunks.are_out(chunks_)) continue;
    ++page->workers;
    return page;
  }
  return nullptr;
}

// Of a busy page.
void NodePages::reserve(Page &page, bool is_reserved) noexcept {
  list_of(page).remove(page);
  page.is_reserved = is_reserved;
  list_of(page).push_back(page);
}

// Nobody is at the page, and no taker waits for it.
void NodePages::resolve(Page &page) noexcept {
  leave_state(page);
  page.is_reserved = false;
  if (page.is_bad) {
    enter_state(page, PoolPageState::kPoisoned);
  } else if (page.has_memory && page.chunks.are_out(chunks_)) {
    enter_state(page, PoolPageState::kClean);
  } else {
    enter_state(page, PoolPageState::kDirty);
  }
}

bool NodePages::leave(Page &page) noexcept {
  --page.workers;
  if (page.workers == 0) resolve(page);
  return page.workers == 1 && page.is_reserved;
}

NodePages::Settled NodePages::settle(Page &page) noexcept {
  if (page.workers > 1) return Settled::kNotYet;
  if (page.is_bad) {
    page.workers = 0;
    resolve(page);
    return Settled::kLost;
  }
  if (!page.has_memory || !page.chunks.are_out(chunks_)) return Settled::kUnfinished;
  page.workers = 0;
  take(page, true);
  return Settled::kTaken;
}

void NodePages::give_up(Page &page) noexcept {
  --page.workers;
  if (page.workers == 0) return resolve(page);
  reserve(page, false);
}

void NodePages::give(Page &page, bool is_zero) noexcept {
  leave_state(page);
  page.chunks.reset();
  if (page.is_bad) {
    enter_state(page, PoolPageState::kPoisoned);
  } else {
    enter_state(page, is_zero ? PoolPageState::kClean : PoolPageState::kDirty);
  }
}

void NodePages::poison(Page &page) noexcept {
  if (page.state == PoolPageState::kAbsent || page.state == PoolPageState::kPoisoned) return;
  page.is_bad = true;
  if (page.state == PoolPageState::kTaken) return;
  page.chunks.close();
  if (page.state == PoolPageState::kBusy) return;
  leave_state(page);
  enter_state(page, PoolPageState::kPoisoned);
}

}  // namespace hpz
