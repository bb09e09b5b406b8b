// SPDX-License-Identifier: BSD-2-Clause
//
// A space of memory that an embedder's callbacks make addressable.
#include <errno.h>
#include <hpzero/space.h>
#include <stdlib.h>

#include <algorithm>
#include <new>

#include "lib/plan/options.h"
#include "lib/space/backed.h"
#include "lib/space/pages.h"

namespace hpz {
namespace {

struct Custom {
  hpz_space_ops ops;
  void *context;
  BackingOps backing_ops;  // those that this embedder has
};

const Custom &custom_of(const void *self) noexcept {
  return *static_cast<const Custom *>(self);
}

// What a callback returned, as a negative errno value or 0.
int result_of(int result) noexcept {
  constexpr int kLargestErrno = 4095;
  return result <= 0 && result >= -kLargestErrno ? result : -EIO;
}

// What map gave is good for the kernels, the system calls, and every end of a part of it.
bool is_usable(const void *at, uint64_t bytes) noexcept {
  const auto begin = reinterpret_cast<uintptr_t>(at);
  return begin != 0 && (begin & (kSmallestPageBytes - 1)) == 0 && begin + (bytes - 1) >= begin;
}

int map(void *self, uint64_t position, uint64_t bytes, char **at) noexcept {
  const Custom &custom = custom_of(self);
  void *mapped = nullptr;
  const int error = result_of(custom.ops.map(custom.context, position, bytes, &mapped));
  if (error != 0) return error;
  if (!is_usable(mapped, bytes)) {
    custom.ops.unmap(custom.context, position, bytes, mapped);
    return -EFAULT;
  }
  *at = static_cast<char *>(mapped);
  return 0;
}

void unmap(void *self, uint64_t position, uint64_t bytes, char *at) noexcept {
  const Custom &custom = custom_of(self);
  custom.ops.unmap(custom.context, position, bytes, at);
}

int populate(void *self, uint64_t position, uint64_t bytes) noexcept {
  const Custom &custom = custom_of(self);
  return result_of(custom.ops.populate(custom.context, position, bytes));
}

int release(void *self, uint64_t position, uint64_t bytes) noexcept {
  const Custom &custom = custom_of(self);
  return result_of(custom.ops.release(custom.context, position, bytes));
}

int find_used(void *self, uint64_t position, uint64_t end, uint64_t *used_begin,
              uint64_t *used_end) noexcept {
  const Custom &custom = custom_of(self);
  return result_of(custom.ops.find_used(custom.context, position, end, used_begin, used_end));
}

void destroy(void *self) noexcept {
  free(self);
}

bool is_known(const hpz_space_ops &ops) noexcept {
  return ops.map != nullptr && ops.unmap != nullptr && ops.len != 0 &&
         (ops.flags & ~HPZ_SPACE_OPS_CONTIGUOUS) == 0;
}

BackingOps backing_ops_of(const hpz_space_ops &ops) noexcept {
  BackingOps backing = {};
  backing.map = map;
  backing.unmap = unmap;
  if (ops.populate != nullptr) backing.populate = populate;
  if (ops.release != nullptr) backing.release = release;
  if (ops.find_used != nullptr) backing.find_used = find_used;
  backing.destroy = destroy;
  return backing;
}

// Fills in the defaults. False: sizes that cannot be.
bool settle_sizes(hpz_space_ops &ops) noexcept {
  if (ops.page_bytes == 0) ops.page_bytes = kSmallestPageBytes;
  if (!is_page_size(ops.page_bytes)) return false;
  if ((ops.flags & HPZ_SPACE_OPS_CONTIGUOUS) == 0) {
    if (ops.window_bytes != 0) return false;
    ops.window_bytes = ops.page_bytes;
  } else if (ops.window_bytes == 0) {
    ops.window_bytes = std::max(kUsualWindowBytes, ops.page_bytes);
  }
  return (ops.window_bytes & (ops.page_bytes - 1)) == 0;
}

}  // namespace
}  // namespace hpz

using namespace hpz;

extern "C" int hpz_space_custom(const struct hpz_space_ops *ops, void *context,
                                struct hpz_space **out) noexcept {
  if (out == nullptr || ops == nullptr) return -EINVAL;
  hpz_space_ops known = HPZ_SPACE_OPS_INIT;
  if (!read_options(ops, ops->size, known)) return -EINVAL;
  if (!is_known(known) || !settle_sizes(known)) return -EINVAL;
  void *const memory = malloc(sizeof(Custom));
  if (memory == nullptr) return -ENOMEM;
  auto *const custom = new (memory) Custom{known, context, backing_ops_of(known)};
  Backing backing;
  backing.ops = &custom->backing_ops;
  backing.self = custom;
  backing.page_bytes = known.page_bytes;
  backing.window_bytes = known.window_bytes;
  backing.most_windows = std::max(known.most_maps, 1u);
  backing.end = known.len;
  const int error = make_backed_space(backing, known.len, out);
  if (error != 0) destroy(custom);
  return error;
}
