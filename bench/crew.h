// SPDX-License-Identifier: BSD-2-Clause
//
// The library's team and space as C++ values, and a job of them as a sample.
#ifndef HPZERO_BENCH_CREW_H
#define HPZERO_BENCH_CREW_H

#include <hpzero/hpzero.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/statistics.h"

namespace hpz::bench {

// Throws for what a call of the library returned, if that is no success.
void check_call(int result, const char *call);

class Crew {
 public:
  // threads 0: as many as the library chooses. cpus: as in hpz_team_options, nullptr for all.
  explicit Crew(uint32_t threads, const char *cpus = nullptr);
  ~Crew();
  Crew(const Crew &) = delete;
  Crew &operator=(const Crew &) = delete;

  hpz_team *get() const { return team_; }
  hpz_team_info info() const;
  std::string knee(hpz_verb verb) const;  // "2 of 2 threads", by node where there are several
  bool has_knee(hpz_verb verb) const;     // on every node with workers

 private:
  hpz_team *team_ = nullptr;
};

class Space {
 public:
  // page_bytes: of the mapping, 0: found out by the library.
  Space(char *base, uint64_t bytes, uint64_t page_bytes = 0);
  // Of the first bytes of a file. window_bytes 0: one mapping, as long as the space lasts.
  static Space of_file(int fd, uint64_t bytes, uint64_t window_bytes, uint32_t flags);
  ~Space();
  Space(Space &&other) noexcept : space_(std::exchange(other.space_, nullptr)) {}
  Space(const Space &) = delete;
  Space &operator=(const Space &) = delete;

  hpz_space *get() const { return space_; }

 private:
  explicit Space(hpz_space *space) : space_(space) {}

  hpz_space *space_ = nullptr;
};

using VerbCall = int (*)(hpz_space *, hpz_team *, const hpz_extent *, size_t,
                         const hpz_job_options *, hpz_job_report *);

struct Verb {
  const char *name;
  VerbCall call;
};
inline constexpr Verb kZeroVerb{"hpz_space_zero", hpz_space_zero};
inline constexpr Verb kPopulateVerb{"hpz_space_populate", hpz_space_populate};
inline constexpr Verb kResetVerb{"hpz_space_reset", hpz_space_reset};
inline constexpr Verb kReleaseVerb{"hpz_space_release", hpz_space_release};

struct JobRequest {
  const Verb *verb = nullptr;
  hpz_space *space = nullptr;
  hpz_team *team = nullptr;                          // nullptr: the calling thread alone
  const std::vector<hpz_extent> *extents = nullptr;  // nullptr: the whole space
  uint32_t threads = 0;                              // 0: as many as still help
  uint64_t chunk_bytes = 0;
};

// The whole call, timed from outside. Throws for a job that fails. report: if wanted.
Sample time_job(const JobRequest &request, hpz_job_report *report = nullptr);

}  // namespace hpz::bench

#endif
