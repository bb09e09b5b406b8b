// SPDX-License-Identifier: BSD-2-Clause
#include "lib/zero/dispatch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <new>

#include "lib/plan/cores.h"
#include "lib/plan/cpu.h"
#include "lib/plan/env.h"
#include "lib/plan/profile.h"
#include "lib/zero/clear.h"
#include "lib/zero/probe.h"

namespace hpz {
namespace {

// --- What runs once a plan is there ------------------------------------------------------------

void run_cached(const Plan &plan, void *dst, size_t len) noexcept {
  clear_range(plan.selection.cached.find(len), dst, len);
}

void run_stream(const Plan &plan, void *dst, size_t len) noexcept {
  clear_range(plan.selection.stream.find(len), dst, len);
}

void run_pages(const Plan &plan, void *const *pages, size_t count, size_t page_bytes) noexcept {
  // A batch is one extent to the memory system. (A product that overflows is as large as can be.)
  size_t total;
  if (__builtin_mul_overflow(count, page_bytes, &total)) total = SIZE_MAX;
  clear_pages(plan.selection.stream.find(total), pages, count, page_bytes);
}

void run_auto(const Plan &plan, void *dst, size_t len) noexcept {
  const Selection &choice = plan.selection;
  if (len > choice.probe_upto) return run_stream(plan, dst, len);
  if (len < choice.probe_from || !choice.probes()) return run_cached(plan, dst, len);
  const uint64_t ticks = probe::calibrated_threshold(has_fine_counter(plan.cpu.features));
  if (ticks == probe::kUnusable || !probe::misses_cache(dst, len, ticks)) {
    return run_cached(plan, dst, len);
  }
  run_stream(plan, dst, len);
}

constexpr Entries kEntries = {run_auto, run_cached, run_stream, run_pages};

// --- Making a plan -----------------------------------------------------------------------------

// What hpz_init found at the path of a profile.
struct ProfileOutcome {
  const char *path = nullptr;  // null: none was asked for
  ProfileError status;
  Selection selection;
};

// What the CPU offers, less what the environment takes away of it.
void detect_into(Plan &plan, const Environment &env, bool ask_cpuinfo) noexcept {
  plan.entries = kEntries;
  plan.cpu = detect_cpu();
  if (ask_cpuinfo) refine_by_cpuinfo(plan.cpu);
  bool unknown = false;
  plan.cpu.features &= ~parse_features(env.cpu_disable, feature_names(), unknown);
}

// Chooses among what plan.cpu offers, and writes down why.
void choose(const Environment &env, const ProfileOutcome &profile, Plan &plan) noexcept {
  const FeatureSet features = plan.cpu.features;

  const Kernel *forced = find_kernel(kernels(), env.kernel);
  const char *refusal = env.kernel != nullptr && forced == nullptr ? "names no kernel" : nullptr;
  if (forced != nullptr && missing_features(*forced, features) != 0) {
    refusal = "cannot run here";
    forced = nullptr;
  }
  const bool has_profile = profile.path != nullptr && profile.status.error == 0;
  const Tuning tune = tuning(features);
  plan.selection = select({kernels(), features, plan.cpu.caches, tune,
                           has_profile ? &profile.selection : nullptr, forced});

  auto &source = plan.source;
  if (forced != nullptr) {
    source << "HPZ_KERNEL=" << env.kernel;
  } else if (has_profile) {
    source << "profile " << profile.path;
  } else {
    source << "built-in for " << tune.name;
  }
  // The reason before the value: what is cut off at the end of the buffer is the value's.
  if (profile.path != nullptr && !has_profile) {
    source << "; profile ignored (";
    if (profile.status.line != 0) source << "line " << uint64_t{profile.status.line} << ' ';
    source << profile.status.reason << "): " << profile.path;
  }
  if (refusal != nullptr) source << "; HPZ_KERNEL ignored (" << refusal << "): " << env.kernel;
  if (env.cpu_disable != nullptr) {
    bool has_unknown = false;
    parse_features(env.cpu_disable, feature_names(), has_unknown);
    source << (has_unknown ? "; HPZ_CPU_DISABLE (unknown names in it ignored): "
                           : "; HPZ_CPU_DISABLE: ")
           << env.cpu_disable;
  }
}

const char *reason_of(int error) noexcept {
  switch (-error) {
    case ENOENT:
      return "no such file";
    case EACCES:
      return "no permission";
    case EFBIG:
      return "larger than 64 KiB";
    case EBADMSG:
      return "no regular file";
    default:
      return "cannot be read";
  }
}

// False: no memory.
bool load_profile(const char *path, const Cpu &cpu, ProfileOutcome &out) noexcept {
  out.path = path;
  char *const buffer = static_cast<char *>(malloc(kMaxProfileBytes));
  if (buffer == nullptr) return false;
  const long size = read_profile(path, buffer);
  if (size < 0) {
    const int error = static_cast<int>(size);
    out.status = {error, 0, reason_of(error)};
  } else {
    out.status = parse_profile({buffer, static_cast<size_t>(size)}, kernels(), cpu.features,
                               cpu.identity, out.selection);
  }
  free(buffer);
  return true;
}

// --- Publishing it -----------------------------------------------------------------------------

constinit Plan g_first_plan = {};
// A word: exchanging a byte needs libatomic on some instruction sets.
constinit std::atomic<uint32_t> g_first_plan_claimed{0};

// Everything that hpz_init ever published, so that a reader may keep what it has loaded and leak
// checkers find it; equal plans are not stored twice, which bounds the list.
struct PublishedPlan {
  Plan plan;
  PublishedPlan *next;
};
constinit std::atomic<PublishedPlan *> g_published{nullptr};

extern const Plan kTrampolines;

// Computed by everyone who comes before it is published, in memory of their own: nobody waits,
// which makes the first call safe in a signal handler that interrupted the first call.
const Plan &make_first_plan(Plan &scratch) noexcept {
  const Environment env = read_environment();
  detect_into(scratch, env, false);
  choose(env, {}, scratch);
  if (g_first_plan_claimed.exchange(1, std::memory_order_acq_rel) == 0) {
    g_first_plan = scratch;
    const Plan *expected = &kTrampolines;  // hpz_init may have been faster
    g_plan.compare_exchange_strong(expected, &g_first_plan, std::memory_order_acq_rel);
  }
  return scratch;
}

// noinline: the plan's frame is not to become part of the hot entries.
[[gnu::noinline]] void first_zero(const Plan &, void *dst, size_t len) noexcept {
  Plan scratch = {};
  run_auto(make_first_plan(scratch), dst, len);
}
[[gnu::noinline]] void first_cached(const Plan &, void *dst, size_t len) noexcept {
  Plan scratch = {};
  run_cached(make_first_plan(scratch), dst, len);
}
[[gnu::noinline]] void first_stream(const Plan &, void *dst, size_t len) noexcept {
  Plan scratch = {};
  run_stream(make_first_plan(scratch), dst, len);
}
[[gnu::noinline]] void first_pages(const Plan &, void *const *pages, size_t count,
                                   size_t page_bytes) noexcept {
  Plan scratch = {};
  run_pages(make_first_plan(scratch), pages, count, page_bytes);
}

constinit const Plan kTrampolines = {
    {first_zero, first_cached, first_stream, first_pages}, {}, {}, {}};

const Plan *find_published(const Plan &plan) noexcept {
  for (const PublishedPlan *at = g_published.load(std::memory_order_acquire); at != nullptr;
       at = at->next) {
    if (at->plan == plan) return &at->plan;
  }
  return nullptr;
}

// The plan as part of the list; null: no memory.
const Plan *store(const Plan &plan) noexcept {
  if (const Plan *const known = find_published(plan); known != nullptr) return known;
  void *const memory = malloc(sizeof(PublishedPlan));
  if (memory == nullptr) return nullptr;
  auto *const node = new (memory) PublishedPlan{plan, g_published.load(std::memory_order_relaxed)};
  while (!g_published.compare_exchange_weak(node->next, node, std::memory_order_acq_rel)) {
  }
  return &node->plan;
}

}  // namespace

constinit std::atomic<const Plan *> g_plan{&kTrampolines};

const Plan *settled_plan() noexcept {
  if (&current_plan() == &kTrampolines) {
    Plan scratch = {};
    make_first_plan(scratch);
    // Somebody is copying it just now, or has been stopped for good while doing so (by siglongjmp
    // out of a handler, by fork in another thread): never wait for them.
    if (&current_plan() == &kTrampolines) {
      const Plan *const plan = store(scratch);
      if (plan == nullptr) return nullptr;
      const Plan *expected = &kTrampolines;
      g_plan.compare_exchange_strong(expected, plan, std::memory_order_acq_rel);
    }
  }
  return &current_plan();
}

FeatureSet settled_features() noexcept {
  const Plan &plan = current_plan();
  if (&plan != &kTrampolines) return plan.cpu.features;
  Plan scratch = {};
  return make_first_plan(scratch).cpu.features;
}

int publish_refined_plan(const RefineOptions &options) noexcept {
  const Environment env = read_environment();
  Plan plan = {};
  detect_into(plan, env, true);
  ProfileOutcome outcome;
  const bool is_checked = options.check_cpus && features_by_core() != 0;
  const bool cores_differ = is_checked && compare_cores() != CoreCheck::kAlike;
  if (cores_differ) plan.cpu.features &= ~features_by_core();
  const char *const path = options.profile != nullptr ? options.profile : env.profile;
  if (path != nullptr && !load_profile(path, plan.cpu, outcome)) return -ENOMEM;
  choose(env, outcome, plan);

  if (cores_differ) plan.source << "; CPUs not known to be alike";
  if (options.may_probe) {
    probe::calibrated_threshold(has_fine_counter(plan.cpu.features));
  } else {
    plan.selection.probe_from = plan.selection.probe_upto;
  }

  const Plan *const stored = store(plan);
  if (stored == nullptr) return -ENOMEM;
  g_plan.store(stored, std::memory_order_release);
  return options.profile != nullptr ? outcome.status.error : 0;
}

}  // namespace hpz
