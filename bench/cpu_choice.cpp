// SPDX-License-Identifier: BSD-2-Clause
#include "bench/cpu_choice.h"

#include <algorithm>

#include "bench/nodes.h"
#include "bench/text_file.h"

namespace hpz::bench {
namespace {

// Lists of CPUs are written as those of nodes.
std::vector<int> cpu_list(const std::string &path) {
  return parse_node_list(read_text_file(path).value_or(""));
}

std::vector<int> sharers_of_last_cache(const std::string &cpu_folder) {
  std::vector<int> sharers;
  uint64_t highest = 0;
  // No CPU has more; the list ends where a folder is missing.
  constexpr int kMostCaches = 16;
  for (int index = 0; index < kMostCaches; ++index) {
    const std::string cache = cpu_folder + "/cache/index" + std::to_string(index);
    const auto level = read_number_file(cache + "/level");
    if (!level) break;
    if (*level < highest) continue;
    highest = *level;
    sharers = cpu_list(cache + "/shared_cpu_list");
  }
  return sharers;
}

}  // namespace

Sharers sharers_of(int cpu, const std::string &root) {
  const std::string folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
  return {cpu_list(folder + "/topology/thread_siblings_list"), sharers_of_last_cache(folder)};
}

bool holds(const std::vector<int> &cpus, int cpu) {
  return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
}

CpuChoice choose_cpus(const std::vector<int> &usable, int here, int node, const std::string &root) {
  CpuChoice choice;
  if (usable.empty() || here < 0) return choice;
  std::vector<int> near = usable;
  if (node != kAnyNode) {
    const std::vector<int> its =
        cpu_list(root + "/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
    std::erase_if(near, [&](int cpu) { return !holds(its, cpu); });
    if (near.empty()) near = usable;  // memory without CPUs of its own, or none that may be used
  }
  choice.taker = choice.filler = holds(near, here) ? here : near.front();
  const auto [core, cache] = sharers_of(choice.taker, root);
  for (const int cpu : near) {
    if (cpu == choice.taker) continue;
    const Nearness nearness = holds(core, cpu)                     ? Nearness::kOneCore
                              : holds(cache, cpu) || cache.empty() ? Nearness::kOneCache
                                                                   : Nearness::kApart;
    if (nearness <= choice.nearness) continue;
    choice.filler = cpu;
    choice.nearness = nearness;
  }
  return choice;
}

std::string describe(const CpuChoice &choice) {
  if (choice.taker < 0) return "pages taken and cleared on whatever CPUs";
  // tools/measure looks for the last.
  constexpr const char *kCommon[] = {"the same CPU", "same core", "same last-level cache",
                                     "another last-level cache"};
  const std::string taker = std::to_string(choice.taker);
  if (choice.nearness == Nearness::kSame) {
    return "pages taken on CPU " + taker + ", and cleared meanwhile on the same: there is no other";
  }
  return "pages taken on CPU " + taker + ", cleared meanwhile on CPU " +
         std::to_string(choice.filler) + " (" + kCommon[static_cast<size_t>(choice.nearness)] + ")";
}

}  // namespace hpz::bench
