// SPDX-License-Identifier: BSD-2-Clause
//
// The only door to hwloc.
//
// What hwloc may print, on stderr, although a library should not: with HWLOC_HIDE_ERRORS unset (it
// is the user's; the environment is not ours to change) it reports contradictions in what the
// kernel or a user's HWLOC_XMLFILE says, and that there is no /sys/devices/system/cpu. It also
// aborts the process where /sys/devices/system/node is there and empty. The latter two are ordinary
// in containers that mask /sys, so hwloc is called only where both look sound (as of 2.9).
#include "lib/team/topology.h"

#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

// As in lib/zero/clear.cpp: there in a program under MemorySanitizer. hwloc is not instrumented:
// what it writes counts as never written, for our code and for what it gives to the C library.
extern "C" {
__attribute__((weak)) void __msan_unpoison(const volatile void *, size_t);
__attribute__((weak)) void __msan_scoped_disable_interceptor_checks(void);
__attribute__((weak)) void __msan_scoped_enable_interceptor_checks(void);
}

namespace hpz {
namespace {

constexpr uint32_t kUnknown = UINT32_MAX;

class WithoutInterceptorChecks {
 public:
  WithoutInterceptorChecks() noexcept {
    if (__msan_scoped_disable_interceptor_checks != nullptr) {
      __msan_scoped_disable_interceptor_checks();
    }
  }
  ~WithoutInterceptorChecks() {
    if (__msan_scoped_enable_interceptor_checks != nullptr) {
      __msan_scoped_enable_interceptor_checks();
    }
  }
  WithoutInterceptorChecks(const WithoutInterceptorChecks &) = delete;
  WithoutInterceptorChecks &operator=(const WithoutInterceptorChecks &) = delete;
};

// What hwloc wrote, to be read.
template <class T> const T *written(const T *by_hwloc, size_t count = 1) noexcept {
  if (by_hwloc != nullptr && __msan_unpoison != nullptr) {
    const auto *const end = reinterpret_cast<const char *>(by_hwloc + count);
    const auto *const begin = reinterpret_cast<const char *>(by_hwloc);
    __msan_unpoison(begin, static_cast<size_t>(end - begin));
  }
  return by_hwloc;
}

// An hwloc topology for as long as it is read.
class Machine {
 public:
  ~Machine() {
    if (is_there_) hwloc_topology_destroy(handle_);
  }
  Machine() noexcept = default;
  Machine(const Machine &) = delete;
  Machine &operator=(const Machine &) = delete;

