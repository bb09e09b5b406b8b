// SPDX-License-Identifier: BSD-2-Clause
//
// The pool: nodes with their lists and fillers, and the regions of memory that their pages lie in.
#ifndef HPZERO_LIB_POOL_POOL_H
#define HPZERO_LIB_POOL_POOL_H

#include <errno.h>
#include <hpzero/pool.h>
#include <pthread.h>

#include <atomic>

#include "lib/pool/backing.h"
#include "lib/pool/events.h"
#include "lib/pool/filler.h"
#include "lib/pool/node_lock.h"
#include "lib/pool/node_pages.h"
#include "lib/pool/page_table.h"
#include "lib/team/array.h"
#include "lib/team/cpu_set.h"
#include "lib/team/mutex_lock.h"
#include "lib/team/process.h"
#include "lib/team/topology.h"

namespace hpz {

class Pool;

// A mapping, and the pages in it. The list of regions, which of their pages are holes, and the
// table of pages belong to Pool::regions_lock_. The memory never changes, but for export pools,
// whose regions are a slab each: there it goes by the lock of the node.
struct Region {
  Region *next = nullptr;
  MappedMemory memory;
  uint64_t bytes = 0;
  uint64_t present = 0;  // pages that are no holes
  Array<Page *> pages;
};

struct alignas(64) PoolNode {
  PoolNode(Pool &its_pool, uint32_t its_index, int32_t its_id, uint32_t chunks) noexcept
      : pool(its_pool), index(its_index), id(its_id), pages(chunks) {}

  // Runs an operation on the lists under the lock; of any thread but the filler.
  template <class Operation> auto locked(const Operation &operation) noexcept {
    lock.lock([this] { filler.lift(); });
    const Unlock unlock = {lock};
    return operation();
  }
  template <class Operation> auto locked_by(bool is_filler, const Operation &operation) noexcept {
    if (!is_filler) return locked(operation);
    lock.lock_as_filler();
    const Unlock unlock = {lock};
    return operation();
  }

  // What has become of the counts; under the lock.
  bool has_too_many() const noexcept { return pages.counts().usable() > target; }

  struct Unlock {
    NodeLock &lock;
    ~Unlock() { lock.unlock(); }
  };
  struct Latency {
    uint64_t takes = 0, min_ns = UINT64_MAX, sum_ns = 0, max_ns = 0;
    void add(uint64_t ns) noexcept;
  };

  Pool &pool;
  const uint32_t index;
  const int32_t id;
  NodeLock lock;
  NodePages pages;    // under the lock, with what follows
  NodeEvents events;  // of its counts
  uint64_t target = 0;
  Latency latency[3];  // by hpz_take_outcome

  Filler filler;
  CpuSet cpus;                        // ... and where it runs
  std::atomic<uint32_t> clearing{0};  // takers at it
  std::atomic<uint32_t> turns{0};     // counts when they begin and end
  std::atomic<uint64_t> filled_bytes{0}, cleared_bytes{0}, renewed_bytes{0};
  Array<uint32_t> order;  // of nodes, itself first, then the nearest
};

class Pool {
 public:
  static int create(const hpz_pool_options &options, Pool **out) noexcept;
  void destroy() noexcept;

  // A system call would be half of what a hit takes.
  bool is_of_this_process() const noexcept {
    return (trusts_marks_ && process_.is_marked()) || process_.is_current();
  }

  int take(const hpz_take_options &options, hpz_page *out, size_t count) noexcept;
  int give(const hpz_page *pages, size_t count, uint32_t flags) noexcept;
  int fill(int32_t node, size_t pages) noexcept;
  int node_ids(int32_t *out, size_t count) const noexcept;
  int resize(int32_t node, uint64_t pages) noexcept;
  int set_filling(int32_t node, bool on) noexcept;
  int event_fd(int32_t node, uint64_t clean_below) noexcept;
  int event_rearm(int fd) noexcept;
  int poison(const void *address) noexcept;
  int stats(int32_t node, hpz_pool_stats &out) noexcept;

 private:
  struct Search;  // what a taker wants
  struct Taken;   // what it has found, and how
  struct Work;    // a page that is being cleared, and by whom
  struct Growth;  // pages that are to be added

  // --- pool.cpp ---
  Pool() noexcept = default;
  ~Pool();
  PoolNode *find_node(int32_t id) noexcept;
  PoolNode &nearest_node() noexcept;  // to the calling thread
  template <class Operation> int for_nodes(int32_t id, const Operation &operation) noexcept;

  // --- create.cpp ---
  int choose_source(const hpz_pool_options &options) noexcept;
  int choose_sizes(const hpz_pool_options &options) noexcept;
  int find_nodes(const hpz_pool_options &options) noexcept;
  int add_node(const Topology &topology, uint32_t node, const CpuSet &cpus) noexcept;
  int order_nodes(const Topology &topology) noexcept;
  int populate_first(const hpz_pool_options &options) noexcept;
  int adopt_range(const hpz_pool_options &options) noexcept;

  // --- growth.cpp ---
  int resize_node(PoolNode &node, uint64_t pages) noexcept;
  int may_grow(const PoolNode &node, uint64_t pages) const noexcept;
  int grow(PoolNode &node, uint64_t pages) noexcept;
  int plan_growth(const PoolNode &node, uint64_t pages, Growth &growth) noexcept;
  void undo_growth(Growth &growth) noexcept;
  void commit_growth(PoolNode &node, Growth &growth) noexcept;
  int make_region(uint32_t node, const MappedMemory &memory, uint64_t bytes, Region **out) noexcept;
  void forget_region(Region *region) noexcept;  // regions_lock_ is held
  void shrink(PoolNode &node) noexcept;
  void drop_spares(PoolNode &node) noexcept;
  void make_hole(Page &page) noexcept;

