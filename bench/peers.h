// SPDX-License-Identifier: BSD-2-Clause
//
// Rows of what others clear memory with, if it is installed: libpmem, std::fill, the kernel, the C
// library's memset with its tunables set. All of it found when the program runs: the benchmark
// links none of it.
#ifndef HPZERO_BENCH_PEERS_H
#define HPZERO_BENCH_PEERS_H

#include <string>
#include <vector>

#include "bench/workloads.h"

namespace hpz::bench {

struct Peers {
  Rows rows;
  std::vector<std::string> notes;  // what is not there, and how to come by it
};
Peers make_peers();

}  // namespace hpz::bench

#endif
