// SPDX-License-Identifier: BSD-2-Clause
//
// What clearing costs by-standers: how many times as long as before they take to read what they
// have in the caches. Two working sets, half the second-level and half the last-level cache; the
// same thread's, read after the clearing, and another thread's, read meanwhile.
#ifndef HPZERO_BENCH_BYSTANDERS_H
#define HPZERO_BENCH_BYSTANDERS_H

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/plan.h"
#include "bench/statistics.h"
#include "bench/workloads.h"

namespace hpz::bench {

struct BystanderSizes {
  uint64_t l2_bytes = 0, llc_bytes = 0;
  std::string note;  // why the second is not half of the cache; empty if it is
};
// cleared: at a time; room: that there is for both. asked_for: instead of half the last-level
// cache. Pure.
BystanderSizes bystander_sizes(const Caches &caches, uint64_t cleared, uint64_t room,
                               std::optional<uint64_t> asked_for);

struct Neighbour {
  int cpu = -1;       // none: there is no other
  std::string title;  // "CPU 1: another core, the same last-level cache"
};
// Of the usable CPUs: another core that shares the last-level cache; if there is none, another
// core; if there is none, another thread of this one. root: "" but in tests.
Neighbour find_neighbour(int here, const std::vector<int> &usable, const std::string &root = "");

class Bystanders {
 public:
  // neighbour: the CPU of the other thread, -1 for none. Throws Refusal.
  Bystanders(const BystanderSizes &sizes, int neighbour);
  ~Bystanders();
  Bystanders(const Bystanders &) = delete;
  Bystanders &operator=(const Bystanders &) = delete;

  // Each times the clearing and has the by-stander's reads beside it in the sample.
  using Clear = std::function<void()>;
  Sample same_thread(uint64_t bytes, const Clear &clear);
  Sample other_thread_l2(uint64_t bytes, const Clear &clear);
  Sample other_thread_llc(uint64_t bytes, const Clear &clear);
  bool has_other() const { return neighbour_ >= 0; }

 private:
  struct Sets;
  Sample other_thread(uint64_t bytes, const Clear &clear, bool is_llc);

  std::unique_ptr<Sets> sets_;
  int neighbour_;
};

// Times as long as warm, medians; 0: not measured.
struct BystanderCost {
  double same_l2 = 0, same_llc = 0, other_l2 = 0, other_llc = 0;
  // One figure to compare kernels by: the geometric mean of what was measured, none of it less
  // than 1. 0 if nothing was.
  double together() const;
};

// The same kinds of samples of several rows, for tables and decisions.
struct BystanderRow {
  std::string id, title;
  std::vector<Sample> same, other_l2, other_llc;
  BystanderCost cost() const;
};
std::string render_bystanders(const std::vector<BystanderRow> &rows);

// What makes the table say less than it seems to, each with what to do. control: the row during
// which nothing was cleared, if there was one. smaller_set: how to have one, an imperative.
std::vector<std::string> bystander_warnings(const std::vector<BystanderRow> &rows,
                                            const std::string &control, const BystanderSizes &sizes,
                                            const std::string &smaller_set);

}  // namespace hpz::bench

#endif
