// SPDX-License-Identifier: BSD-2-Clause
#include "bench/take_rows.h"

#include <stdexcept>
#include <string>

#include "bench/clock.h"

namespace hpz::bench {
namespace {

// What is stored: not zero, so that a page which was not cleared is found out.
constexpr char kMark = 0x5A;

void touch(char *page) {
  *const_cast<volatile char *>(page) = kMark;
}

// Untimed, after the first touch: the mark that the owner before has left in the middle is gone,
// and the next owner's is left.
void check_and_mark(char *page, uint64_t bytes, const char *row) {
  volatile char *const middle = page + bytes / 2;
  if (*middle != 0) throw std::runtime_error(std::string(row) + ": a page does not read zero");
  *middle = kMark;
}

template <class Take> double time_ns(Take take) {
  const uint64_t begin = now_ns();
  take();
  return static_cast<double>(now_ns_all_stored() - begin);
}

void count(Takes &takes, uint32_t outcome) {
  if (outcome == HPZ_TAKE_HIT) ++takes.hits;
  if (outcome == HPZ_TAKE_MISS) ++takes.misses;
  if (outcome == HPZ_TAKE_WAIT) ++takes.waits;
}

}  // namespace

TakeRows::TakeRows(const CleanPool &pool, const Mapping &memory, int passes)
    : pool_(pool),
      memory_(memory),
      passes_(passes),
      kernel_{"kernel", "kernel: released, touched again", {}},
      filling_off_{"pool_off", "pool, filling off", {}},
      filling_on_{"pool_on", "pool, filled in the background", {}},
      clearing_{"clear", "clearing one page, nothing else", {}} {}

std::vector<JobRow> TakeRows::rows_from_now() {
  const auto row = [this](TakeRow &kept, Takes (TakeRows::*take)() const, auto prepare) {
    kept.samples.clear();
    return JobRow{kept.id, kept.title, [this, &kept, take, prepare] {
                    prepare();
                    kept.samples.push_back((this->*take)());
                    return sample_of(kept.samples.back(), pool_.pages(), pool_.page_bytes());
                  }};
  };
  return {
      row(kernel_, &TakeRows::touch_released, [] {}),
      row(filling_off_, &TakeRows::take_touch, [this] { pool_.dirty_all(); }),
      row(filling_on_, &TakeRows::take_touch, [this] { pool_.fill_all(); }),
      row(clearing_, &TakeRows::clear_alone, [this] { pool_.dirty_all(); }),
  };
}

Takes TakeRows::touch_released() const {
  Takes takes;
  const uint64_t page_bytes = pool_.page_bytes();
  takes.ns.reserve(pool_.pages() * static_cast<size_t>(passes_));
  for (int pass = 0; pass < passes_; ++pass) {
    release(memory_.base(), memory_.bytes());
    for (uint64_t at = 0; at < memory_.bytes(); at += page_bytes) {
      char *const page = memory_.base() + at;
      takes.ns.push_back(time_ns([page] { touch(page); }));
      check_and_mark(page, page_bytes, "kernel");
    }
  }
  return takes;
}

Takes TakeRows::take_touch() const {
  Takes takes;
  takes.ns.reserve(pool_.pages() * static_cast<size_t>(passes_));
  const hpz_take_options options = pool_.take_options();
  const hpz_pool_stats before = pool_.stats();
  std::vector<hpz_page> pages(pool_.pages(), hpz_page(HPZ_PAGE_INIT));
  for (int pass = 0; pass < passes_; ++pass) {
    for (hpz_page &page : pages) {
      page.size = sizeof page;
      takes.ns.push_back(time_ns([&] {
        pool_.take(options, page);
        touch(static_cast<char *>(page.base));
      }));
      check_and_mark(static_cast<char *>(page.base), page.len, "pool");
      count(takes, page.outcome);
    }
    pool_.give(pages);
  }
  const hpz_pool_stats after = pool_.stats();
  if (after.hits - before.hits != takes.hits || after.misses - before.misses != takes.misses ||
      after.waits - before.waits != takes.waits) {
    throw std::runtime_error("the pool counts other takes than there were");
  }
  return takes;
}

// On the pool's own pages.
Takes TakeRows::clear_alone() const {
  Takes takes;
  takes.ns.reserve(pool_.pages() * static_cast<size_t>(passes_));
  const hpz_take_options options = pool_.take_options(HPZ_TAKE_ANY_CONTENT);
  std::vector<hpz_page> pages(pool_.pages(), hpz_page(HPZ_PAGE_INIT));
  for (int pass = 0; pass < passes_; ++pass) {
    for (hpz_page &page : pages) {
      pool_.take(options, page);
      takes.ns.push_back(time_ns([&] { hpz_zero_stream(page.base, page.len); }));
    }
    pool_.give(pages);
  }
  return takes;
}

}  // namespace hpz::bench
