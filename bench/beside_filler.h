// SPDX-License-Identifier: BSD-2-Clause
//
// A program that shares its CPU with a filler at SCHED_IDLE: how fast it runs while there are pages
// to be cleared, and while there are none to clear.
#ifndef HPZERO_BENCH_BESIDE_FILLER_H
#define HPZERO_BENCH_BESIDE_FILLER_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/clean_pool.h"
#include "bench/jobs.h"

namespace hpz::bench {

// Which of n things comes at that place, if all come once and neighbours are far apart: places
// times this, modulo n. Coprime to n. Pure.
uint64_t scattering_step(uint64_t n);

// What the program does: counts in registers, or reads lines all over a working set.
struct WorkBesideFiller {
  std::string id, title;
  uint64_t set_bytes = 0;  // 0: registers alone
};

// Half of each cache that the CPU tells of and limit_bytes has room for.
std::vector<WorkBesideFiller> works_beside_filler(const Caches &caches, uint64_t limit_bytes);

class BesideFiller {
 public:
  // The filler of the pool is to run on cpu; pages are made dirty from other_cpu.
  BesideFiller(const CleanPool &pool, const std::vector<WorkBesideFiller> &works, int cpu,
               int other_cpu);
  ~BesideFiller();

  // Of each work ID_alone and ID_beside: without and with the filler.
  std::vector<JobRow> rows() const;

 private:
  class Program;

  Sample run(const Program &program, bool is_filling) const;

  const CleanPool &pool_;
  int cpu_, other_cpu_;
  std::vector<std::unique_ptr<Program>> programs_;
};

// What part more time the work takes beside the filler: median over rounds.
double slowdown(const JobResult &result, const std::string &id);

std::string render_beside_filler(const JobResult &result,
                                 const std::vector<WorkBesideFiller> &works);

}  // namespace hpz::bench

#endif
