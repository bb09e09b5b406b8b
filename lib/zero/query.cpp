// SPDX-License-Identifier: BSD-2-Clause
//
// kernels.h: what the table and the plan look like from outside.
#include <errno.h>
#include <hpzero/kernels.h>
#include <stdlib.h>

#include <atomic>
#include <new>

#include "lib/plan/options.h"
#include "lib/zero/dispatch.h"
#include "lib/zero/probe.h"

namespace {

using namespace hpz;

static_assert(HPZ_ROLE_CACHED == kCached && HPZ_ROLE_BULK == kBulk && HPZ_ROLE_STREAM == kStream &&
              HPZ_ROLE_LIBC == kLibc);
static_assert(HPZ_KERNEL_NEEDS_FENCE == kNeedsFence);
static_assert(sizeof(hpz_plan_info::band) / sizeof(hpz_plan_info::band[0]) == kMaxBands);

// Lists of features as text. They live as long as the process, are made when somebody first asks
// and shared by all who ask the same; a set is found again by its bits, so there are few.
struct FeatureText {
  FeatureSet features;
  FeatureText *next;
  FixedText<256> text;
};
constinit std::atomic<FeatureText *> g_texts{nullptr};

// Null: no memory.
const char *text_of(FeatureSet features) noexcept {
  for (const FeatureText *at = g_texts.load(std::memory_order_acquire); at != nullptr;
       at = at->next) {
    if (at->features == features) return at->text.c_str();
  }
  void *const memory = malloc(sizeof(FeatureText));
  if (memory == nullptr) return nullptr;
  auto *const made =
      new (memory) FeatureText{features, g_texts.load(std::memory_order_relaxed), {}};
  const std::span<const char *const> names = feature_names();
  for (size_t i = 0; i < names.size(); ++i) {
    if ((features >> i & 1) == 0) continue;
    if (!made->text.empty()) made->text << ',';
    made->text << names[i];
  }
  while (!g_texts.compare_exchange_weak(made->next, made, std::memory_order_acq_rel)) {
  }
  return made->text.c_str();
}

// hpz_zero: as cached up to where streaming begins, then as stream.
Bands auto_bands(const Selection &selection) noexcept {
  Bands bands;
  const Bands &cached = selection.cached;
  for (uint32_t i = 0; i < cached.count; ++i) {
    const Band &band = cached.band[i];
    bands.append(band.upto < selection.probe_upto ? band.upto : selection.probe_upto, *band.kernel);
  }
  const Bands &stream = selection.stream;
  for (uint32_t i = 0; i < stream.count; ++i) {
    if (stream.band[i].upto > selection.probe_upto) {
      bands.append(stream.band[i].upto, *stream.band[i].kernel);
    }
  }
  return bands;
}

}  // namespace

extern "C" {

size_t hpz_kernel_count(void) noexcept {
  return kernels().size();
}

int hpz_kernel_info_get(size_t index, struct hpz_kernel_info *out) noexcept {
  if (index >= kernels().size() || out == nullptr) return -EINVAL;
  const Kernel &row = kernels()[index];
  const FeatureSet features = settled_features();
  const FeatureSet missing = missing_features(row, features), avoided = avoided_for(row, features);
  hpz_kernel_info info = HPZ_KERNEL_INFO_INIT;
  info.id = row.id;
  info.summary = row.summary;
  if (missing != 0 && (info.missing = text_of(missing)) == nullptr) return -ENOMEM;
  if (avoided != 0 && (info.avoided = text_of(avoided)) == nullptr) return -ENOMEM;
  info.roles = row.roles;
  info.flags = row.flags;
  info.block_bytes = block_bytes(row);
  info.lanes = row.lanes;
  info.lanes_from_bytes = row.lanes_from_bytes;
  return write_info(out, info) ? 0 : -EINVAL;
}

int hpz_plan_info_get(enum hpz_policy policy, struct hpz_plan_info *out) noexcept {
  if (out == nullptr) return -EINVAL;
  const Plan *const settled = settled_plan();
  if (settled == nullptr) return -ENOMEM;
  const Plan &plan = *settled;
  Bands bands;
  hpz_plan_info info = HPZ_PLAN_INFO_INIT;
  switch (policy) {
    case HPZ_POLICY_AUTO: {
      bands = auto_bands(plan.selection);
      const uint64_t ticks = probe::known_threshold(has_fine_counter(plan.cpu.features));
      const bool probes = plan.selection.probes() && ticks != probe::kUnusable;
      if (probes) {
        info.probe_from_bytes = plan.selection.probe_from;
        info.probe_upto_bytes = plan.selection.probe_upto;
      }
      info.probe_ticks = ticks;
      break;
    }
    case HPZ_POLICY_CACHED:
      bands = plan.selection.cached;
      break;
    case HPZ_POLICY_STREAM:
      bands = plan.selection.stream;
      break;
    default:
      return -EINVAL;
  }
  info.bands = bands.count;
  for (uint32_t i = 0; i < bands.count; ++i) {
    info.band[i].upto_bytes = bands.band[i].upto;
    info.band[i].kernel = bands.band[i].kernel->id;
  }
  info.source = plan.source.c_str();
  info.l1_bytes = plan.cpu.caches.l1;
  info.l2_bytes = plan.cpu.caches.l2;
  info.llc_bytes = plan.cpu.caches.llc;
  info.features = text_of(plan.cpu.features);
  if (info.features == nullptr) return -ENOMEM;
  info.cpu = plan.cpu.identity;
  return write_info(out, info) ? 0 : -EINVAL;
}

}  // extern "C"
