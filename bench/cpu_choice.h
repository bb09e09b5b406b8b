// SPDX-License-Identifier: BSD-2-Clause
//
// On which CPU pages are taken, and on which others are cleared meanwhile: near the memory, and of
// those that are, with as little in common as the machine allows.
#ifndef HPZERO_BENCH_CPU_CHOICE_H
#define HPZERO_BENCH_CPU_CHOICE_H

#include <string>
#include <vector>

#include "bench/threads.h"

namespace hpz::bench {

// What two CPUs have in common. From much to little: the more, the better for measuring.
enum class Nearness { kSame, kOneCore, kOneCache, kApart };

// Whom a CPU shares its core, and its cache of the highest level, with: itself among them. Empty:
// nobody tells. root: "" but in tests.
struct Sharers {
  std::vector<int> core, last_cache;
};
Sharers sharers_of(int cpu, const std::string &root = "");

bool holds(const std::vector<int> &cpus, int cpu);

struct CpuChoice {
  int taker = -1, filler = -1;  // -1: nobody tells
  Nearness nearness = Nearness::kSame;
};

// usable: in which both may run, ascending; here: where the calling thread is, which takes if it is
// on the node. root: "" but in tests.
CpuChoice choose_cpus(const std::vector<int> &usable, int here, int node,
                      const std::string &root = "");

// "pages taken on CPU 0, cleared meanwhile on CPU 1 (same last-level cache)"
std::string describe(const CpuChoice &choice);

// While it lives, the calling thread and those that it starts run there alone.
class OnCpu {
 public:
  explicit OnCpu(int cpu) { run_on(cpu); }

 private:
  CpuPair before_;
};

}  // namespace hpz::bench

#endif
