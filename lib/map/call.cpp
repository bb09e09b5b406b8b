// SPDX-License-Identifier: BSD-2-Clause
#include "lib/map/call.h"

#include <errno.h>

#include <algorithm>

#include "lib/map/hands.h"
#include "lib/team/clock.h"
#include "lib/team/progress.h"

namespace hpz {
namespace {

// Populated pages are fresh no longer, whoever has them in hands.
void tell_resident(void *pages, uint64_t offset, uint64_t bytes) noexcept {
  auto &self = *static_cast<Pages *>(pages);
  const uint64_t last = self.page_of(offset + bytes - 1);
  for (uint64_t page = self.page_of(offset); page <= last; ++page) self.say_resident(page);
}

}  // namespace

MapCall::MapCall(const Arguments &arguments) noexcept
    : arguments_(arguments),
      map_(arguments.map),
      started_ns_(monotonic_ns()),
      started_cpu_ns_(thread_cpu_ns()) {}

int MapCall::zero() noexcept {
  return work(Kind::kZero, arguments_.range, PageState::kZero);
}

int MapCall::populate() noexcept {
  keeps_pages_ = true;
  return work(Kind::kPopulate, arguments_.range, PageState::kZero);
}

// Whole pages become fresh. What the range has of others becomes zero.
int MapCall::release() noexcept {
  const Pages &pages = map_.pages;
  const Part range = arguments_.range;
  Part whole = pages.whole_units(range, pages.page_bytes());
  if (whole.begin >= whole.end) {
    // No whole page; pieces of one or of two.
    whole.begin = whole.end = std::min(whole.begin, range.end);
  }
  int error = work(Kind::kRelease, {range.begin, whole.begin}, PageState::kZero);
  if (error == 0) error = work(Kind::kRelease, whole, PageState::kFresh);
  if (error == 0) error = work(Kind::kRelease, {whole.end, range.end}, PageState::kZero);
  return error;
}

int MapCall::tell_all_done() noexcept {
  const uint64_t total = arguments_.range.end - arguments_.range.begin;
  if (arguments_.options.progress == nullptr || told_bytes_ == total) return 0;
  is_job_counted_ = false;
  tell_progress(this, 0, total);  // a wish to cancel comes too late
  return is_child_ ? -ECHILD : 0;
}

hpz_job_report MapCall::report(int result) noexcept {
  report_.done_bytes += known_bytes_;
  report_.skipped_bytes += known_bytes_;
  report_.error = result;
  report_.threads = std::max(report_.threads, 1u);
  report_.wall_ns = monotonic_ns() - started_ns_;
  report_.cpu_ns += thread_cpu_ns() - started_cpu_ns_ - job_cpu_ns_;
  return report_;
}

// --- Walking through the pages -------------------------------------------------------------------

// Takes what is to be done; where the batch or its lists are full, or what is next is busy and not
// wanted, it ends there.
uint64_t MapCall::walk(Kind kind, Part range, Batch &batch) noexcept {
  Pages &pages = map_.pages;
  uint64_t at = range.begin;
  while (at < range.end) {
    const uint64_t page = pages.page_of(at), subpage = pages.subpage_in(page, at);
    const uint64_t subpage_end = pages.offset_of(page, subpage + 1);
    if (pages.offset_of(page, subpage) != at || subpage_end > range.end) {
      const Part fragment = {at, std::min(subpage_end, range.end)};
      if (!walk_fragment(kind, page, subpage, fragment, batch)) return at;
      at = fragment.end;
      continue;
    }
    const uint64_t end = std::min(pages.subpage_in(page, range.end), pages.subpages_of(page));
    const uint64_t next = kind == Kind::kRelease ? pages.take_not_fresh(page, subpage, end, batch)
                                                 : pages.take_dirty(page, subpage, end, batch);
    at = pages.offset_of(page, next);
    if (next != end) return at;
  }
  return at;
}

// A part of a subpage: the subpage is afterwards what it was before.
bool MapCall::walk_fragment(Kind kind, uint64_t page, uint64_t subpage, Part fragment,
                            Batch &batch) noexcept {
  Pages &pages = map_.pages;
  const uint64_t bytes = fragment.end - fragment.begin;
  const bool is_known =
      kind == Kind::kRelease ? pages.is_fresh(page) : pages.is_zero(page, subpage);
  if (is_known) return batch.add_known(fragment.begin, bytes);
  if (!batch.make_room(fragment.begin)) return false;
  batch.add_untaken(fragment.begin, bytes);
  return true;
}

// First all that is free, in as few jobs as possible, then what others had in hands meanwhile. What
// is marked dirty behind the walk's back may stay so: it ends however many marks come.
int MapCall::work(Kind kind, Part range, PageState after) noexcept {
  Batch batch;
  batch.wants_known = kind == Kind::kPopulate;
  batch.wants_busy = true;
  if (range.begin < range.end && !batch.open()) return -ENOMEM;
  for (uint64_t at = range.begin; at < range.end;) {
    batch.clear();
    at = walk(kind, {at, range.end}, batch);
    if (const int error = run(kind, batch, after); error != 0) return error;
    if (const int error = work_late(kind, batch.busy, after); error != 0) return error;
  }
  return 0;
}

int MapCall::work_late(Kind kind, const ExtentList &busy, PageState after) noexcept {
  if (busy.empty()) return 0;
  Batch batch;
  batch.wants_known = kind == Kind::kPopulate;
  if (!batch.open()) return -ENOMEM;
  for (const hpz_extent &extent : busy.list()) {
    const uint64_t end = extent.offset + extent.len;
    for (uint64_t at = extent.offset; at < end;) {
      batch.clear();
      at = walk(kind, {at, end}, batch);
      int error = run(kind, batch, after);
      if (error == 0 && batch.is_at_busy) error = wait(kind, at, end);
      if (error != 0) return error;
    }
  }
  return 0;
}

// Until what is next there is in nobody's hands.
int MapCall::wait(Kind kind, uint64_t at, uint64_t to) noexcept {
  // How long a cancel stays unread: nobody wakes who sleeps here when it is set.
  constexpr uint64_t kCancelNs = 1'000'000;
  const hpz_job_options &options = arguments_.options;
  Pages &pages = map_.pages;
  const uint64_t page = pages.page_of(at), from = pages.subpage_in(page, at);
  // A release takes what it covers of a page at once.
  const uint64_t end = kind == Kind::kRelease
                           ? std::min(pages.subpage_in(page, to), pages.subpages_of(page))
                           : from + 1;
  int error = 0;
  map_.begin_waiting();
  for (;;) {
    const uint32_t seen = map_.publications();
    if (!pages.is_busy(page, from, end)) break;
    const uint64_t now = monotonic_ns();
    uint64_t until = options.deadline_ns;
    if (options.cancel != nullptr) {
      if (__atomic_load_n(options.cancel, __ATOMIC_ACQUIRE) != 0) error = -ECANCELED;
      if (until == 0 || until > now + kCancelNs) until = now + kCancelNs;
    }
    if (options.deadline_ns != 0 && now >= options.deadline_ns) error = -ETIMEDOUT;
    // Whoever has it in hands cannot go on before this thread returns.
    if (Callback::runs_for(&map_)) error = -EDEADLK;
    if (error != 0) break;
    map_.sleep(seen, until);
  }
  map_.end_waiting();
  return error;
}

// --- Jobs ----------------------------------------------------------------------------------------

int MapCall::run(Kind kind, const Batch &batch, PageState after) noexcept {
  int error = 0;
  if (kind != Kind::kPopulate) known_bytes_ += batch.known_bytes;
  Pages::end_taking();
  Hands hands(map_, batch, after);
  if (kind == Kind::kPopulate) {
    error = run_job(populate_space, batch.known, {tell_resident, &map_.pages}, Counts::kYes);
    // What is dirty is populated as well before it is cleared: for the errors, and the node.
    if (error == 0) error = run_job(populate_space, batch.extents, {}, Counts::kNo);
  }
  if (error == 0) {
    const Verb verb = kind == Kind::kRelease ? release_space : zero_space;
    error = run_job(verb, batch.extents, hands.observer(), Counts::kYes);
  }
  // A callback has forked, and this is the child: what others were at nobody ends here.
  if (is_child_) return -ECHILD;
  hands.finish(error == 0);
  return error;
}

int MapCall::run_job(Verb verb, const ExtentList &extents, const DoneObserver &observer,
                     Counts counts) noexcept {
  if (extents.empty()) return 0;
  hpz_job_options options = arguments_.options;
  if (options.progress != nullptr) {
    options.progress = tell_progress;
    options.user = this;
  }
  is_job_counted_ = counts == Counts::kYes;
  hpz_job_report its = HPZ_JOB_REPORT_INIT;
  const uint64_t cpu_ns = thread_cpu_ns();
  const int error = call_verb(verb, arguments_.space, arguments_.team, extents.list().data(),
                              extents.list().size(), &options, &its, observer, keeps_pages_);
  is_child_ = !map_.process.is_current();
  if (is_child_) return -ECHILD;
  job_cpu_ns_ += thread_cpu_ns() - cpu_ns;
  if (is_job_counted_) {
    report_.done_bytes += its.done_bytes;
    report_.cleared_bytes += its.cleared_bytes;
    report_.populated_bytes += its.populated_bytes;
    report_.skipped_bytes += its.skipped_bytes;
    report_.local_bytes += its.local_bytes;
    report_.remote_bytes += its.remote_bytes;
  }
  report_.cpu_ns += its.cpu_ns;
  report_.threads = std::max(report_.threads, its.threads);
  report_.flags |= its.flags;
  report_.first_bad_offset = std::min(report_.first_bad_offset, its.first_bad_offset);
  return error;
}

int MapCall::tell_progress(void *call, uint64_t done_bytes, uint64_t) noexcept {
  auto &self = *static_cast<MapCall *>(call);
  const Part range = self.arguments_.range;
  const Callback here(&self.map_);
  self.told_bytes_ = self.report_.done_bytes + self.known_bytes_;
  if (self.is_job_counted_) self.told_bytes_ += done_bytes;
  const int result = self.arguments_.options.progress(self.arguments_.options.user,
                                                      self.told_bytes_, range.end - range.begin);
  self.is_child_ = !self.map_.process.is_current();
  return self.is_child_ ? 1 : result;
}

}  // namespace hpz
