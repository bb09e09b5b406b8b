// SPDX-License-Identifier: BSD-2-Clause
//
// What calls of a team cost beyond the work: creating it, waking it, being obeyed when cancelling.
#ifndef HPZERO_BENCH_CALLS_H
#define HPZERO_BENCH_CALLS_H

#include <cstdint>
#include <string>

#include "bench/crew.h"
#include "bench/jobs.h"
#include "bench/memory.h"

namespace hpz::bench {

// Microseconds, medians of the rounds.
struct CallFigures {
  double create_us = 0, destroy_us = 0;  // of a team of kCreatedThreads, not the process's first
  double futex_us = 0;                   // round trip between two threads
  double idle_job_us = 0;                // a job without work, by the calling thread
  double wake_us = 0;                    // by a worker, the former subtracted
  double wake_by_futex = 0;              // median of the rounds' ratios
  double wake_two_us = 0;                // by two workers; 0: there are not so many
  double small_alone_us = 0;             // the smallest clearing that a team takes on: one thread
  double small_team_us = 0;              // and the team
  uint64_t small_bytes = 0;
  double cancel_us = 0, cancel_most_us = 0;  // from *cancel to the return
  double chunk_us = 0;                       // that one chunk of that job takes
  double cancel_by_chunk = 0;                // median of the tries' ratios
  uint64_t cancel_chunk_bytes = 0;
  int cancelled = 0;  // tries that *cancel ended, and not the end of the work
};

inline constexpr uint32_t kCreatedThreads = 8;

// Bytes that the figures want of ordinary memory; less makes the jobs to cancel shorter.
inline constexpr uint64_t kCallsBytes = 512ull << 20;
inline constexpr uint64_t kLeastCallsBytes = 16ull << 20;

// rounds: 0 for as many as make good medians.
CallFigures measure_calls(JobBook &book, const Crew &crew, const Arena &arena, int rounds);

std::string render_calls(const CallFigures &figures, double first_create_us,
                         uint32_t first_threads);

}  // namespace hpz::bench

#endif
