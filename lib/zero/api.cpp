// SPDX-License-Identifier: BSD-2-Clause
//
// zero.h and version.h: the entries of the C interface. Each checks what it must and hands over.
#include <errno.h>
#include <hpzero/version.h>
#include <hpzero/zero.h>
#include <string.h>

#include <atomic>

#include "lib/plan/options.h"
#include "lib/zero/clear.h"
#include "lib/zero/dispatch.h"
#include "lib/zero/scan.h"

namespace {

using namespace hpz;

// The C library clears ranges up to this without asking the plan. Raise it: kernels that beat
// memset below are left out. Lower it: the call's own cost (two loads, an indirect call, the edges)
// shows. At 1 KiB no kernel was ahead by more than that cost.
constexpr size_t kSmallBytes = 1024;

bool wraps(const void *at, size_t len) {
  uintptr_t end;
  return len != 0 && __builtin_add_overflow(reinterpret_cast<uintptr_t>(at), len - 1, &end);
}

// The row that was named last, found again by its id's address: callers that compare kernels name
// the same one over and over, and a search by text would be measured with it (up to 30 ns).
constinit std::atomic<const Kernel *> g_named_last{nullptr};

// The row of that id, or null and the error that says why it may not run.
const Kernel *usable_kernel(const char *id, int &error) {
  const Kernel *kernel = g_named_last.load(std::memory_order_relaxed);
  if (kernel == nullptr || kernel->id != id) {
    kernel = find_kernel(kernels(), id);
    if (kernel == nullptr) {
      error = -ENOENT;
      return nullptr;
    }
    g_named_last.store(kernel, std::memory_order_relaxed);
  }
  if (missing_features(*kernel, settled_features()) != 0) {
    error = -EOPNOTSUPP;
    return nullptr;
  }
  return kernel;
}

#define HPZ_TEXT_OF(number) #number
#define HPZ_TEXT(number) HPZ_TEXT_OF(number)

}  // namespace

extern "C" {

const char *hpz_version(void) noexcept {
  return HPZ_TEXT(HPZ_VERSION_MAJOR) "." HPZ_TEXT(HPZ_VERSION_MINOR) "." HPZ_TEXT(
      HPZ_VERSION_PATCH);
}

int hpz_init(const struct hpz_init_options *options) noexcept {
  hpz_init_options known = HPZ_INIT_OPTIONS_INIT;
  if (options != nullptr && !read_options(options, options->size, known)) return -EINVAL;
  if ((known.flags & ~(HPZ_INIT_NO_PROBE | HPZ_INIT_CHECK_CPUS)) != 0) return -EINVAL;
  return publish_refined_plan({.profile = known.profile,
                               .may_probe = (known.flags & HPZ_INIT_NO_PROBE) == 0,
                               .check_cpus = (known.flags & HPZ_INIT_CHECK_CPUS) != 0});
}

void hpz_zero(void *dst, size_t len) noexcept {
  if (len <= kSmallBytes) {
    if (len != 0) memset(dst, 0, len);
    return;
  }
  const Plan &plan = current_plan();
  plan.entries.zero(plan, dst, len);
}

void hpz_zero_cached(void *dst, size_t len) noexcept {
  if (len <= kSmallBytes) {
    if (len != 0) memset(dst, 0, len);
    return;
  }
  const Plan &plan = current_plan();
  plan.entries.cached(plan, dst, len);
}

void hpz_zero_stream(void *dst, size_t len) noexcept {
  if (len <= kSmallBytes) {
    if (len != 0) memset(dst, 0, len);
    return;
  }
  const Plan &plan = current_plan();
  plan.entries.stream(plan, dst, len);
}

void hpz_zero_pages(void *const *pages, size_t count, size_t page_bytes) noexcept {
  const Plan &plan = current_plan();
  plan.entries.pages(plan, pages, count, page_bytes);
}

int hpz_zero_with(const char *id, void *dst, size_t len) noexcept {
  int error = 0;
  const Kernel *const kernel = usable_kernel(id, error);
  if (kernel == nullptr) return error;
  if (wraps(dst, len)) return -EINVAL;
  if (len != 0) clear_range(*kernel, dst, len);
  return 0;
}

int hpz_zero_pages_with(const char *id, void *const *pages, size_t count,
                        size_t page_bytes) noexcept {
  int error = 0;
  const Kernel *const kernel = usable_kernel(id, error);
  if (kernel == nullptr) return error;
  for (size_t i = 0; i < count && page_bytes != 0; ++i) {
    if (wraps(pages[i], page_bytes)) return -EINVAL;
  }
  clear_pages(*kernel, pages, count, page_bytes);
  return 0;
}

int hpz_is_zero(const void *src, size_t len) noexcept {
  return scan_is_zero(src, len) ? 1 : 0;
}

}  // extern "C"
