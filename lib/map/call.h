// SPDX-License-Identifier: BSD-2-Clause
//
// A call of one of the map's verbs: takes what is not known, has the space's verb work on it,
// publishes it, and waits for what others had in hands. It waits for nobody while it has anything
// in hands itself, so two calls never wait for each other.
#ifndef HPZERO_LIB_MAP_CALL_H
#define HPZERO_LIB_MAP_CALL_H

#include <hpzero/space.h>
#include <stdint.h>

#include "lib/map/batch.h"
#include "lib/map/map.h"
#include "lib/space/handle.h"

namespace hpz {

class MapCall {
 public:
  // Of arguments that were checked.
  struct Arguments {
    Map &map;
    const hpz_space *space;
    hpz_team *team;
    Part range;
    hpz_job_options options;
  };
  explicit MapCall(const Arguments &arguments) noexcept;

  int zero() noexcept;
  int populate() noexcept;
  int release() noexcept;
  // After one of these that returned 0. -ECHILD: this is a child that the callback has forked.
  int tell_all_done() noexcept;
  // After all of these; result is what the call returns.
  hpz_job_report report(int result) noexcept;

 private:
  enum class Kind { kZero, kPopulate, kRelease };

  int work(Kind kind, Part range, PageState after) noexcept;
  int work_late(Kind kind, const ExtentList &busy, PageState after) noexcept;
  uint64_t walk(Kind kind, Part range, Batch &batch) noexcept;
  bool walk_fragment(Kind kind, uint64_t page, uint64_t subpage, Part fragment,
                     Batch &batch) noexcept;
  int run(Kind kind, const Batch &batch, PageState after) noexcept;
  enum class Counts { kYes, kNo };
  int run_job(Verb verb, const ExtentList &extents, const DoneObserver &observer,
              Counts counts) noexcept;
  int wait(Kind kind, uint64_t at, uint64_t to) noexcept;
  static int tell_progress(void *call, uint64_t done_bytes, uint64_t total_bytes) noexcept;

  const Arguments arguments_;
  Map &map_;
  hpz_job_report report_ = HPZ_JOB_REPORT_INIT;
  uint64_t known_bytes_ = 0;  // zero, or fresh, when this call came to it
  bool keeps_pages_ = false;  // what is made resident is not given back to be cleared
  bool is_job_counted_ = false;
  bool is_child_ = false;    // forked by a callback: what was in hands stays there
  uint64_t told_bytes_ = 0;  // by the callback
  const uint64_t started_ns_, started_cpu_ns_;
  uint64_t job_cpu_ns_ = 0;  // of this thread, in the space's verbs, which have it in their reports
};

}  // namespace hpz

#endif
