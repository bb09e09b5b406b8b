// SPDX-License-Identifier: BSD-2-Clause
//
// What the threads of an execution (schedules.h) share: a map, compiled with a hook at each of its
// steps, and the memory below it, a byte for each subpage. What they do to both, and what must hold
// whatever the order is: no dirty subpage is lost, nobody returns before his memory is zero, nobody
// waits for ever.
#ifndef HPZERO_TESTS_MAP_STEPPED_WORLD_H
#define HPZERO_TESTS_MAP_STEPPED_WORLD_H

#include <hpzero/map.h>
#include <stdint.h>

#include <functional>
#include <vector>

#include "tests/map/map_fixture.h"

namespace hpz::test {

// Memory by subpages, and what is known of each.
struct Subpage {
  unsigned char content = 0;
  bool is_being_cleared = false;  // by one call, which has not told yet
};
struct SteppedMemory {
  bool tells_halves = false;  // an extent as two
  std::vector<Subpage> subpages;
  bool is_marked = false;             // a thread has written to what it writes to, and said so
  uint64_t fails_after = UINT64_MAX;  // subpages, then the job of the calls that shall fail does
};

struct Case {
  uint64_t subpages_each;
  std::vector<bool> dirty;  // by subpages, before
};

// One at a time.
class SteppedWorld {
 public:
  explicit SteppedWorld(const Case &which);
  SteppedWorld(const SteppedWorld &) = delete;
  SteppedWorld &operator=(const SteppedWorld &) = delete;

  SteppedMemory &memory() { return memory_; }

  // Threads. Ranges are of subpages.
  std::function<void()> zero(uint64_t from, uint64_t to, bool fails = false);
  std::function<void()> mark(uint64_t from, uint64_t to);
  std::function<void()> mark_by_bitmap(uint64_t from, uint64_t to);
  // What is being cleared counts as dirty, and so does what nobody has cleared yet.
  std::function<void()> look();
  std::function<void()> release(uint64_t from, uint64_t to);

  // When all have returned: the map is right about what it calls zero, and nothing is in hands. By
  // clearing all: what is then still there was not called dirty.
  void check();

 private:
  hpz_space *space() { return reinterpret_cast<hpz_space *>(this); }
  void write(uint64_t from, uint64_t to);
  void marked();

  const uint64_t subpages_;
  MapPointer map_;
  SteppedMemory memory_;
};

// Of one subpage, which has no detail; of two, dirty, in part, and not; two pages.
inline const Case kOne = {1, {true}};
inline const Case kDirty = {2, {true, true}};
inline const Case kPartly = {2, {true, false}};
inline const Case kClean = {2, {false, false}};
inline const Case kTwoPages = {2, {true, true, false, true}};

// Runs through all orders of these threads. How many executions that took; a failure of the test if
// one of them failed.
using SteppedThreads = std::function<std::vector<std::function<void()>>(SteppedWorld &)>;
uint64_t explore_case(const Case &which, const SteppedThreads &threads);

}  // namespace hpz::test

#endif
