// SPDX-License-Identifier: BSD-2-Clause
//
// Which pieces of the arena a sample clears, and what is done to them first. One sample is a number
// of timed sections; each section clears a number of ranges. What clears them is workloads.h's.
#ifndef HPZERO_BENCH_WALK_H
#define HPZERO_BENCH_WALK_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/memory.h"
#include "bench/plan.h"
#include "bench/states.h"

namespace hpz::bench {

// How one sample is cut, so that reading the clock is small against what it times and the memory
// still sits where its state says. Pure, for the tests.
struct SampleShape {
  size_t ranges = 1;     // cleared per section
  size_t sections = 1;   // timed one by one, added up
  int dirty_passes = 1;  // recycled: how often all of it is stored to before
  size_t distinct = 1;   // different ranges in the arena that the sample or section needs
};
SampleShape shape_sample(MemoryState state, uint64_t size, uint64_t set_bytes,
                         const Caches &caches);

// Distance between the begins of neighbouring ranges of one size.
uint64_t range_stride(MemoryState state, uint64_t size);

// Bytes of the arena that a size needs at least in a state.
uint64_t least_set_bytes(MemoryState state, uint64_t size, const Caches &caches);

// A part of a set, 0 to less than 1, as the place where a walk through it begins: how far from its
// base, in whole huge pages. Hot and recycled ranges are few and on few pages, and which frames the
// kernel gave these is chance, and part of a figure: other places have others. 0 in other states.
uint64_t begin_of_walk(MemoryState state, uint64_t size, uint64_t set_bytes, const Caches &caches,
                       double part);

class Walk {
 public:
  // base: of memory that is laid out for that shape, on those pages. part: of a cold set, where in
  // its permutation to begin.
  Walk(char *base, PageKind kind, MemoryState state, uint64_t size, const SampleShape &shape,
       double part = 0);

  // The ranges of the next section, prepared. Cold: further along the permutation, however many
  // rows take turns, so that no range comes again before all others were.
  const std::vector<void *> &next(size_t ranges);
  // After the last section of a sample: fresh memory goes away, hot memory must be made hot again.
  void done();

  uint64_t size() const { return size_; }
  uint64_t slots() const { return order_.size(); }

 private:
  void dirty(void *const *ranges, size_t count) const;

  char *base_;
  PageKind kind_;
  MemoryState state_;
  uint64_t size_;
  SampleShape shape_;
  std::vector<uint32_t> order_;  // cold: permutation of slots
  size_t at_ = 0;
  bool is_warm_ = false;
  std::vector<void *> ranges_;
  std::unique_ptr<Mapping> fresh_;
};

}  // namespace hpz::bench

#endif