  // --- filling.cpp ---
  static void *filler_main(void *node) noexcept;
  int start_filler(PoolNode &node) noexcept;  // regions_lock_ is held
  void fill_until_closed(PoolNode &node) noexcept;
  Page *find_work(PoolNode &node, uint64_t &until_ns) noexcept;
  static void look_for_takers(const PoolNode &node, uint32_t seen) noexcept;
  int clear_chunk(const Page &page, uint32_t chunk, uint64_t &bytes) noexcept;
  int renew(const Work &work) noexcept;
  template <class MayGoOn> int clear_page(const Work &work, const MayGoOn &may_go_on) noexcept;
  int clear_for_pool(PoolNode &node, Page &page, bool renews) noexcept;
  void leave(const Work &work) noexcept;
  bool has_work(const PoolNode &node) const noexcept;  // its filler, for all that is known
  FutexWord *whom_to_wake(PoolNode &node) noexcept;
  void wake_filler(PoolNode &node) noexcept;
  void tell_waiters() noexcept;

  // --- take.cpp, give.cpp ---
  int take_one(const Search &search, Taken &taken) noexcept;
  Page *find_page(const Search &search, bool may_renew, Taken &taken) noexcept;
  Page *look(PoolNode &node, unsigned kinds, bool may_renew, Taken &taken) noexcept;
  void wait_for_turn(Page &page, uint32_t turn, uint64_t deadline_ns) noexcept;
  int clear_for_taker(const Search &search, Taken &taken) noexcept;
  int give_one(const hpz_page &given, uint32_t flags) noexcept;

  // A filler of the idle class would keep its taker waiting where the CPU is busy: it rests.
  bool may_help() const noexcept { return !wants_idle_; }

  // Of a node's pages: what an address has room for, so that no product of sizes wraps.
  static constexpr uint64_t kMostBytes = uint64_t{1} << 47;
  // To sleep and be woken takes some 50 us: who waits for less stays awake, who clears for much
  // longer wakes a helper.
  static constexpr uint64_t kAwakeNs = 50'000;
  static constexpr uint64_t kWakeToHelpBytes = 32 << 20;
  // Of huge pages that others give back nobody tells: so often it is tried to renew slabs.
  static constexpr uint64_t kRetryNs = 20'000'000;

  ProcessId process_;
  bool trusts_marks_ = false;
  Source source_;
  char *mount_ = nullptr;    // what source_.mount points to
  uint64_t unit_bytes_ = 0;  // of a page, or of a slab where it is exported
  uint64_t chunk_bytes_ = 0;
  uint64_t region_bytes_ = 0;  // of a mapping, at most
  uint64_t leave_pages_ = 0, most_pages_ = 0, fill_bytes_per_s_ = 0;
  struct hpz_team *team_ = nullptr;
  bool wants_idle_ = false;
  std::atomic<uint32_t> flags_{0};  // HPZ_POOL_FEWER and so on
  std::atomic<uint64_t> obtained_bytes_{UINT64_MAX};

  PageTable table_;
  Array<PoolNode *> nodes_;
  struct Home {
    int32_t id;     // of a node of the machine, with memory or not
    uint32_t node;  // of the pool, by index: itself, or the nearest to it
  };
  Array<Home> homes_;
  bool has_many_nodes_ = false;  // the machine, not the pool

  // One resize at a time; held while memory is populated.
  pthread_mutex_t growth_ = PTHREAD_MUTEX_INITIALIZER;
  // Of the regions, and of starting fillers. Held while memory is mapped or unmapped, not while it
  // is populated; never by a filler.
  pthread_mutex_t regions_lock_ = PTHREAD_MUTEX_INITIALIZER;
  Region *regions_ = nullptr;

  std::atomic<uint32_t> awaiting_{0};  // takers that sleep on news_
  FutexWord news_{0};                  // counts pages that can be had again
};

// A page that the caller works on, as one of its workers.
struct Pool::Work {
  PoolNode &node;
  Page &page;
  bool renews;  // it has no memory, and the caller alone sees to that
  bool is_filler;
};

// operation(node) of the node, or of all (-1), up to the first that returns an error.
template <class Operation> int Pool::for_nodes(int32_t id, const Operation &operation) noexcept {
  PoolNode *const one = find_node(id);
  if (one != nullptr) return operation(*one);
  if (id != -1) return -EINVAL;
  for (PoolNode *const node : nodes_) {
    const int error = operation(*node);
    if (error != 0) return error;
  }
  return 0;
}

// Clears what nobody has claimed, until there is none or may_go_on(bytes of the last chunk) says
// no. A page that faults is poisoned, which is no error of the caller's; one that cannot be renewed
// is.
template <class MayGoOn> int Pool::clear_page(const Work &work, const MayGoOn &may_go_on) noexcept {
  PoolNode &node = work.node;
  Page &page = work.page;
  if (work.renews) {
    const int error = renew(work);
    if (error != 0) return error;
  }
  uint32_t chunk;
  while (page.chunks.claim(node.pages.chunks(), chunk)) {
    uint64_t bytes = 0;
    if (clear_chunk(page, chunk, bytes) != 0) {
      node.locked_by(work.is_filler, [&] { node.pages.poison(page); });
      return 0;
    }
    std::atomic<uint64_t> &sum = work.is_filler ? node.filled_bytes : node.cleared_bytes;
    sum.fetch_add(bytes, std::memory_order_relaxed);
    if (!may_go_on(bytes)) break;
  }
  return 0;
}

}  // namespace hpz

#endif
