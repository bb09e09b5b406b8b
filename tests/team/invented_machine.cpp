// SPDX-License-Identifier: BSD-2-Clause
#include "tests/team/invented_machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stdexcept>

namespace hpz::test {
namespace {

std::string number(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(value));
  return text;
}

std::string hexadecimal(uint64_t set) {
  char text[32];
  snprintf(text, sizeof text, "0x%08x,0x%08x", static_cast<unsigned>(set >> 32),
           static_cast<unsigned>(set & 0xFFFFFFFF));
  return text;
}

uint64_t cpus_from(uint32_t first, uint32_t count) {
  return count == 0 ? 0 : (count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << first;
}

std::string attribute(const char *name, const std::string &value) {
  return std::string(" ") + name + "=\"" + value + "\"";
}

std::string sets(uint64_t cpus, uint64_t nodes) {
  return attribute("cpuset", hexadecimal(cpus)) + attribute("complete_cpuset", hexadecimal(cpus)) +
         attribute("nodeset", hexadecimal(nodes)) +
         attribute("complete_nodeset", hexadecimal(nodes));
}

std::string object(const char *type, uint64_t index, const std::string &rest) {
  return std::string("<object") + attribute("type", type) + attribute("os_index", number(index)) +
         rest;
}

}  // namespace

std::string invented_machine(const std::vector<InventedNode> &nodes,
                             const std::vector<unsigned> &distances) {
  uint64_t all_cpus = 0, all_nodes = 0;
  for (const InventedNode &node : nodes) {
    all_cpus |= cpus_from(node.first_cpu, node.cpus);
    all_nodes |= uint64_t{1} << node.id;
  }
  uint64_t gp = 0;
  const auto unique = [&gp] { return attribute("gp_index", number(++gp)); };
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<topology version=\"2.0\">\n";
  xml += object("Machine", 0,
                sets(all_cpus, all_nodes) + attribute("allowed_cpuset", hexadecimal(all_cpus)) +
                    attribute("allowed_nodeset", hexadecimal(all_nodes)) + unique() + ">\n");
  for (const InventedNode &node : nodes) {
    const uint64_t its_node = uint64_t{1} << node.id;
    const uint64_t its_cpus = node.covers_all ? all_cpus : cpus_from(node.first_cpu, node.cpus);
    const std::string memory =
        object("NUMANode", node.id,
               sets(its_cpus, its_node) + attribute("local_memory", number(node.memory_gib << 30)) +
                   unique() + "/>\n");
    if (node.covers_all || node.cpus == 0) {
      xml += memory;
      continue;
    }
    xml += object("Package", node.id, sets(its_cpus, its_node) + unique() + ">\n") + memory;
    for (uint32_t cpu = node.first_cpu; cpu < node.first_cpu + node.cpus; cpu += 2) {
      xml += object("Core", cpu / 2, sets(cpus_from(cpu, 2), its_node) + unique() + ">\n");
      for (uint32_t thread = cpu; thread < cpu + 2; ++thread) {
        xml += object("PU", thread, sets(cpus_from(thread, 1), its_node) + unique() + "/>\n");
      }
      xml += "</object>\n";
    }
    xml += "</object>\n";
  }
  xml += "</object>\n";
  if (!distances.empty()) {
    // Each list names its length in characters. Kind: by the operating system, latency.
    std::string ids, lengths;
    for (const InventedNode &node : nodes) ids += number(node.id) + " ";
    for (const unsigned distance : distances) lengths += number(distance) + " ";
    xml += std::string("<distances2") + attribute("type", "NUMANode") +
           attribute("nbobjs", number(nodes.size())) + attribute("kind", "5") +
           attribute("name", "NUMALatency") + attribute("indexing", "os") + ">\n<indexes" +
           attribute("length", number(ids.size())) + ">" + ids + "</indexes>\n<u64values" +
           attribute("length", number(lengths.size())) + ">" + lengths +
           "</u64values>\n</distances2>\n";
  }
  return xml + "</topology>\n";
}

std::string odd_machine() {
  return invented_machine({{0, 16, 0, 8}, {2, 0, 8, 8}, {5, 32, 0, 0}, {6, 32, 0, 0}},
                          {
                              10, 20, 17, 28,  // node 0
                              20, 10, 28, 17,  // node 2
                              17, 28, 10, 28,  // node 5
                              28, 17, 28, 10,  // node 6
                          });
}

Topology described(const std::string &description) {
  Topology topology;
  const int error = describe_topology(description.c_str(), topology);
  if (error != 0) throw std::runtime_error(strerror(-error) + (": " + description));
  return topology;
}

CpuSet cpus(const std::string &list) {
  CpuSet set;
  if (parse_cpu_list(list.c_str(), set) != 0) throw std::runtime_error("no list: " + list);
  return set;
}

CpuSet all_cpus(const Topology &topology) {
  CpuSet set;
  for (const Topology::Cpu &cpu : topology.cpus) {
    if (!set.add(cpu.cpu)) throw std::runtime_error("no memory");
  }
  return set;
}

std::vector<uint32_t> members(const CpuSet &set) {
  std::vector<uint32_t> cpus;
  for (uint32_t cpu = 0; cpu < set.end(); ++cpu) {
    if (set.contains(cpu)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace hpz::test
