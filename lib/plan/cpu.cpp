// SPDX-License-Identifier: BSD-2-Clause
//
// The only door to libcpuinfo.
#include "lib/plan/cpu.h"

#include <cpuinfo.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace hpz {
namespace {

// Features on which libcpuinfo has an opinion of its own, by their names in features.def. (2022-06
// knows neither ERMS nor FSRM nor MOVDIR64B.) On another instruction set no name matches.
struct Opinion {
  const char *feature;
  bool (*says_yes)();
};
constexpr Opinion kOpinions[] = {
    {"avx2", [] { return cpuinfo_has_x86_avx2(); }},
    {"avx512f", [] { return cpuinfo_has_x86_avx512f(); }},
    {"clzero", [] { return cpuinfo_has_x86_clzero(); }},
};

// Quirks of microarchitectures that a hypervisor shows under a model number of its own.
struct Quirk {
  cpuinfo_uarch uarch;
  const char *feature;
};
constexpr Quirk kQuirks[] = {
    {cpuinfo_uarch_sky_lake, "slow_nt"},
    {cpuinfo_uarch_zen, "zen"},
    {cpuinfo_uarch_zen2, "zen"},
    {cpuinfo_uarch_zen3, "zen"},
};

FeatureSet bit_of(const char *name) noexcept {
  const std::span<const char *const> names = feature_names();
  for (size_t i = 0; i < names.size(); ++i) {
    if (strcmp(names[i], name) == 0) return FeatureSet{1} << i;
  }
  return 0;
}

// On arm64 a masked /sys makes cpuinfo_initialize print three lines that cannot be turned off (as
// of 2022-06), and with an empty /proc/cpuinfo it counts 0 processors: look before calling it.
// Delete when the log level can be set.
// It prints, too, where it cannot open files or allocate: both are tried out first.
bool may_ask_cpuinfo() noexcept {
  for (const char *const file :
       {"/sys/devices/system/cpu/possible", "/sys/devices/system/cpu/present", "/proc/cpuinfo"}) {
    const int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    close(fd);
  }
  constexpr size_t kMoreThanItTakes = size_t{1} << 20;
  void *const memory = malloc(kMoreThanItTakes);
  free(memory);
  return memory != nullptr;
}

void fill_in(uint64_t &size, const cpuinfo_cache *cache) noexcept {
  if (size == 0 && cache != nullptr) size = cache->size;
}

}  // namespace

void refine_by_cpuinfo(Cpu &cpu) noexcept {
  if (!may_ask_cpuinfo() || !cpuinfo_initialize() || cpuinfo_get_processors_count() == 0) return;
  for (const Opinion &opinion : kOpinions) {
    if (!opinion.says_yes()) cpu.features &= ~bit_of(opinion.feature);
  }
  if (cpuinfo_get_uarchs_count() > 0) {
    const cpuinfo_uarch uarch = cpuinfo_get_uarch(0)->uarch;
    for (const Quirk &quirk : kQuirks) {
      if (quirk.uarch == uarch) cpu.features |= bit_of(quirk.feature);
    }
  }
  fill_in(cpu.caches.l1, cpuinfo_get_l1d_caches_count() > 0 ? cpuinfo_get_l1d_cache(0) : nullptr);
  fill_in(cpu.caches.l2, cpuinfo_get_l2_caches_count() > 0 ? cpuinfo_get_l2_cache(0) : nullptr);
  fill_in(cpu.caches.llc, cpuinfo_get_l3_caches_count() > 0 ? cpuinfo_get_l3_cache(0) : nullptr);
}

}  // namespace hpz