  bool init() noexcept {
    is_there_ = hwloc_topology_init(&handle_) == 0;
    // No caches and no devices. Packages and groups stay although they are not asked for: a node's
    // CPUs are those of what it is attached to.
    return is_there_ &&
           hwloc_topology_set_cache_types_filter(handle_, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 &&
           hwloc_topology_set_io_types_filter(handle_, HWLOC_TYPE_FILTER_KEEP_NONE) == 0;
  }
  // After a failed load it may be destroyed and nothing else: any question crashes.
  hwloc_topology_t handle() const noexcept { return handle_; }

  uint32_t count(hwloc_obj_type_t type) const noexcept {
    const int count = hwloc_get_nbobjs_by_type(handle_, type);
    return count > 0 ? static_cast<uint32_t>(count) : 0;
  }
  const hwloc_obj *object(hwloc_obj_type_t type, uint32_t index) const noexcept {
    return written(hwloc_get_obj_by_type(handle_, type, index));
  }

 private:
  hwloc_topology_t handle_ = nullptr;
  bool is_there_ = false;
};

template <class Visit> void for_each_cpu(hwloc_const_bitmap_t set, const Visit &visit) noexcept {
  if (set == nullptr || hwloc_bitmap_weight(set) < 0) return;  // none, or no end of them
  for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu)) {
    visit(static_cast<uint32_t>(cpu));
  }
}

Topology::Cpu *find_cpu(Topology &topology, uint32_t cpu) noexcept {
  Topology::Cpu *const at =
      std::lower_bound(topology.cpus.begin(), topology.cpus.end(), cpu,
                       [](const Topology::Cpu &a, uint32_t b) { return a.cpu < b; });
  return at != topology.cpus.end() && at->cpu == cpu ? at : nullptr;
}

void sort_cpus(Topology &topology) noexcept {
  std::sort(topology.cpus.begin(), topology.cpus.end(),
            [](const Topology::Cpu &a, const Topology::Cpu &b) { return a.cpu < b.cpu; });
}

// Each result of the steps below is 0, -ENOMEM, or -EINVAL: not a machine.

int take_nodes(const Machine &machine, Topology &out) noexcept {
  const uint32_t count = machine.count(HWLOC_OBJ_NUMANODE);
  bool has_memory = false;
  for (uint32_t i = 0; i < count; ++i) {
    const hwloc_obj *const node = machine.object(HWLOC_OBJ_NUMANODE, i);
    if (node == nullptr || node->os_index > INT32_MAX) return -EINVAL;
    const bool has = written(node->attr)->numanode.local_memory != 0;
    if (!out.nodes.push_back({static_cast<int32_t>(node->os_index), has})) return -ENOMEM;
    has_memory |= has;
  }
  if (out.nodes.empty()) return -EINVAL;
  // There is memory: this runs in it. So its sizes are what is not known.
  for (Topology::Node &node : out.nodes) node.has_memory |= !has_memory;
  std::sort(out.nodes.begin(), out.nodes.end(),
            [](const Topology::Node &a, const Topology::Node &b) { return a.id < b.id; });
  const auto *const twin = std::adjacent_find(
      out.nodes.begin(), out.nodes.end(),
      [](const Topology::Node &a, const Topology::Node &b) { return a.id == b.id; });
  return twin == out.nodes.end() ? 0 : -EINVAL;
}

int take_cpus(const Machine &machine, Topology &out) noexcept {
  const uint32_t count = machine.count(HWLOC_OBJ_PU);
  for (uint32_t i = 0; i < count; ++i) {
    const hwloc_obj *const cpu = machine.object(HWLOC_OBJ_PU, i);
    if (cpu == nullptr || cpu->os_index > INT32_MAX) return -EINVAL;
    if (!out.cpus.push_back({cpu->os_index, kUnknown, kUnknown})) return -ENOMEM;
  }
  sort_cpus(out);

  uint32_t cores = machine.count(HWLOC_OBJ_CORE);
  for (uint32_t i = 0; i < cores; ++i) {
    const hwloc_obj *const core = machine.object(HWLOC_OBJ_CORE, i);
    if (core == nullptr) continue;
    for_each_cpu(core->cpuset, [&](uint32_t number) {
      Topology::Cpu *const cpu = find_cpu(out, number);
      if (cpu != nullptr) cpu->core = i;
    });
  }
  for (Topology::Cpu &cpu : out.cpus) {
    if (cpu.core == kUnknown) cpu.core = cores++;
  }
  return 0;
}

// In doubt: CPUs are near to several nodes (HBM beside DRAM). The smaller set of CPUs is the more
// exact statement; of equal ones the lower id, for firmware lists the ordinary memory first.
int join_cpus_and_nodes(const Machine &machine, Topology &out, bool &in_doubt) noexcept {
  in_doubt = false;
  Array<int> smallest;  // for each CPU: how many CPUs the node has that it was given to
  if (!smallest.resize(out.cpus.size())) return -ENOMEM;
  const uint32_t count = machine.count(HWLOC_OBJ_NUMANODE);
  for (uint32_t i = 0; i < count; ++i) {
    const hwloc_obj *const node = machine.object(HWLOC_OBJ_NUMANODE, i);
    if (node == nullptr || node->cpuset == nullptr) continue;
    const uint32_t index = out.index_of(static_cast<int32_t>(node->os_index));
    const int cpus = hwloc_bitmap_weight(node->cpuset);
    for_each_cpu(node->cpuset, [&](uint32_t number) {
      Topology::Cpu *const cpu = find_cpu(out, number);
      if (cpu == nullptr) return;
      int &before = smallest[static_cast<size_t>(cpu - out.cpus.begin())];
      const bool is_first = cpu->node == kUnknown;
      in_doubt |= !is_first;
      if (is_first || cpus < before || (cpus == before && index < cpu->node)) {
        cpu->node = index;
        before = cpus;
      }
    });
  }
  for (Topology::Cpu &cpu : out.cpus) {
    if (cpu.node == kUnknown) cpu.node = 0;
  }
  return 0;
}

int take_distances(const Machine &machine, Topology &out) noexcept {
  unsigned count = 1;
  hwloc_distances_s *distances = nullptr;
  if (hwloc_distances_get_by_type(machine.handle(), HWLOC_OBJ_NUMANODE, &count, &distances,
                                  HWLOC_DISTANCES_KIND_FROM_OS | HWLOC_DISTANCES_KIND_MEANS_LATENCY,
                                  0) != 0 ||
      count == 0 || distances == nullptr) {
    return 0;
  }
  written(distances);
  const size_t given = distances->nbobjs, nodes = out.nodes.size();
  hwloc_obj *const *const objects = written(distances->objs, given);
  const uint64_t *const values = written(distances->values, given * given);
  size_t cells;
  const bool has_memory =
      !__builtin_mul_overflow(nodes, nodes, &cells) && out.distances.resize(cells);
  if (has_memory && given != 0) {
    // A node without a distance is farther away than any that has one.
    const uint64_t farthest = *std::max_element(values, values + given * given);
    for (size_t i = 0; i < cells; ++i) {
      out.distances[i] = i % (nodes + 1) == 0 ? 0 : farthest + (farthest != UINT64_MAX ? 1 : 0);
    }
    const auto index = [&](size_t i) {
      const hwloc_obj *const node = written(objects[i]);
      return node != nullptr && node->os_index <= INT32_MAX
                 ? size_t{out.index_of(static_cast<int32_t>(node->os_index))}
                 : nodes;
    };
    for (size_t i = 0; i < given; ++i) {
      const size_t row = index(i);
      for (size_t j = 0; j < given && row < nodes; ++j) {
        const size_t column = index(j);
        if (column < nodes) out.distances[row * nodes + column] = values[i * given + j];
      }
    }
  }
  hwloc_distances_release(machine.handle(), distances);
  return has_memory ? 0 : -ENOMEM;
}

int take(const Machine &machine, Topology &out, bool &in_doubt) noexcept {
  int error = take_nodes(machine, out);
  if (error == 0) error = take_cpus(machine, out);
  if (error == 0) error = join_cpus_and_nodes(machine, out, in_doubt);
  if (error == 0) error = take_distances(machine, out);
  return error;
}

// A list of CPUs or nodes in /sys.
int read_list(const char *path, CpuSet &out) noexcept {
  // Room for the worst list of 2048 CPUs, every second one.
  char text[8192];
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  size_t length = 0;
  for (;;) {
    const ssize_t got = read(fd, text + length, sizeof text - 1 - length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    length += static_cast<size_t>(got);
  }
  close(fd);
  text[length] = '\0';
  return length + 1 < sizeof text ? parse_cpu_list(text, out) : -EINVAL;
}

bool may_ask_hwloc() noexcept {
  CpuSet cpus, nodes;
  // CPU 0 is what hwloc 2.9 looks at to see whether /sys tells of CPUs, offline or not.
  if (access("/sys/devices/system/cpu/cpu0/topology", F_OK) != 0) return false;
  if (read_list("/sys/devices/system/cpu/online", cpus) != 0 || cpus.empty()) return false;
  return access("/sys/devices/system/node", F_OK) != 0 ||
         (read_list("/sys/devices/system/node/online", nodes) == 0 && !nodes.empty());
}

// Without hwloc: the nodes that /sys names, else one. Their CPUs by follow_node_lists.
int name_nodes(Topology &out) noexcept {
  CpuSet nodes, with_memory;
  if (read_list("/sys/devices/system/node/online", nodes) == -ENOMEM ||
      read_list("/sys/devices/system/node/has_memory", with_memory) == -ENOMEM) {
    return -ENOMEM;
  }
  for (uint32_t id = 0; id < nodes.end(); ++id) {
    if (!nodes.contains(id)) continue;
    const bool has_memory = with_memory.empty() || with_memory.contains(id);
    if (!out.nodes.push_back({static_cast<int32_t>(id), has_memory})) return -ENOMEM;
  }
  return !out.nodes.empty() || out.nodes.push_back({0, true}) ? 0 : -ENOMEM;
}

// By the kernel's own word: each CPU is in the list of one node.
int follow_node_lists(Topology &out) noexcept {
  for (uint32_t i = 0; i < out.nodes.size(); ++i) {
    char path[64];
    (void)snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", out.nodes[i].id);
    CpuSet cpus;
    const int error = read_list(path, cpus);
    if (error == -ENOMEM) return error;
    if (error != 0) continue;
    for (Topology::Cpu &cpu : out.cpus) {
      if (cpus.contains(cpu.cpu)) cpu.node = i;
    }
  }
  return 0;
}

int load_from_hwloc(Topology &out, bool &in_doubt) noexcept {
  if (!may_ask_hwloc()) return -EINVAL;
  const WithoutInterceptorChecks checks;
  Machine machine;
  // Disallowed: all nodes of the machine, whatever this process's cpuset is today. Memory that was
  // put there before or by others lies on them all the same; which CPUs may be used is the
  // affinity's to say.
  constexpr unsigned long kFlags =
      HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING;
  if (!machine.init() || hwloc_topology_set_flags(machine.handle(), kFlags) != 0) return -EINVAL;
  // Fails where hwloc has no such component, on all CPUs but x86; then there is nothing to leave
  // out.
  hwloc_topology_set_components(machine.handle(), HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  if (hwloc_topology_load(machine.handle()) != 0) return -EINVAL;
  // Another machine, by the user's HWLOC_XMLFILE or HWLOC_SYNTHETIC: memory is not placed by that.
  if (hwloc_topology_is_thissystem(machine.handle()) == 0) return -EINVAL;
  return take(machine, out, in_doubt);
}

}  // namespace

uint64_t Topology::distance(uint32_t from, uint32_t to) const noexcept {
  if (!distances.empty()) return distances[from * nodes.size() + to];
  return from == to ? 10 : 20;
}

uint32_t Topology::index_of(int32_t node_id) const noexcept {
  const Node *const at = std::lower_bound(nodes.begin(), nodes.end(), node_id,
                                          [](const Node &a, int32_t b) { return a.id < b; });
  return static_cast<uint32_t>(
      at != nodes.end() && at->id == node_id ? at - nodes.begin() : nodes.end() - nodes.begin());
}

int load_topology(const CpuSet &allowed, Topology &out) noexcept {
  Topology topology;
  bool in_doubt = false;
  int error = load_from_hwloc(topology, in_doubt);
  if (error == -EINVAL) {
    topology = Topology{};
    error = name_nodes(topology);
  }
  if (error != 0) return error;

  // CPUs that came online in between, or all of them where hwloc was not asked. Which core's or
  // node's such a CPU is: a core of its own; the node that lists it, else the first.
  const size_t known = topology.cpus.size();
  uint32_t cores = 0;
  for (const Topology::Cpu &cpu : topology.cpus) cores = std::max(cores, cpu.core + 1);
  for (uint32_t cpu = 0; cpu < allowed.end(); ++cpu) {
    if (!allowed.contains(cpu)) continue;
    const Topology::Cpu *const last = topology.cpus.begin() + known;
    const Topology::Cpu *const at =
        std::lower_bound(topology.cpus.begin(), topology.cpus.begin() + known, cpu,
                         [](const Topology::Cpu &a, uint32_t b) { return a.cpu < b; });
    if (at != last && at->cpu == cpu) continue;
    if (!topology.cpus.push_back({cpu, cores++, 0})) return -ENOMEM;
  }
  if (topology.cpus.size() != known) sort_cpus(topology);
  if (in_doubt || topology.cpus.size() != known) error = follow_node_lists(topology);
  if (error != 0) return error;
  out = std::move(topology);
  return 0;
}

int describe_topology(const char *description, Topology &out) noexcept {
  const WithoutInterceptorChecks checks;
  Machine machine;
  if (!machine.init()) return -ENOMEM;
  const size_t length = strlen(description);
  if (length >= INT32_MAX) return -EINVAL;
  const int said = *description == '<'
                       ? hwloc_topology_set_xmlbuffer(machine.handle(), description,
                                                      static_cast<int>(length + 1))
                       : hwloc_topology_set_synthetic(machine.handle(), description);
  if (said != 0 || hwloc_topology_load(machine.handle()) != 0) return -EINVAL;
  Topology topology;
  bool in_doubt = false;
  const int error = take(machine, topology, in_doubt);
  if (error == 0) out = std::move(topology);
  return error;
}

}  // namespace hpz
