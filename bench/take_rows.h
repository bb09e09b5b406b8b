// SPDX-License-Identifier: BSD-2-Clause
//
// Ways to have a page that reads zero, timed page by page: the kernel's fault path, a pool whose
// pages are dirty, one whose pages are cleared in the background; and clearing a page alone.
#ifndef HPZERO_BENCH_TAKE_ROWS_H
#define HPZERO_BENCH_TAKE_ROWS_H

#include <vector>

#include "bench/clean_pool.h"
#include "bench/jobs.h"
#include "bench/memory.h"
#include "bench/takes.h"

namespace hpz::bench {

// All pages, so often, without a pause: once, or back to back.
class TakeRows {
 public:
  // memory: as much as the pool has, on pages of the same kind.
  TakeRows(const CleanPool &pool, const Mapping &memory, int passes);
  TakeRows(const TakeRows &) = delete;
  TakeRows &operator=(const TakeRows &) = delete;

  // Their samples are kept here from now on, and not those that were taken before.
  std::vector<JobRow> rows_from_now();

  const TakeRow &kernel() const { return kernel_; }
  const TakeRow &filling_off() const { return filling_off_; }
  const TakeRow &filling_on() const { return filling_on_; }
  const TakeRow &clearing() const { return clearing_; }

 private:
  Takes touch_released() const;
  Takes take_touch() const;
  Takes clear_alone() const;

  const CleanPool &pool_;
  const Mapping &memory_;
  int passes_;
  TakeRow kernel_, filling_off_, filling_on_, clearing_;
};

}  // namespace hpz::bench

#endif
