// SPDX-License-Identifier: BSD-2-Clause
//
// pool.h: checks, and hands over to Pool.
#include <errno.h>
#include <hpzero/pool.h>
#include <limits.h>

#include "lib/plan/options.h"
#include "lib/pool/handle.h"
#include "lib/team/handle.h"

using namespace hpz;

namespace {

// 0, or why nothing can be done with it here.
int check(struct hpz_pool *pool) noexcept {
  if (pool == nullptr) return -EINVAL;
  return pool_of(pool)->is_of_this_process() ? 0 : -ECHILD;
}

// Of an array: all elements have the first one's size, and no version had less than this.
bool is_page_size(size_t size) noexcept {
  return size >= sizeof(hpz_page) && size <= kLargestStruct && size % alignof(hpz_page) == 0;
}

}  // namespace

extern "C" {

int hpz_pool_create(const struct hpz_pool_options *options, struct hpz_pool **out) noexcept {
  constexpr uint32_t kFlags = HPZ_POOL_THP | HPZ_POOL_PLAIN | HPZ_POOL_FALL_BACK | HPZ_POOL_EXPORT |
                              HPZ_POOL_IDLE | HPZ_POOL_NO_FILLING | HPZ_POOL_EMPTY |
                              HPZ_POOL_ZEROED;
  if (out == nullptr) return -EINVAL;
  hpz_pool_options known = HPZ_POOL_OPTIONS_INIT;
  if (options != nullptr && !read_options(options, options->size, known)) return -EINVAL;
  if ((known.flags & ~kFlags) != 0 || known.reserved != 0) return -EINVAL;
  if (known.team != nullptr && !team_of(known.team)->is_of_this_process()) return -ECHILD;
  Pool *pool = nullptr;
  const int error = Pool::create(known, &pool);
  if (error == 0) *out = handle_of(pool);
  return error;
}

void hpz_pool_destroy(struct hpz_pool *pool) noexcept {
  if (pool != nullptr) pool_of(pool)->destroy();
}

int hpz_pool_take(struct hpz_pool *pool, const struct hpz_take_options *options,
                  struct hpz_page *out, size_t count) noexcept {
  constexpr uint32_t kFlags =
      HPZ_TAKE_CLEAN_ONLY | HPZ_TAKE_ANY_CONTENT | HPZ_TAKE_STRICT | HPZ_TAKE_AWAIT;
  hpz_take_options known = HPZ_TAKE_OPTIONS_INIT;
  if (options != nullptr && !read_options(options, options->size, known)) return -EINVAL;
  if ((known.flags & ~kFlags) != 0 || known.node < -1) return -EINVAL;
  if ((known.flags & HPZ_TAKE_STRICT) != 0 && known.node == -1) return -EINVAL;
  if ((known.flags & HPZ_TAKE_AWAIT) != 0 && known.deadline_ns == 0) return -EINVAL;
  const int error = check(pool);
  if (error != 0) return error;
  if (count == 0) return 0;
  if (out == nullptr || count > INT_MAX || !is_page_size(out->size)) return -EINVAL;
  return pool_of(pool)->take(known, out, count);
}

int hpz_pool_give(struct hpz_pool *pool, const struct hpz_page *pages, size_t count,
                  uint32_t flags) noexcept {
  constexpr uint32_t kFlags = HPZ_GIVE_CLEAR | HPZ_GIVE_UNWRITTEN | HPZ_GIVE_SOLE_OWNER;
  constexpr uint32_t kEither = HPZ_GIVE_CLEAR | HPZ_GIVE_UNWRITTEN;
  const int error = check(pool);
  if (error != 0) return error;
  if ((flags & ~kFlags) != 0 || (flags & kEither) == kEither) return -EINVAL;
  if (count == 0) return 0;
  if (pages == nullptr || !is_page_size(pages->size)) return -EINVAL;
  return pool_of(pool)->give(pages, count, flags);
}

int hpz_pool_fill(struct hpz_pool *pool, int node, size_t pages) noexcept {
  const int error = check(pool);
  return error != 0 ? error : pool_of(pool)->fill(node, pages);
}

int hpz_pool_resize(struct hpz_pool *pool, int node, size_t pages) noexcept {
  const int error = check(pool);
  return error != 0 ? error : pool_of(pool)->resize(node, pages);
}

int hpz_pool_set_filling(struct hpz_pool *pool, int node, int on) noexcept {
  const int error = check(pool);
  return error != 0 ? error : pool_of(pool)->set_filling(node, on != 0);
}

int hpz_pool_event_fd(struct hpz_pool *pool, int node, size_t clean_below) noexcept {
  const int error = check(pool);
  return error != 0 ? error : pool_of(pool)->event_fd(node, clean_below);
}

int hpz_pool_event_rearm(struct hpz_pool *pool, int event_fd) noexcept {
  const int error = check(pool);
  return error != 0 ? error : pool_of(pool)->event_rearm(event_fd);
}

int hpz_pool_poison(struct hpz_pool *pool, const void *address) noexcept {
  const int error = check(pool);
  return error != 0 ? error : pool_of(pool)->poison(address);
}

int hpz_pool_nodes_get(struct hpz_pool *pool, int32_t *nodes, size_t count) noexcept {
  if (nodes == nullptr && count != 0) return -EINVAL;
  const int error = check(pool);
  return error != 0 ? error : pool_of(pool)->node_ids(nodes, count);
}

int hpz_pool_stats_get(struct hpz_pool *pool, int node, struct hpz_pool_stats *out) noexcept {
  if (out == nullptr || !is_info_size(out->size)) return -EINVAL;
  int error = check(pool);
  if (error != 0) return error;
  hpz_pool_stats stats = HPZ_POOL_STATS_INIT;
  error = pool_of(pool)->stats(node, stats);
  if (error == 0) write_info(out, stats);
  return error;
}

}  // extern "C"
