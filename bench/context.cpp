// SPDX-License-Identifier: BSD-2-Clause
#include "bench/context.h"

#include <hpzero/hpzero.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <sstream>

#include "bench/fingerprint.h"
#include "bench/json_schema.h"
#include "bench/pages.h"
#include "bench/plan.h"
#include "bench/sizes.h"
#include "bench/text_file.h"

namespace hpz::bench {
namespace {

std::string or_unknown(std::string_view text) {
  return text.empty() ? "unknown" : std::string(text);
}

std::string cache_line(const hpz_plan_info &plan) {
  const auto level = [](const char *name, uint64_t bytes) {
    return std::string(name) + " " + (bytes == 0 ? "unknown" : format_size_rounded(bytes));
  };
  return level("L1d", plan.l1_bytes) + ", " + level("L2", plan.l2_bytes) + ", " +
         level("last level", plan.llc_bytes);
}

// A clock that is no cycle counter is read slowly, and ticks in steps that short sections show.
std::string clock_source() {
  const auto text =
      read_text_file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  return or_unknown(text.value_or(""));
}

std::string pool_line(PageKind kind) {
  const PagePool pool = page_pool(kind);
  if (!pool.exists) return "no pool";
  return std::to_string(pool.free) + " free of " + std::to_string(pool.total);
}

std::string policy_line(hpz_policy policy) {
  const hpz_plan_info plan = plan_of(policy);
  std::string line;
  for (uint32_t i = 0; i < plan.bands; ++i) {
    if (i > 0) line += ", ";
    const bool is_last = plan.band[i].upto_bytes == UINT64_MAX;
    line += std::string(plan.band[i].kernel) +
            (is_last ? " above" : " to " + format_size(plan.band[i].upto_bytes));
  }
  return line;
}

std::string probe_line(const hpz_plan_info &automatic) {
  if (automatic.probe_upto_bytes == 0) return "off";
  if (automatic.probe_ticks == UINT64_MAX) return "off, this machine's counter tells nothing";
  return format_size(automatic.probe_from_bytes) + " to " +
         format_size(automatic.probe_upto_bytes) + ", " + std::to_string(automatic.probe_ticks) +
         " ticks";
}

}  // namespace

std::string governor(int cpu) {
  if (cpu < 0) cpu = 0;
  const auto text = read_text_file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                                   "/cpufreq/scaling_governor");
  return text ? or_unknown(*text) : "unknown";
}

StolenTime stolen_time() {
  StolenTime time;
  const auto stat = read_text_file("/proc/stat");
  if (!stat) return time;
  // user nice system idle iowait irq softirq steal
  std::istringstream line{std::string(value_of(*stat, "cpu"))};
  uint64_t ticks = 0;
  for (int i = 0; i < 8 && line >> ticks; ++i) {
    time.all += ticks;
    if (i == 7) time.stolen = ticks;
  }
  return time;
}

double stolen_part_since(const StolenTime &before) {
  const StolenTime now = stolen_time();
  if (now.all <= before.all) return 0;
  return static_cast<double>(now.stolen - before.stolen) /
         static_cast<double>(now.all - before.all);
}

int online_cpus() {
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

ContextEntries describe_machine(int pinned_cpu) {
  const std::string cpuinfo = read_text_file("/proc/cpuinfo").value_or("");
  const hpz_plan_info automatic = plan_of(HPZ_POLICY_AUTO);
  utsname system = {};
  uname(&system);
  std::string kernels;
  for (const hpz_kernel_info &kernel : all_kernels()) {
    if (kernel.missing != nullptr) continue;
    if (!kernels.empty()) kernels += " ";
    kernels += kernel.id;
  }
  const auto thp = read_text_file("/sys/kernel/mm/transparent_hugepage/enabled");
  const bool is_virtual = value_of(cpuinfo, "flags").find(" hypervisor") != std::string_view::npos;
  return {
      {"cpu_model", or_unknown(value_of(cpuinfo, "model name"))},
      {"cpu_identity", or_unknown(automatic.cpu == nullptr ? "" : automatic.cpu)},
      {"cpu_microcode", or_unknown(value_of(cpuinfo, "microcode"))},
      {"cpu_features", or_unknown(automatic.features == nullptr ? "" : automatic.features)},
      {"cpu_caches", cache_line(automatic)},
      {"cpu_governor", governor(pinned_cpu)},
      {std::string(kClockSourceKey), clock_source()},
      {"pinned_to_cpu", pinned_cpu < 0 ? "none" : std::to_string(pinned_cpu)},
      {"virtual_machine", is_virtual ? "yes" : "unknown"},
      {"linux", std::string(system.release) + " " + system.machine},
      {"transparent_huge_pages", thp ? *thp : "unknown"},
      {"huge_pages_2m", pool_line(PageKind::k2m)},
      {"huge_pages_1g", pool_line(PageKind::k1g)},
      {"hpzero_version", hpz_version()},
      {std::string(kLibraryKey), fingerprint_of_library()},
      {"hpzero_kernels", kernels},
      {"hpzero_plan_source", or_unknown(automatic.source == nullptr ? "" : automatic.source)},
      {"hpzero_plan_auto", policy_line(HPZ_POLICY_AUTO)},
      {"hpzero_plan_cached", policy_line(HPZ_POLICY_CACHED)},
      {"hpzero_plan_stream", policy_line(HPZ_POLICY_STREAM)},
      {"hpzero_probe", probe_line(automatic)},
  };
}

}  // namespace hpz::bench
