// SPDX-License-Identifier: BSD-2-Clause
#include "lib/team/machine.h"

#include <stdlib.h>

#include <atomic>
#include <new>

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

}  // namespace hpz
