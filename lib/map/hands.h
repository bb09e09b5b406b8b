// SPDX-License-Identifier: BSD-2-Clause
//
// From the taking of a batch to the end of its job: what is told to be done is published while the
// job runs, the rest when it has ended.
#ifndef HPZERO_LIB_MAP_HANDS_H
#define HPZERO_LIB_MAP_HANDS_H

#include <pthread.h>
#include <stdint.h>

#include "lib/map/batch.h"
#include "lib/map/map.h"
#include "lib/space/space.h"
#include "lib/team/array.h"

namespace hpz {

class Hands {
 public:
  // What is done becomes zero by subpages, or fresh by whole pages.
  Hands(Map &map, const Batch &batch, PageState zero_or_fresh) noexcept
      : map_(map), batch_(batch), after_(zero_or_fresh) {}
  Hands(const Hands &) = delete;
  Hands &operator=(const Hands &) = delete;

  // For the job, whose threads may call it at once.
  DoneObserver observer() noexcept { return {tell, this}; }
  // After the job: all of it is done, or what was told.
  void finish(bool is_done) noexcept;

 private:
  struct Told {
    uint64_t begin, end;
    // What it holds of its first page and of its last one. (What is a whole page is published in
    // any case.)
    bool has_published_first, has_published_last;
  };

  static void tell(void *self, uint64_t offset, uint64_t bytes) noexcept;
  void told(uint64_t begin, uint64_t end) noexcept;
  Part whole_units(Part part) const noexcept;
  Part taken_of(Part part) const noexcept;
  Part published_of(const Told &told, uint64_t page) const noexcept;
  bool publish(uint64_t page, Part part, PageState after) noexcept;
  bool give_back(uint64_t page, Part part) noexcept;
  template <class Visit> void for_done(Part part, size_t first, const Visit &visit) const noexcept;
  void finish_part(uint64_t page, Part part, size_t first, bool is_done) noexcept;
  void finish_page(uint64_t page, Part taken, size_t first, bool is_done) noexcept;

  Map &map_;
  const Batch &batch_;
  const PageState after_;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;  // of what follows, while the job runs
  Array<Told> told_;
  uint64_t published_bytes_ = 0;
  bool has_published_all_ = true;  // of what was told
};

}  // namespace hpz

#endif
