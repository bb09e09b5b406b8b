// SPDX-License-Identifier: BSD-2-Clause
//
// hpzero-bench list: the kernels of this build, which of them run here, and which are chosen.
#include <hpzero/hpzero.h>

#include <cstdio>
#include <cstring>

#include "bench/experiment.h"
#include "bench/plan.h"
#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/table.h"
#include "bench/workloads.h"

namespace hpz::bench {
namespace {

std::string roles(uint32_t bits) {
  std::string text;
  const auto add = [&](uint32_t bit, const char *name) {
    if ((bits & bit) != 0) text += (text.empty() ? "" : "+") + std::string(name);
  };
  add(HPZ_ROLE_CACHED, "cached");
  add(HPZ_ROLE_BULK, "bulk");
  add(HPZ_ROLE_STREAM, "stream");
  add(HPZ_ROLE_LIBC, "libc");
  return text;
}

std::string lanes(const hpz_kernel_info &kernel) {
  std::string text = std::to_string(kernel.lanes);
  if (kernel.lanes > 1 && kernel.lanes_from_bytes > 0) {
    text += " from " + format_size(kernel.lanes_from_bytes);
  }
  return text;
}

std::string chosen_by(const char *id) {
  struct Policy {
    hpz_policy policy;
    const char *name;
  };
  constexpr Policy kPolicies[] = {
      {HPZ_POLICY_AUTO, "auto"}, {HPZ_POLICY_CACHED, "cached"}, {HPZ_POLICY_STREAM, "stream"}};
  std::string text;
  for (const auto &[policy, name] : kPolicies) {
    const hpz_plan_info plan = plan_of(policy);
    for (uint32_t i = 0; i < plan.bands; ++i) {
      if (std::strcmp(plan.band[i].kernel, id) != 0) continue;
      text += (text.empty() ? "" : "+") + std::string(name);
      break;
    }
  }
  return text.empty() ? "-" : text;
}

std::string condition(const hpz_kernel_info &kernel) {
  if (kernel.missing != nullptr) return std::string("lacks ") + kernel.missing;
  if (kernel.avoided != nullptr) return std::string("usable, avoided for ") + kernel.avoided;
  return "usable";
}

int run(const Options &) {
  hpz_init(nullptr);
  TextTable table;
  table.add_row({"kernel", "here", "chosen by", "role", "lanes", "block", "fence"});
  for (const hpz_kernel_info &kernel : all_kernels()) {
    table.add_row({kernel.id, condition(kernel), chosen_by(kernel.id), roles(kernel.roles),
                   lanes(kernel), std::to_string(kernel.block_bytes) + "B",
                   (kernel.flags & HPZ_KERNEL_NEEDS_FENCE) != 0 ? "yes" : "no"});
  }
  std::printf("%s\n", table.text().c_str());
  for (const hpz_kernel_info &kernel : all_kernels()) {
    std::printf("  %-12s %s\n", kernel.id, kernel.summary);
  }
  std::printf("\nother rows of 'run', also for --kernel and --reference:\n ");
  for (const auto &row : make_rows()) {
    if (row->kind() != RowKind::kKernel) std::printf(" %s", row->id().c_str());
  }
  std::printf("\n\nplan: %s\n", plan_of(HPZ_POLICY_AUTO).source);
  return kExitOk;
}

}  // namespace

const Experiment kList = {"list", "", "the kernels, which run here, which are chosen", 0, "",
                          "",     run};

}  // namespace hpz::bench
