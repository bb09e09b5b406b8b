// SPDX-License-Identifier: BSD-2-Clause
//
// Creating a pool: where its memory comes from, its nodes, its fillers, its first pages.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <bit>
#include <new>

#include "lib/pool/huge_pages.h"
#include "lib/pool/pool.h"
#include "lib/space/pages.h"
#include "lib/space/touch.h"
#include "lib/team/machine.h"
#include "lib/team/mempolicy.h"
#include "lib/team/placement.h"
#include "lib/zero/dispatch.h"

namespace hpz {
namespace {

constexpr uint64_t kUsualBytes = uint64_t{64} << 20;  // of a node, where nobody says how many pages

}  // namespace

int Pool::choose_source(const hpz_pool_options &options) noexcept {
  const auto has = [&](uint32_t flag) { return (options.flags & flag) != 0; };
  const bool is_range = options.base != nullptr || options.len != 0;
  const bool is_ordinary = has(HPZ_POOL_THP) || has(HPZ_POOL_PLAIN) || is_range;
  if (int{has(HPZ_POOL_THP)} + int{has(HPZ_POOL_PLAIN)} + int{is_range} > 1) return -EINVAL;
  if (is_ordinary && (options.mount != nullptr || options.leave_pages != 0)) return -EINVAL;
  if (has(HPZ_POOL_FALL_BACK) &&
      (is_ordinary || has(HPZ_POOL_EXPORT) || options.mount != nullptr)) {
    return -EINVAL;
  }
  if (has(HPZ_POOL_EXPORT) && (has(HPZ_POOL_THP) || is_range)) return -EINVAL;
  if (has(HPZ_POOL_ZEROED) && !is_range) return -EINVAL;
  if (is_range &&
      (options.pages_per_node != 0 || options.most_pages_per_node != 0 || has(HPZ_POOL_EMPTY))) {
    return -EINVAL;
  }
  if (has(HPZ_POOL_EMPTY) && options.pages_per_node != 0) return -EINVAL;

  source_.page_bytes = options.page_bytes != 0 ? options.page_bytes : kHugePageBytes;
  source_.is_exported = has(HPZ_POOL_EXPORT);
  if (is_ordinary) {
    source_.backing = is_range            ? HPZ_BACKING_RANGE
                      : has(HPZ_POOL_THP) ? HPZ_BACKING_THP
                                          : HPZ_BACKING_PLAIN;
    return 0;
  }
  if (options.mount != nullptr) {
    const int64_t bytes = mounted_page_bytes(options.mount);
    if (bytes < 0) return static_cast<int>(bytes);
    if (options.page_bytes != 0 && options.page_bytes != static_cast<uint64_t>(bytes)) {
      return -EINVAL;
    }
    source_.page_bytes = static_cast<uint64_t>(bytes);
    mount_ = strdup(options.mount);
    if (mount_ == nullptr) return -ENOMEM;
    source_.mount = mount_;
  } else if (!has_huge_pages(source_.page_bytes)) {
    if (!has(HPZ_POOL_FALL_BACK)) return -EINVAL;
    source_.backing = HPZ_BACKING_THP;
  }
  return 0;
}

int Pool::choose_sizes(const hpz_pool_options &options) noexcept {
  const uint64_t page = source_.page_bytes;
  if (!std::has_single_bit(page) || page < base_page_bytes() || page > kMostBytes) return -EINVAL;
  if (options.slab_bytes % page != 0 || options.slab_bytes > kMostBytes) return -EINVAL;
  unit_bytes_ = source_.is_exported && options.slab_bytes != 0 ? options.slab_bytes : page;
  region_bytes_ = source_.is_exported || options.slab_bytes == 0 ? kMostBytes : options.slab_bytes;
  if (source_.is_exported) region_bytes_ = unit_bytes_;
  // As pool.h has it: a page can be left, or joined, so often, and the end of a chunk is near.
  constexpr uint64_t kSmallest = 512 * 1024, kLargest = 16 << 20;
  const uint64_t part = (unit_bytes_ / 64 + 4095) & ~uint64_t{4095};
  chunk_bytes_ = std::min(unit_bytes_, std::clamp(part, kSmallest, kLargest));
  if (options.pages_per_node > kMostBytes / unit_bytes_ || options.pages_per_node >= UINT32_MAX) {
    return -EINVAL;
  }
  if (source_.backing != HPZ_BACKING_RANGE) return 0;
  const auto base = reinterpret_cast<uintptr_t>(options.base);
  uintptr_t end;
  if (base == 0 || options.len == 0 || base % page != 0 || options.len % page != 0 ||
      options.len / page >= UINT32_MAX || __builtin_add_overflow(base, options.len, &end)) {
    return -EINVAL;
  }
  return 0;
}

int Pool::add_node(const Topology &topology, uint32_t node, const CpuSet &cpus) noexcept {
  void *const memory = aligned_alloc(alignof(PoolNode), sizeof(PoolNode));
  if (memory == nullptr) return -ENOMEM;
  const auto chunks = static_cast<uint32_t>((unit_bytes_ + chunk_bytes_ - 1) / chunk_bytes_);
  const auto index = static_cast<uint32_t>(nodes_.size());
  auto *const added = new (memory) PoolNode(*this, index, topology.nodes[node].id, chunks);
  if (!nodes_.push_back(added)) {
    added->~PoolNode();
    free(memory);
    return -ENOMEM;
  }
  for (uint32_t cpu = 0; cpu < cpus.end(); ++cpu) {
    if (cpus.contains(cpu) && !added->cpus.add(cpu)) return -ENOMEM;
  }
  return 0;
}

int Pool::order_nodes(const Topology &topology) noexcept {
  const auto place_of = [&](uint32_t node) { return topology.index_of(nodes_[node]->id); };
  for (PoolNode *const node : nodes_) {
    if (!node->order.resize(nodes_.size())) return -ENOMEM;
    for (uint32_t i = 0; i < nodes_.size(); ++i) node->order[i] = i;
    const uint32_t from = place_of(node->index);
    std::sort(node->order.begin(), node->order.end(), [&](uint32_t a, uint32_t b) {
      if ((a == node->index) != (b == node->index)) return a == node->index;
      const uint64_t to_a = topology.distance(from, place_of(a));
      const uint64_t to_b = topology.distance(from, place_of(b));
      return to_a != to_b ? to_a < to_b : a < b;
    });
  }
  for (uint32_t from = 0; from < topology.nodes.size(); ++from) {
    Home home = {topology.nodes[from].id, 0};
    for (uint32_t i = 1; i < nodes_.size(); ++i) {
      const bool is_itself = place_of(i) == from;
      const bool is_nearer =
          place_of(home.node) != from &&
          topology.distance(from, place_of(i)) < topology.distance(from, place_of(home.node));
      if (is_itself || is_nearer) home.node = i;
    }
    if (!homes_.push_back(home)) return -ENOMEM;
  }
  return 0;
}

// Those with memory that the calling thread may use.
int Pool::find_nodes(const hpz_pool_options &options) noexcept {
  CpuSet allowed;
  const Topology *topology = nullptr;
  int error = usable_cpus(options.cpus, allowed, topology);
  if (error != 0) return error;
  Placement placement;
  error = place_workers({*topology, allowed, 0, 0}, placement);
  if (error != 0) return error;
  MemoryPolicy mems;
  const bool is_told = read_allowed_nodes(mems) == 0;
  const auto count = static_cast<uint32_t>(topology->nodes.size());
  has_many_nodes_ = count > 1;
  for (uint32_t node = 0; node < count; ++node) {
    const Topology::Node &its = topology->nodes[node];
    if (count > 1 && (!its.has_memory || (is_told && !mems.has(its.id)))) continue;
    CpuSet cpus;
    const uint32_t server = placement.nodes[node].server;
    if (server != Placement::kNobody && !cpus_of_node(*topology, server, allowed, cpus)) {
      return -ENOMEM;
    }
    error = add_node(*topology, node, cpus);
    if (error != 0) return error;
  }
  if (nodes_.empty()) return -ENOMEM;
  return order_nodes(*topology);
}

// The caller's memory: one region, whatever the nodes that its pages lie on.
int Pool::adopt_range(const hpz_pool_options &options) noexcept {
  const hpz_range range = {options.base, options.len};
  uint32_t report_flags = 0;
  int error = populate_memory(source_, &range, 1, {-1, team_, nullptr}, report_flags);
  if (error != 0) return error;
  Region *region = nullptr;
  const MappedMemory memory = {static_cast<char *>(options.base), -1};
  error = make_region(0, memory, options.len, &region);
  if (error != 0) return error;
  obtained_bytes_.store(obtained_page_bytes(source_, memory.base, options.len));
  region->present = region->pages.size();
  regions_ = region;
  for (Page *const page : region->pages) {
    PoolNode *node = nodes_[0];
    void *at = page->base;
    int id = 0;
    if (has_many_nodes_) {
      PoolNode *const its = query_page_nodes(&at, 1, &id) == 0 ? find_node(id) : nullptr;
      if (its != nullptr) {
        node = its;
      } else {
        flags_.fetch_or(HPZ_POOL_NO_PLACEMENT);
      }
    }
    page->node.store(node->index, std::memory_order_relaxed);
    node->locked([&] {
      ++node->target;
      node->pages.add(*page, (options.flags & HPZ_POOL_ZEROED) != 0);
    });
  }
  for (PoolNode *const node : nodes_) wake_filler(*node);
  return 0;
}

int Pool::populate_first(const hpz_pool_options &options) noexcept {
  if (source_.backing == HPZ_BACKING_RANGE) return adopt_range(options);
  if ((options.flags & HPZ_POOL_EMPTY) != 0) return 0;
  const uint64_t usual = std::max<uint64_t>(1, kUsualBytes / unit_bytes_);
  const uint64_t pages = options.pages_per_node != 0 ? options.pages_per_node : usual;
  int error = resize(-1, pages);
  const bool is_short = error == -ENOMEM || error == -EDQUOT;
  if (!is_short || (options.flags & HPZ_POOL_FALL_BACK) == 0) return error;
  if (most_pages_ != 0 && pages > most_pages_) return error;
  // All of the one kind or all of the other.
  (void)resize(-1, 0);
  source_.backing = HPZ_BACKING_THP;
  obtained_bytes_.store(UINT64_MAX);
  leave_pages_ = 0;
  return resize(-1, pages);
}

int Pool::create(const hpz_pool_options &options, Pool **out) noexcept {
  if (settled_plan() == nullptr) return -ENOMEM;
  void *const memory = malloc(sizeof(Pool));
  if (memory == nullptr) return -ENOMEM;
  auto *const pool = new (memory) Pool;
  // Where this advice does what it says, the older one about forks does, too: what tells kernels
  // from emulators that take any.
  pool->trusts_marks_ = has_populate();
  pool->leave_pages_ = options.leave_pages;
  pool->most_pages_ = options.most_pages_per_node;
  pool->fill_bytes_per_s_ = options.fill_bytes_per_s;
  pool->team_ = options.team;
  pool->wants_idle_ = (options.flags & HPZ_POOL_IDLE) != 0;
  int error = pool->choose_source(options);
  if (error == 0) error = pool->choose_sizes(options);
  if (error == 0) error = pool->find_nodes(options);
  // Threads before memory: a thread's stack is mapped, which would wait behind a populate.
  if (error == 0 && (options.flags & HPZ_POOL_NO_FILLING) == 0) {
    for (PoolNode *const node : pool->nodes_) {
      node->filler.is_on.store(true, std::memory_order_relaxed);
      if (pool->start_filler(*node) != 0) pool->flags_.fetch_or(HPZ_POOL_FEWER);
    }
  }
  if (error == 0) error = pool->populate_first(options);
  if (error != 0) {
    pool->destroy();
    return error;
  }
  *out = pool;
  return 0;
}

}  // namespace hpz
