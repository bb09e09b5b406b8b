// SPDX-License-Identifier: BSD-2-Clause
#include "lib/team/machine.h"

#include <errno.h>
#include <stdlib.h>

#include <atomic>
#include <new>
#include <utility>

namespace hpz {
namespace {

// The machine as it was when the first team was created, and again whenever a thread may use a CPU
// that was not there. Never freed: it costs a few KiB, and a leak checker finds it here.
struct KnownTopology {
  Topology topology;
  const KnownTopology *before;
};
constinit std::atomic<const KnownTopology *> g_topology{nullptr};

bool knows_all(const Topology &topology, const CpuSet &cpus) noexcept {
  uint32_t known = 0;
  for (const Topology::Cpu &cpu : topology.cpus) {
    if (cpus.contains(cpu.cpu)) ++known;
  }
  return known == cpus.count();
}

}  // namespace

const Topology *machine_topology(const CpuSet &allowed) noexcept {
  const KnownTopology *known = g_topology.load(std::memory_order_acquire);
  if (known != nullptr && knows_all(known->topology, allowed)) return &known->topology;
  void *const memory = malloc(sizeof(KnownTopology));
  if (memory == nullptr) return nullptr;
  auto *const loaded = new (memory) KnownTopology{{}, known};
  if (load_topology(allowed, loaded->topology) != 0) {
    loaded->~KnownTopology();
    free(loaded);
    return nullptr;
  }
  while (!g_topology.compare_exchange_weak(loaded->before, loaded, std::memory_order_acq_rel)) {
  }
  return &loaded->topology;
}

int usable_cpus(const char *list, CpuSet &out, const Topology *&topology) noexcept {
  CpuSet affinity;
  if (read_affinity(affinity) == -ENOMEM) return -ENOMEM;
  CpuSet listed;
  if (list != nullptr) {
    const int error = parse_cpu_list(list, listed);
    if (error != 0) return error;
    if (!affinity.empty()) listed.keep_only(affinity);
    if (listed.empty()) return -EINVAL;
  }
  out = list != nullptr ? std::move(listed) : std::move(affinity);
  topology = machine_topology(out);
  if (topology == nullptr) return -ENOMEM;
  if (out.empty()) {
    for (const Topology::Cpu &cpu : topology->cpus) {
      if (!out.add(cpu.cpu)) return -ENOMEM;
    }
  }
  return 0;
}

}  // namespace hpz
