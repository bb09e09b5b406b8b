// SPDX-License-Identifier: BSD-2-Clause
//
// hpzero-bench explain SIZE: what each policy does at that size, and why the other kernels were
// passed over.
#include <hpzero/hpzero.h>

#include <cstdio>
#include <cstring>

#include "bench/experiment.h"
#include "bench/plan.h"
#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/table.h"

namespace hpz::bench {
namespace {

// The store unit that goes without saying.
constexpr uint32_t kLineBytes = 64;

struct Policy {
  hpz_policy policy;
  const char *call;
};
constexpr Policy kPolicies[] = {{HPZ_POLICY_AUTO, "hpz_zero"},
                                {HPZ_POLICY_CACHED, "hpz_zero_cached"},
                                {HPZ_POLICY_STREAM, "hpz_zero_stream, hpz_zero_pages"}};

std::string band_text(const hpz_plan_info &plan, uint64_t size) {
  std::string text;
  uint64_t below = 0;
  for (uint32_t i = 0; i < plan.bands; ++i) {
    const auto &band = plan.band[i];
    const bool is_here = size > below && size <= band.upto_bytes;
    text += std::string(i == 0 ? "" : ", ") + (is_here ? "[" : "") + band.kernel +
            (band.upto_bytes == UINT64_MAX ? " above" : " to " + format_size(band.upto_bytes)) +
            (is_here ? "]" : "");
    below = band.upto_bytes;
  }
  return text;
}

void explain_policy(const Policy &policy, uint64_t size) {
  const hpz_plan_info plan = plan_of(policy.policy);
  const char *const kernel = banded_kernel(plan, size);
  std::string verdict = kernel;
  if (policy.policy == HPZ_POLICY_AUTO && is_probed(plan, size)) {
    verdict += std::string(" where the probe finds the range in cache, ") +
               banded_kernel(plan_of(HPZ_POLICY_STREAM), size) + " where it does not";
  }
  std::printf("  %s(p, %s): %s\n    bands: %s\n", policy.call, format_size(size).c_str(),
              verdict.c_str(), band_text(plan, size).c_str());
}

// Why a kernel is not what some policy uses at this size.
std::string passed_over(const hpz_kernel_info &kernel, uint64_t size) {
  if (kernel.missing != nullptr) return std::string("cannot run: this CPU lacks ") + kernel.missing;
  const hpz_plan_info automatic = plan_of(HPZ_POLICY_AUTO);
  const hpz_plan_info cached = plan_of(HPZ_POLICY_CACHED);
  const hpz_plan_info stream = plan_of(HPZ_POLICY_STREAM);
  std::string used;
  const auto check = [&](const hpz_plan_info &plan, const char *call) {
    if (std::strcmp(banded_kernel(plan, size), kernel.id) != 0) return;
    used += (used.empty() ? "USED by " : ", ") + std::string(call);
  };
  check(automatic, "hpz_zero");
  check(cached, "hpz_zero_cached");
  check(stream, "hpz_zero_stream");
  if (is_probed(automatic, size) && std::strcmp(banded_kernel(stream, size), kernel.id) == 0) {
    used += " and by hpz_zero on memory that is not in cache";
  }
  if (!used.empty()) {
    if (kernel.block_bytes != kLineBytes) {
      used += ", blocks of " + format_size(kernel.block_bytes);
    }
    return used;
  }
  if (kernel.avoided != nullptr) {
    return std::string("avoided: this CPU has the quirk ") + kernel.avoided;
  }
  const auto has_band = [&](const hpz_plan_info &plan) {
    for (uint32_t i = 0; i < plan.bands; ++i) {
      if (std::strcmp(plan.band[i].kernel, kernel.id) == 0) return true;
    }
    return false;
  };
  if (has_band(automatic) || has_band(cached) || has_band(stream)) {
    return "used at other sizes: see the bands";
  }
  // One kernel per role gets bands, the first that runs and is not avoided; or the profile's.
  for (const hpz_kernel_info &other : all_kernels()) {
    if (std::strcmp(other.id, kernel.id) == 0) break;
    if ((other.roles & kernel.roles) != 0 && other.missing == nullptr && other.avoided == nullptr) {
      return std::string("not preferred: ") + other.id + " comes first in its role";
    }
  }
  return "no band of this plan uses it";
}

int run(const Options &options) {
  const uint64_t size = parse_size(options.operands[0]);
  hpz_init(nullptr);
  const hpz_plan_info automatic = plan_of(HPZ_POLICY_AUTO);

  std::printf("%s on %s, libhpzero %s\n\n", format_size(size).c_str(), automatic.cpu,
              hpz_version());
  for (const Policy &policy : kPolicies) explain_policy(policy, size);

  std::printf("\nkernels\n");
  for (const hpz_kernel_info &kernel : all_kernels()) {
    std::printf("  %-12s %s\n", kernel.id, passed_over(kernel, size).c_str());
  }

  std::printf("\nwhy\n  plan: %s\n", automatic.source);
  const auto level = [](uint64_t bytes) {
    return bytes == 0 ? std::string("unknown") : format_size(bytes);
  };
  std::printf("  caches as the CPU reports them: L1d %s, L2 %s, last level %s\n",
              level(automatic.l1_bytes).c_str(), level(automatic.l2_bytes).c_str(),
              level(automatic.llc_bytes).c_str());
  if (automatic.probe_upto_bytes == 0) {
    std::printf("  probe of hpz_zero: off\n");
  } else if (automatic.probe_ticks == UINT64_MAX) {
    std::printf("  probe of hpz_zero: off, because this machine's counter tells nothing\n");
  } else {
    std::printf("  probe of hpz_zero: from %s to %s; slower than %llu ticks is not in cache\n",
                format_size(automatic.probe_from_bytes).c_str(),
                format_size(automatic.probe_upto_bytes).c_str(),
                static_cast<unsigned long long>(automatic.probe_ticks));
  }
  std::printf("  features: %s\n", automatic.features);
  return kExitOk;
}

}  // namespace

const Experiment kExplain = {
    "explain", "SIZE", "what each policy uses at that size, and why not the others", 1, "",
    "",        run};

}  // namespace hpz::bench
