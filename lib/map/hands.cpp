// SPDX-License-Identifier: BSD-2-Clause
#include "lib/map/hands.h"

#include <algorithm>

namespace hpz {

Part Hands::whole_units(Part part) const noexcept {
  const Pages &pages = map_.pages;
  const uint64_t unit = after_ == PageState::kFresh ? pages.page_bytes() : pages.subpage_bytes();
  return pages.whole_units(part, unit);
}

Part Hands::taken_of(Part part) const noexcept {
  return {std::max(part.begin, batch_.taken_from), std::min(part.end, batch_.taken_to)};
}

bool Hands::publish(uint64_t page, Part part, PageState after) noexcept {
  Pages &pages = map_.pages;
  return pages.publish(page, pages.subpage_in(page, part.begin), pages.subpage_in(page, part.end),
                       after);
}

bool Hands::give_back(uint64_t page, Part part) noexcept {
  Pages &pages = map_.pages;
  return pages.give_back(page, pages.subpage_in(page, part.begin),
                         pages.subpage_in(page, part.end));
}

// --- While the job runs --------------------------------------------------------------------------

void Hands::tell(void *self, uint64_t offset, uint64_t bytes) noexcept {
  static_cast<Hands *>(self)->told(offset, offset + bytes);
}

void Hands::told(uint64_t begin, uint64_t end) noexcept {
  pthread_mutex_lock(&mutex_);
  const size_t index = told_.size();
  const bool is_listed = told_.push_back({begin, end, true, true});
  pthread_mutex_unlock(&mutex_);
  if (!is_listed) return;  // then it was not told, and is dealt with at the end
  const Part part = whole_units(taken_of({begin, end}));
  if (part.begin >= part.end) return;
  Pages &pages = map_.pages;
  const uint64_t first = pages.page_of(part.begin), last = pages.page_of(part.end - 1);
  bool has_first = true, has_last = true;
  for (uint64_t page = first; page <= last; ++page) {
    const bool is_published = publish(page, pages.in_page(page, part), after_);
    if (page == first) has_first = is_published;
    if (page == last) has_last = is_published;
  }
  map_.wake();
  pthread_mutex_lock(&mutex_);
  told_[index].has_published_first = has_first;
  told_[index].has_published_last = has_last;
  has_published_all_ = has_published_all_ && has_first && has_last;
  published_bytes_ += part.end - part.begin;
  pthread_mutex_unlock(&mutex_);
}

// --- Afterwards ----------------------------------------------------------------------------------

// What of the page was published when that was told.
Part Hands::published_of(const Told &told, uint64_t page) const noexcept {
  constexpr Part kNothing = {0, 0};
  const Part part = whole_units(taken_of({told.begin, told.end}));
  if (part.begin >= part.end) return kNothing;
  const Pages &pages = map_.pages;
  if (page < pages.page_of(part.begin) || page > pages.page_of(part.end - 1)) return kNothing;
  if (page == pages.page_of(part.begin) && !told.has_published_first) return kNothing;
  if (page == pages.page_of(part.end - 1) && !told.has_published_last) return kNothing;
  return pages.in_page(page, part);
}

// Calls visit(part) for what of the part, by whole subpages, was told to be done, by one telling or
// by several. first: of the list, that ends behind the beginning of the part, or one before it.
template <class Visit>
void Hands::for_done(Part part, size_t first, const Visit &visit) const noexcept {
  const Pages &pages = map_.pages;
  for (size_t i = first; i < told_.size() && told_[i].begin < part.end; ++i) {
    Part done = {told_[i].begin, told_[i].end};
    while (i + 1 < told_.size() && told_[i + 1].begin == done.end) done.end = told_[++i].end;
    done = pages.whole_units({std::max(done.begin, part.begin), std::min(done.end, part.end)},
                             pages.subpage_bytes());
    if (done.begin < done.end) visit(done);
  }
}

// A part of the page that is still in our hands.
void Hands::finish_part(uint64_t page, Part part, size_t first, bool is_done) noexcept {
  const auto is_all = [&](Part done) { return done.begin == part.begin && done.end == part.end; };
  if (!is_done) for_done(part, first, [&](Part done) { is_done = is_all(done); });
  if (is_done) {
    publish(page, part, after_);
    return;
  }
  // First what is not done: that makes the detail by which the rest can be published, or deals with
  // the page as a whole.
  uint64_t at = part.begin;
  bool is_dealt_with = false;
  const auto give_up_to = [&](uint64_t end) {
    if (at < end && !is_dealt_with) is_dealt_with = give_back(page, {at, end});
  };
  for_done(part, first, [&](Part done) {
    give_up_to(done.begin);
    at = done.end;
  });
  give_up_to(part.end);
  if (is_dealt_with) return;
  for_done(part, first, [&](Part done) { publish(page, done, PageState::kZero); });
}

void Hands::finish_page(uint64_t page, Part taken, size_t first, bool is_done) noexcept {
  uint64_t at = taken.begin;
  for (size_t i = first; i < told_.size() && told_[i].begin < taken.end; ++i) {
    const Part published = published_of(told_[i], page);
    if (published.begin >= published.end) continue;
    if (at < published.begin) finish_part(page, {at, published.begin}, first, is_done);
    at = published.end;
  }
  if (at < taken.end) finish_part(page, {at, taken.end}, first, is_done);
}

void Hands::finish(bool is_done) noexcept {
  uint64_t taken_bytes = 0;
  for (const hpz_extent &extent : batch_.extents.list()) {
    const Part taken = taken_of({extent.offset, extent.offset + extent.len});
    if (taken.begin < taken.end) taken_bytes += taken.end - taken.begin;
  }
  if (!batch_.has_taken || (has_published_all_ && published_bytes_ == taken_bytes)) return;
  std::sort(told_.begin(), told_.end(),
            [](const Told &a, const Told &b) { return a.begin < b.begin; });
  Pages &pages = map_.pages;
  size_t first = 0;
  for (const hpz_extent &extent : batch_.extents.list()) {
    const Part taken = taken_of({extent.offset, extent.offset + extent.len});
    for (uint64_t at = taken.begin; at < taken.end;) {
      const uint64_t page = pages.page_of(at);
      const Part part = pages.in_page(page, {at, taken.end});
      while (first < told_.size() && told_[first].end <= part.begin) ++first;
      finish_page(page, part, first, is_done);
      at = part.end;
    }
  }
  map_.wake();
}

}  // namespace hpz
