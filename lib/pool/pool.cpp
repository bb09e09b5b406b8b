// SPDX-License-Identifier: BSD-2-Clause
#include "lib/pool/pool.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "lib/team/mempolicy.h"

namespace hpz {

PoolNode *Pool::find_node(int32_t id) noexcept {
  for (PoolNode *const node : nodes_) {
    if (node->id == id) return node;
  }
  return nullptr;
}

PoolNode &Pool::nearest_node() noexcept {
  if (nodes_.size() == 1) return *nodes_[0];
  const int32_t here = current_node();
  for (const Home &home : homes_) {
    if (home.id == here) return *nodes_[home.node];
  }
  return *nodes_[0];
}

int Pool::fill(int32_t node, size_t pages) noexcept {
  const size_t most = std::min<size_t>(pages, INT_MAX);
  size_t filled = 0;
  const int error = for_nodes(node, [&](PoolNode &each) {
    while (filled < most) {
      bool renews = false;
      Page *const page = each.locked([&] {
        Page *const dirty = each.pages.begin(false, true);
        if (dirty != nullptr) {
          renews = !dirty->has_memory;
          each.events.look(each.pages.counts());
        }
        return dirty;
      });
      if (page == nullptr) return 0;
      const int refused = clear_for_pool(each, *page, renews);
      if (refused != 0) return refused;
      // One that faulted is poisoned now, and not filled. (Poisoned is final.)
      if (each.locked([&] { return page->state != PoolPageState::kPoisoned; })) ++filled;
    }
    return 0;
  });
  return filled != 0 || error == 0 ? static_cast<int>(filled) : error;
}

int Pool::node_ids(int32_t *out, size_t count) const noexcept {
  const auto there = static_cast<int>(nodes_.size());
  for (size_t i = 0; i < std::min(count, nodes_.size()); ++i) out[i] = nodes_[i]->id;
  return there;
}

int Pool::set_filling(int32_t node, bool on) noexcept {
  const MutexLock lock(regions_lock_);
  return for_nodes(node, [&](PoolNode &each) {
    const int error = on ? start_filler(each) : 0;
    if (error != 0) return error;
    each.locked([&] { each.filler.is_on.store(on, std::memory_order_relaxed); });
    wake_filler(each);
    return 0;
  });
}

int Pool::event_fd(int32_t node, uint64_t clean_below) noexcept {
  PoolNode *found = find_node(node);
  if (found == nullptr && node == -1 && nodes_.size() == 1) found = nodes_[0];
  if (found == nullptr) return -EINVAL;
  const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) return -errno;
  for (PoolNode *const each : nodes_) {
    each->locked([&] { each->events.forget(fd); });
  }
  const int error =
      found->locked([&] { return found->events.add(fd, clean_below, found->pages.counts()); });
  if (error == 0) return fd;
  close(fd);
  return error;
}

int Pool::event_rearm(int fd) noexcept {
  for (PoolNode *const node : nodes_) {
    const int result = node->locked([&] { return node->events.rearm(fd, node->pages.counts()); });
    if (result != -EBADF) return result;
  }
  return -EBADF;
}

int Pool::poison(const void *address) noexcept {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const MutexLock lock(regions_lock_);
  for (const Region *region = regions_; region != nullptr; region = region->next) {
    PoolNode &first = *nodes_[region->pages[0]->node.load(std::memory_order_relaxed)];
    const uintptr_t skip =
        first.locked([&] { return at - reinterpret_cast<uintptr_t>(region->memory.base); });
    if (skip >= region->bytes) continue;
    Page &page = *region->pages[skip / unit_bytes_];
    PoolNode &node = *nodes_[page.node.load(std::memory_order_relaxed)];
    return node.locked([&] {
      if (page.state == PoolPageState::kAbsent || page.base == nullptr) return -ENOENT;
      node.pages.poison(page);
      node.events.look(node.pages.counts());
      return 0;
    });
  }
  return -ENOENT;
}

int Pool::stats(int32_t node, hpz_pool_stats &out) noexcept {
  PoolNode::Latency latency[3];
  const int error = for_nodes(node, [&](PoolNode &each) {
    each.locked([&] {
      const NodePages::Counts &counts = each.pages.counts();
      out.clean += counts.clean;
      out.dirty += counts.dirty;
      out.busy += counts.busy;
      out.taken += counts.taken;
      out.poisoned += counts.poisoned;
      for (int i = 0; i < 3; ++i) {
        latency[i].takes += each.latency[i].takes;
        latency[i].sum_ns += each.latency[i].sum_ns;
        latency[i].min_ns = std::min(latency[i].min_ns, each.latency[i].min_ns);
        latency[i].max_ns = std::max(latency[i].max_ns, each.latency[i].max_ns);
      }
    });
    out.filled_bytes += each.filled_bytes.load(std::memory_order_relaxed);
    out.cleared_bytes += each.cleared_bytes.load(std::memory_order_relaxed);
    out.renewed_bytes += each.renewed_bytes.load(std::memory_order_relaxed);
    const Filler &filler = each.filler;
    out.filler_cpu_ns += filler.cpu_ns();
    if (filler.cannot_lift.load(std::memory_order_relaxed)) out.flags |= HPZ_POOL_NO_LIFT;
    if (filler.cannot_sink.load(std::memory_order_relaxed)) out.flags |= HPZ_POOL_NO_IDLE;
    if (filler.is_on.load(std::memory_order_relaxed)) out.flags |= HPZ_POOL_FILLS;
    return 0;
  });
  if (error != 0) return error;
  out.hits = latency[HPZ_TAKE_HIT].takes;
  out.misses = latency[HPZ_TAKE_MISS].takes;
  out.waits = latency[HPZ_TAKE_WAIT].takes;
  for (int i = 0; i < 3; ++i) {
    if (latency[i].takes == 0) continue;
    out.latency[i].min_ns = latency[i].min_ns;
    out.latency[i].mean_ns = latency[i].sum_ns / latency[i].takes;
    out.latency[i].max_ns = latency[i].max_ns;
  }
  out.flags |= flags_.load(std::memory_order_relaxed);
  out.backing = source_.backing;
  out.page_bytes = unit_bytes_;
  const uint64_t obtained = obtained_bytes_.load(std::memory_order_relaxed);
  out.obtained_page_bytes = obtained != UINT64_MAX ? obtained : 0;
  return 0;
}

// --- The end -------------------------------------------------------------------------------------

Pool::~Pool() {
  for (PoolNode *const node : nodes_) {
    node->~PoolNode();
    free(node);
  }
  free(mount_);
}

void Pool::destroy() noexcept {
  const bool is_parent = is_of_this_process();
  // In a child there are no such threads, and a lock may be held by one that is not there.
  if (is_parent) {
    for (PoolNode *const node : nodes_) {
      if (!node->filler.is_there()) continue;
      node->filler.close();
      wake_filler(*node);
      node->filler.lift();
    }
    for (PoolNode *const node : nodes_) node->filler.join();
  }
  while (regions_ != nullptr) {
    Region *const region = regions_;
    regions_ = region->next;
    // The child does not have the mappings (MADV_DONTFORK), and others may be there now.
    if (!is_parent || source_.backing == HPZ_BACKING_RANGE) region->memory.base = nullptr;
    forget_region(region);
  }
  if (is_parent) {
    pthread_mutex_destroy(&growth_);
    pthread_mutex_destroy(&regions_lock_);
  }
  this->~Pool();
  free(this);
}

}  // namespace hpz
