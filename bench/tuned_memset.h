// SPDX-License-Identifier: BSD-2-Clause
//
// The C library's memset with tunables set. It reads them when a process starts, so a row of these
// is a process of its own, with memory of its own, that takes samples when it is asked for them:
// in the same rounds as all other rows, on the same CPU, on the same kind of pages.
#ifndef HPZERO_BENCH_TUNED_MEMSET_H
#define HPZERO_BENCH_TUNED_MEMSET_H

#include <string>
#include <string_view>
#include <vector>

#include "bench/workloads.h"

namespace hpz::bench {

struct Tuning {
  std::string id, title;
  std::string setting;  // of GLIBC_TUNABLES
  friend bool operator==(const Tuning &, const Tuning &) = default;
};

struct Tunings {
  std::vector<Tuning> all;
  std::vector<std::string> notes;
};
// list: what the dynamic loader prints for --list-tunables; empty where there is no such. Pure.
Tunings find_tunings(std::string_view list);

struct TunedMemsets {
  Rows rows;
  std::vector<std::string> notes;
};
TunedMemsets make_tuned_memsets();

// A sample as a line of text, from the process to the table. read: false for what is none. Pure.
std::string write_sample(const Sample &sample);
bool read_sample(const std::string &line, Sample &sample);

}  // namespace hpz::bench

#endif
