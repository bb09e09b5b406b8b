// SPDX-License-Identifier: BSD-2-Clause
#include "bench/limits.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "bench/sizes.h"
#include "bench/text_file.h"

namespace hpz::bench {
namespace {

// Left to everybody else. Less: a machine without swap kills somebody when a page cache that
// counted as available turns out not to be. More: smaller sets than necessary.
constexpr uint64_t kMarginDivisor = 4;

// Where the hierarchy of a controller is mounted: "memory" for version 1, "" for version 2.
std::string mount_point(std::string_view mounts, std::string_view controller) {
  while (!mounts.empty()) {
    const size_t end = mounts.find('\n');
    const std::string_view line = mounts.substr(0, end);
    mounts = end == std::string_view::npos ? std::string_view() : mounts.substr(end + 1);
    // device mount-point type options 0 0
    size_t word[4] = {};
    size_t at = 0;
    bool complete = true;
    for (size_t i = 1; i < 4; ++i) {
      at = line.find(' ', at);
      if (at == std::string_view::npos) {
        complete = false;
        break;
      }
      word[i] = ++at;
    }
    if (!complete) continue;
    const std::string_view point = line.substr(word[1], word[2] - word[1] - 1);
    const std::string_view type = line.substr(word[2], word[3] - word[2] - 1);
    std::string_view options = line.substr(word[3]);
    options = options.substr(0, options.find(' '));
    if (controller.empty() && type == "cgroup2") return std::string(point);
    if (controller.empty() || type != "cgroup") continue;
    const std::string list = "," + std::string(options) + ",";
    if (list.find("," + std::string(controller) + ",") != std::string::npos) {
      return std::string(point);
    }
  }
  return {};
}

// The path of this process in a hierarchy, from /proc/self/cgroup.
std::string group_path(std::string_view groups, std::string_view controller) {
  while (!groups.empty()) {
    const size_t end = groups.find('\n');
    const std::string_view line = groups.substr(0, end);
    groups = end == std::string_view::npos ? std::string_view() : groups.substr(end + 1);
    // number:controllers:path
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string list = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    const bool matches = controller.empty()
                             ? list == ",,"
                             : list.find("," + std::string(controller) + ",") != std::string::npos;
    if (matches) return std::string(line.substr(second + 1));
  }
  return {};
}

struct GroupFiles {
  std::string_view controller, limit, usage, reclaimable;
};
constexpr GroupFiles kVersion1{"memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                               "total_inactive_file"};
constexpr GroupFiles kVersion2{"", "memory.max", "memory.current", "inactive_file"};

// The least that any group from this process's up to the root leaves.
std::optional<uint64_t> group_leaves(const std::string &root, const GroupFiles &files) {
  const auto mounts = read_text_file(root + "/proc/self/mounts");
  const auto groups = read_text_file(root + "/proc/self/cgroup");
  if (!mounts || !groups) return std::nullopt;
  const std::string point = mount_point(*mounts, files.controller);
  if (point.empty()) return std::nullopt;
  std::string path = group_path(*groups, files.controller);
  std::optional<uint64_t> least;
  for (;;) {
    const std::string folder = root + point + path + "/";
    const auto limit = read_number_file(folder + std::string(files.limit));
    const auto usage = read_number_file(folder + std::string(files.usage));
    if (limit && usage) {
      // Page cache that was read once goes before anybody is killed.
      const auto stat = read_text_file(folder + "memory.stat");
      const uint64_t cache = stat ? number_of(*stat, files.reclaimable).value_or(0) : 0;
      const uint64_t used = *usage - std::min(*usage, cache);
      const uint64_t left = *limit - std::min(*limit, used);
      least = std::min(left, least.value_or(left));
    }
    const size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) break;
    path.resize(slash);
  }
  return least;
}

}  // namespace

MemoryLimit memory_limit(const std::string &root) {
  MemoryLimit limit;
  const auto meminfo = read_text_file(root + "/proc/meminfo");
  // Without /proc nothing is known: so little that it fits any machine.
  limit.bytes = 256 * kMiB;
  limit.reason = "a guess (/proc/meminfo cannot be read)";
  limit.remedy = "mount /proc";
  if (meminfo) {
    if (const auto available = number_of(*meminfo, "MemAvailable")) {
      limit.bytes = *available * kKiB;
      limit.reason = "free memory";
      limit.remedy = "free some memory";
    }
  }
  for (const GroupFiles &files : {kVersion1, kVersion2}) {
    const auto left = group_leaves(root, files);
    if (left && *left < limit.bytes) {
      limit.bytes = *left;
      limit.reason = "the memory cgroup limit";
      limit.remedy = "raise that limit";
    }
  }
  limit.bytes -= limit.bytes / kMarginDivisor;
  return limit;
}

MemoryLimit limit_on_pages(PageKind kind, const MemoryLimit &limit, int node,
                           const std::string &root) {
  MemoryLimit on_pages = limit;
  if (node != kAnyNode) {
    const std::string name = std::to_string(node);
    const auto meminfo = read_text_file(root + "/sys/devices/system/node/node" + name + "/meminfo");
    const auto free = meminfo ? number_of(*meminfo, "Node " + name + " MemFree") : std::nullopt;
    const uint64_t left = free ? *free * kKiB - *free * kKiB / kMarginDivisor : limit.bytes;
    if (left < limit.bytes) {
      on_pages.bytes = left;
      on_pages.reason = "free memory of node " + name;
      on_pages.remedy = "free some memory there";
    }
  }
  if (is_pool_kind(kind)) on_pages.bytes += page_pool(kind, node).free * page_bytes(kind);
  return on_pages;
}

std::string lacks(PageKind kind, uint64_t bytes) {
  const MemoryLimit limit = limit_on_pages(kind, memory_limit());
  if (limit.bytes >= bytes) return "";
  return limit.reason + " leaves no " + format_size(bytes) + ": " + limit.remedy;
}

uint64_t largest_that_fits(uint64_t bytes) {
  uint64_t size = kKiB;
  while (size * 2 <= bytes) size *= 2;
  return size;
}

}  // namespace hpz::bench
