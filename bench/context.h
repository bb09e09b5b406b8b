// SPDX-License-Identifier: BSD-2-Clause
//
// The machine as it is found, for the heading and the JSON context: figures without it are not
// worth keeping. Changes nothing; what cannot be read is "unknown".
#ifndef HPZERO_BENCH_CONTEXT_H
#define HPZERO_BENCH_CONTEXT_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hpz::bench {

using ContextEntries = std::vector<std::pair<std::string, std::string>>;  // key, value

// pinned_cpu: -1 if the thread is not pinned.
ContextEntries describe_machine(int pinned_cpu);

std::string governor(int cpu);  // "unknown" where there is none to read

// Ticks that the hypervisor kept this machine's CPUs from running, and all ticks, since boot.
struct StolenTime {
  uint64_t stolen = 0, all = 0;
};
StolenTime stolen_time();
double stolen_part_since(const StolenTime &before);

int online_cpus();

}  // namespace hpz::bench

#endif
