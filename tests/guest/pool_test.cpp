// SPDX-License-Identifier: BSD-2-Clause
//
// Pools on three nodes: where their pages lie, by the kernel; in which order takers look; on whose
// CPUs fillers run; and what counters and events of a node are about.
#include <errno.h>
#include <hpzero/pool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/guest/team_fixture.h"
#include "tests/pool/pools.h"
#include "tests/support/descriptors.h"
#include "tests/support/sandbox.h"
#include "tests/support/threads.h"
#include "tests/support/watchdog.h"

namespace hpz::test {
namespace {

constexpr size_t kBytes = size_t{1} << 20;  // of a page that is no huge page: two chunks
constexpr uint64_t kEach = 3;               // pages of a node

hpz_pool_options of_small_pages(uint32_t flags) {
  hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
  options.page_bytes = kBytes;
  options.pages_per_node = kEach;
  options.flags = HPZ_POOL_PLAIN | flags;
  return options;
}

int take_from(const PoolPointer &pool, int node, uint32_t flags, hpz_page &page,
              uint64_t deadline_ns = 0) {
  hpz_take_options options = take_options(flags, deadline_ns);
  options.node = node;
  page = HPZ_PAGE_INIT;
  return hpz_pool_take(pool.get(), &options, &page, 1);
}

// Where the kernel says that it lies, small page by small page.
void expect_lies_on(const hpz_page &page, int node) {
  EXPECT_EQ(page.node, node);
  std::vector<void *> at;
  for (size_t i = 0; i < page.len; i += kSmallPage) at.push_back(bytes_of(page) + i);
  std::vector<int> nodes(at.size(), -EINVAL);
  ASSERT_EQ(syscall(SYS_move_pages, 0, at.size(), at.data(), nullptr, nodes.data(), 0), 0);
  WrongPages wrong("are not on node " + std::to_string(node));
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] != node) wrong.add(i, nodes[i]);
  }
  count_checked(nodes.size());
}

class Pool : public Guest {
 protected:
  // A pool whose creation leaves the calling thread as it was.
  static PoolPointer make(const hpz_pool_options &options) {
    const CallerState before = CallerState::now();
    PoolPointer pool = make_pool(options);
    expect_same(before, CallerState::now());
    return pool;
  }
  // One of which every page is dirty, and nobody clears them.
  static PoolPointer make_dirty(const hpz_pool_options &options) {
    PoolPointer pool = make(options);
    const std::vector<hpz_page> pages = take_all(pool);
    for (const hpz_page &page : pages) spoil(page);
    EXPECT_EQ(hpz_pool_give(pool.get(), pages.data(), pages.size(), 0), 0);
    return pool;
  }
  // All of a node are taken.
  static std::vector<hpz_page> empty(const PoolPointer &pool, int node) {
    std::vector<hpz_page> pages;
    hpz_page page;
    while (take_from(pool, node, HPZ_TAKE_STRICT, page) == 1) pages.push_back(page);
    return pages;
  }
  static Counts counts_of_node(const PoolPointer &pool, int node) {
    const hpz_pool_stats stats = stats_of(pool, node);
    return {stats.clean, stats.dirty, stats.busy, stats.taken, stats.poisoned};
  }
  // The one that the switch of this node has started.
  static int start_filler(const PoolPointer &pool, int node) {
    const std::set<int> before = other_threads();
    EXPECT_EQ(hpz_pool_set_filling(pool.get(), node, 1), 0);
    for (const int thread : other_threads()) {
      if (before.count(thread) == 0) return thread;
    }
    ADD_FAILURE() << "no filler of node " << node;
    return 0;
  }
  static std::vector<int> cpus_of_thread(int thread) {
    const cpu_set_t set = affinity_of_thread(thread);
    std::vector<int> cpus;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(static_cast<int>(cpu));
    }
    return cpus;
  }

 private:
  const Watchdog watchdog_{200};
};

// --- Where pages lie -----------------------------------------------------------------------------

struct Kind {
  const char *name;
  uint32_t flags;
};
constexpr Kind kKinds[] = {{"plain", HPZ_POOL_PLAIN},
                           {"transparent", HPZ_POOL_THP},
                           {"hugetlb", 0},
                           {"plain_slabs", HPZ_POOL_PLAIN | HPZ_POOL_EXPORT},
                           {"hugetlb_slabs", HPZ_POOL_EXPORT}};

class Placed : public Pool, public testing::WithParamInterface<Kind> {
 protected:
  static bool is_hugetlb() { return (GetParam().flags & (HPZ_POOL_PLAIN | HPZ_POOL_THP)) == 0; }
  static hpz_pool_options its_options() {
    hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
    options.pages_per_node = kEach;
    options.flags = GetParam().flags | HPZ_POOL_NO_FILLING;
    return options;
  }
};

TEST_P(Placed, every_page_where_it_says) {
  const Team team = make_team(nullptr);
  for (const int cpu_node : {0, 1}) {
    stay_on(cpus_of_node(cpu_node));
    hpz_pool_options options = its_options();
    options.team = cpu_node == 0 ? team.get() : nullptr;
    size_t free[kNodes];
    for (int node = 0; node < kNodes; ++node) free[node] = free_huge_pages(node);
    {
      const PoolPointer pool = make(options);
      EXPECT_EQ(stats_of(pool).flags, 0u);
      for (int node = 0; node < kNodes; ++node) {
        EXPECT_EQ(free[node] - free_huge_pages(node), is_hugetlb() ? kEach : 0) << node;
        EXPECT_EQ(counts_of_node(pool, node), (Counts{kEach, 0, 0, 0, 0}));
        const std::vector<hpz_page> pages = empty(pool, node);
        ASSERT_EQ(pages.size(), kEach);
        for (const hpz_page &page : pages) {
          EXPECT_TRUE(is_zero(page));
          expect_lies_on(page, node);
        }
        EXPECT_EQ(hpz_pool_give(pool.get(), pages.data(), pages.size(), HPZ_GIVE_UNWRITTEN), 0);
      }
      // One node grows and shrinks, and the others stay.
      ASSERT_EQ(hpz_pool_resize(pool.get(), kNodeWithoutCpus, kEach + 2), 0);
      for (const hpz_page &page : empty(pool, kNodeWithoutCpus)) {
        expect_lies_on(page, kNodeWithoutCpus);
        EXPECT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
      }
      ASSERT_EQ(hpz_pool_resize(pool.get(), kNodeWithoutCpus, 1), 0);
      EXPECT_EQ(stats_of(pool, kNodeWithoutCpus).clean + stats_of(pool, kNodeWithoutCpus).dirty,
                1u);
      for (const int node : {0, 1}) {
        EXPECT_EQ(stats_of(pool, node).clean + stats_of(pool, node).dirty, kEach) << node;
      }
    }
    for (int node = 0; node < kNodes; ++node) EXPECT_EQ(free_huge_pages(node), free[node]);
  }
}

// A slab that is renewed lies where the one before it did: by a taker and by a filler elsewhere.
TEST_P(Placed, a_given_page_stays_on_its_node) {
  stay_on(cpus_of_node(0));
  const PoolPointer pool = make(its_options());
  for (const bool by_filler : {false, true}) {
    for (int node = 0; node < kNodes; ++node) {
      hpz_page page;
      for (uint64_t i = 0; i < kEach; ++i) {  // all of them, wherever they are in the lists
        ASSERT_EQ(take_from(pool, node, HPZ_TAKE_STRICT, page), 1);
        spoil(page);
        ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
        if (by_filler) {
          ASSERT_EQ(hpz_pool_set_filling(pool.get(), node, 1), 0);
          wait_until([&] { return stats_of(pool, node).clean == kEach; });
          ASSERT_EQ(hpz_pool_set_filling(pool.get(), node, 0), 0);
        }
        ASSERT_EQ(take_from(pool, node, HPZ_TAKE_STRICT, page), 1);
        EXPECT_TRUE(is_zero(page));
        expect_lies_on(page, node);
        ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, HPZ_GIVE_UNWRITTEN | HPZ_GIVE_SOLE_OWNER), 0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, Placed, testing::ValuesIn(kKinds),
                         [](const testing::TestParamInfo<Kind> &kind) { return kind.param.name; });

TEST_F(Pool, a_range_of_the_callers_on_all_nodes) {
  Mapping mapping(Pages::kHugetlb, 2 * kNodes);
  mapping.bind_in_stripes(1);
  hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
  options.base = mapping.at(0);
  options.len = mapping.bytes();
  options.flags = HPZ_POOL_NO_FILLING;
  const PoolPointer pool = make(options);
  for (int node = 0; node < kNodes; ++node) {
    const std::vector<hpz_page> pages = empty(pool, node);
    EXPECT_EQ(pages.size(), 2u);
    for (const hpz_page &page : pages) {
      EXPECT_TRUE(is_zero(page));
      expect_lies_on(page, node);
    }
  }
}

// Rows D1 and G3: one node has too few, whatever the others have.
TEST_F(Pool, shortage_of_one_node) {
  hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
  options.pages_per_node = kEach;
  options.flags = HPZ_POOL_NO_FILLING;
  size_t free[kNodes];
  for (int node = 0; node < kNodes; ++node) free[node] = free_huge_pages(node);
  Mapping others(Pages::kHugetlb, free[1] - kEach - 1);
  others.bind(0, others.pages(), 1);
  others.fill();
  ASSERT_EQ(free_huge_pages(1), kEach + 1);
  {
    const PoolPointer pool = make(options);
    EXPECT_EQ(hpz_pool_resize(pool.get(), 1, kEach + 2), -ENOMEM);
    EXPECT_EQ(counts_of_node(pool, 1), (Counts{kEach, 0, 0, 0, 0}));
    EXPECT_EQ(free_huge_pages(1), 1u);
    // Of all nodes: those before it are done.
    EXPECT_EQ(hpz_pool_resize(pool.get(), -1, kEach + 2), -ENOMEM);
    EXPECT_EQ(counts_of_node(pool, 0), (Counts{kEach + 2, 0, 0, 0, 0}));
    EXPECT_EQ(counts_of_node(pool, 1), (Counts{kEach, 0, 0, 0, 0}));
    EXPECT_EQ(counts_of_node(pool, 2), (Counts{kEach, 0, 0, 0, 0}));
  }
  options.pages_per_node = kEach + 2;
  hpz_pool *none = nullptr;
  EXPECT_EQ(hpz_pool_create(&options, &none), -ENOMEM);
  options.pages_per_node = kEach;
  options.leave_pages = 2;
  EXPECT_EQ(hpz_pool_create(&options, &none), -EDQUOT) << "it would leave one";
  options.leave_pages = 1;
  EXPECT_EQ(stats_of(make(options)).clean, kNodes * kEach);
  EXPECT_EQ(free_huge_pages(0), free[0]);
  EXPECT_EQ(free_huge_pages(1), kEach + 1);
  EXPECT_EQ(free_huge_pages(2), free[2]);
  options.flags |= HPZ_POOL_FALL_BACK;
  options.leave_pages = 0;
  options.pages_per_node = kEach + 2;
  const PoolPointer pool = make(options);
  EXPECT_EQ(stats_of(pool).backing, unsigned{HPZ_BACKING_THP}) << "all or nothing";
  for (int node = 0; node < kNodes; ++node) {
    for (const hpz_page &page : empty(pool, node)) expect_lies_on(page, node);
  }
}

// --- In which order takers look ------------------------------------------------------------------

TEST_F(Pool, strict_is_of_this_node_or_none) {
  const PoolPointer pool = make(of_small_pages(HPZ_POOL_NO_FILLING));
  hpz_page page;
  std::vector<hpz_page> pages = empty(pool, 1);
  ASSERT_EQ(pages.size(), kEach);
  EXPECT_EQ(take_from(pool, 1, HPZ_TAKE_STRICT, page), -ENOMEM);
  EXPECT_EQ(take_from(pool, 1, HPZ_TAKE_STRICT | HPZ_TAKE_ANY_CONTENT, page), -ENOMEM);
  EXPECT_EQ(take_from(pool, 1, HPZ_TAKE_STRICT | HPZ_TAKE_CLEAN_ONLY, page), -EAGAIN);
  EXPECT_EQ(take_from(pool, 1, HPZ_TAKE_STRICT | HPZ_TAKE_AWAIT, page, in_ms(20)), -ETIMEDOUT);
  EXPECT_EQ(stats_of(pool).clean, 2 * kEach) << "the others have some";
  ASSERT_EQ(hpz_pool_give(pool.get(), &pages[0], 1, 0), 0);
  EXPECT_EQ(take_from(pool, 1, HPZ_TAKE_STRICT | HPZ_TAKE_CLEAN_ONLY, page), -EAGAIN);
  EXPECT_EQ(take_from(pool, 1, HPZ_TAKE_STRICT, page), 1);
  EXPECT_EQ(page.outcome, unsigned{HPZ_TAKE_MISS});
  EXPECT_EQ(page.base, pages[0].base);
  // One who waits for this node is not content with what is given to another.
  hpz_page other;
  ASSERT_EQ(take_from(pool, 0, HPZ_TAKE_STRICT, other), 1);
  hpz_page awaited;
  std::atomic<bool> is_back{false};
  std::atomic<pid_t> taker_id{0};
  std::thread taker([&] {
    taker_id = this_thread();
    EXPECT_EQ(take_from(pool, 1, HPZ_TAKE_STRICT | HPZ_TAKE_AWAIT, awaited, in_ms(100'000)), 1);
    is_back = true;
  });
  const auto rests = [&] { return is_back || (taker_id != 0 && is_asleep(taker_id)); };
  wait_until(rests);
  ASSERT_EQ(hpz_pool_give(pool.get(), &other, 1, 0), 0);
  wait_until(rests);  // it was woken, looked, and sleeps again
  EXPECT_FALSE(is_back);
  ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
  taker.join();
  expect_lies_on(awaited, 1);
  EXPECT_TRUE(is_zero(awaited));
  for (const int node : {-2, kNodes, 1000}) {
    EXPECT_EQ(take_from(pool, node, 0, page), -EINVAL) << node;
    EXPECT_EQ(take_from(pool, node, HPZ_TAKE_STRICT, page), -EINVAL) << node;
  }
  EXPECT_EQ(take_from(pool, -1, HPZ_TAKE_STRICT, page), -EINVAL);
}

TEST_F(Pool, a_dirty_page_of_the_preferred_node_rather_than_a_clean_one_of_another) {
  const PoolPointer pool = make(of_small_pages(HPZ_POOL_NO_FILLING));
  for (int node = 0; node < kNodes; ++node) {
    std::vector<hpz_page> pages = empty(pool, node);
    for (const hpz_page &page : pages) spoil(page);
    ASSERT_EQ(hpz_pool_give(pool.get(), pages.data(), pages.size(), 0), 0);
    hpz_page page;
    EXPECT_EQ(take_from(pool, node, 0, page), 1);
    EXPECT_EQ(page.outcome, unsigned{HPZ_TAKE_MISS});
    EXPECT_TRUE(is_zero(page));
    expect_lies_on(page, node);
    // ... and of any content its dirty ones, too.
    hpz_page any;
    EXPECT_EQ(take_from(pool, node, HPZ_TAKE_ANY_CONTENT, any), 1);
    EXPECT_EQ(any.outcome, unsigned{HPZ_TAKE_HIT});
    EXPECT_TRUE(all_are(bytes_of(any), bytes_of(any) + any.len, kPoison, "as it was given"));
    expect_lies_on(any, node);
    ASSERT_EQ(hpz_pool_give(pool.get(), &any, 1, HPZ_GIVE_CLEAR), 0);
    ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, HPZ_GIVE_CLEAR), 0);
    ASSERT_EQ(hpz_pool_fill(pool.get(), node, kEach), 1);
  }
}

// Who has none of his own: the nearest by the firmware's distances, clean ones first.
TEST_F(Pool, falls_over_to_the_nearest) {
  constexpr int kOrder[kNodes][kNodes] = {{0, 1, 2}, {1, 0, 2}, {2, 1, 0}};
  const PoolPointer pool = make(of_small_pages(HPZ_POOL_NO_FILLING));
  for (const int(&order)[kNodes] : kOrder) {
    std::vector<hpz_page> pages;
    for (uint64_t i = 0; i < kNodes * kEach; ++i) {
      hpz_page page;
      ASSERT_EQ(take_from(pool, order[0], 0, page), 1);
      EXPECT_EQ(page.outcome, unsigned{HPZ_TAKE_HIT});
      expect_lies_on(page, order[i / kEach]);
      pages.push_back(page);
    }
    hpz_page none;
    EXPECT_EQ(take_from(pool, order[0], 0, none), -ENOMEM);
    EXPECT_EQ(take_from(pool, order[0], HPZ_TAKE_CLEAN_ONLY, none), -EAGAIN);
    // The nearest has a dirty one, the farthest a clean one: far memory is had sooner.
    ASSERT_EQ(hpz_pool_give(pool.get(), &pages[kEach], 1, 0), 0);
    ASSERT_EQ(hpz_pool_give(pool.get(), &pages[2 * kEach], 1, HPZ_GIVE_CLEAR), 0);
    hpz_page far, near;
    ASSERT_EQ(take_from(pool, order[0], 0, far), 1);
    EXPECT_EQ(far.node, order[2]);
    ASSERT_EQ(take_from(pool, order[0], HPZ_TAKE_CLEAN_ONLY, near), -EAGAIN);
    ASSERT_EQ(take_from(pool, order[0], 0, near), 1);
    EXPECT_EQ(near.node, order[1]);
    EXPECT_EQ(near.outcome, unsigned{HPZ_TAKE_MISS});
    pages[kEach] = near;
    pages[2 * kEach] = far;
    ASSERT_EQ(hpz_pool_give(pool.get(), pages.data(), pages.size(), HPZ_GIVE_CLEAR), 0);
    EXPECT_EQ(stats_of(pool).clean, kNodes * kEach);
  }
}

TEST_F(Pool, clean_only_of_a_preferred_node_takes_clean_ones_of_others) {
  const PoolPointer pool = make_dirty(of_small_pages(HPZ_POOL_NO_FILLING));
  hpz_page page;
  EXPECT_EQ(take_from(pool, 0, HPZ_TAKE_CLEAN_ONLY, page), -EAGAIN);
  ASSERT_EQ(hpz_pool_fill(pool.get(), 2, 1), 1);
  EXPECT_EQ(counts_of_node(pool, 2), (Counts{1, kEach - 1, 0, 0, 0}));
  EXPECT_EQ(take_from(pool, 0, HPZ_TAKE_CLEAN_ONLY | HPZ_TAKE_STRICT, page), -EAGAIN);
  EXPECT_EQ(take_from(pool, 0, HPZ_TAKE_CLEAN_ONLY, page), 1);
  expect_lies_on(page, 2);
  EXPECT_TRUE(is_zero(page));
}

// No node named: of where the thread runs, but no clearing as long as there are clean ones.
TEST_F(Pool, the_threads_own_node_is_looked_at_first) {
  const PoolPointer pool = make(of_small_pages(HPZ_POOL_NO_FILLING));
  hpz_page page;
  for (const int node : {0, 1, 0}) {
    stay_on(cpus_of_node(node));
    ASSERT_EQ(take_from(pool, -1, 0, page), 1);
    expect_lies_on(page, node);
    ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, HPZ_GIVE_UNWRITTEN), 0);
  }
  std::vector<hpz_page> pages = empty(pool, 0);
  ASSERT_EQ(hpz_pool_give(pool.get(), pages.data(), pages.size(), 0), 0);
  ASSERT_EQ(take_from(pool, -1, 0, page), 1);
  EXPECT_EQ(page.outcome, unsigned{HPZ_TAKE_HIT});
  expect_lies_on(page, 1);
  ASSERT_EQ(take_from(pool, -1, HPZ_TAKE_ANY_CONTENT, page), 1);
  expect_lies_on(page, 0);
}

// --- Fillers, counters, events -------------------------------------------------------------------

TEST_F(Pool, fillers_run_on_their_nodes_cpus) {
  const struct {
    const char *cpus;
    std::vector<int> stay;
    std::vector<int> of_node[kNodes];
  } cases[] = {{nullptr, {0, 1, 2, 3}, {{0, 1}, {2, 3}, {2, 3}}},
               {"0,3", {0, 1, 2, 3}, {{0}, {3}, {3}}},
               {"1", {0, 1, 2, 3}, {{1}, {1}, {1}}},
               {"2-3", {0, 1, 2, 3}, {{2, 3}, {2, 3}, {2, 3}}},
               // The creator's own mask is the limit.
               {nullptr, {1, 2}, {{1}, {2}, {2}}},
               {"0-2", {1, 2, 3}, {{1}, {2}, {2}}}};
  for (const auto &its : cases) {
    SCOPED_TRACE(its.cpus == nullptr ? "all" : its.cpus);
    stay_on(its.stay);
    hpz_pool_options options = of_small_pages(HPZ_POOL_NO_FILLING);
    options.cpus = its.cpus;
    const PoolPointer pool = make_dirty(options);
    for (int node = 0; node < kNodes; ++node) {
      const int filler = start_filler(pool, node);
      EXPECT_EQ(cpus_of_thread(filler), its.of_node[node]) << "node " << node;
      // It does clear what is there, from wherever it is.
      wait_until([&] { return stats_of(pool, node).clean == kEach; });
    }
    EXPECT_EQ(stats_of(pool).flags, HPZ_POOL_FILLS);
    for (const hpz_page &page : take_all(pool, HPZ_TAKE_CLEAN_ONLY)) EXPECT_TRUE(is_zero(page));
  }
  stay_on({0, 1});
  hpz_pool_options options = of_small_pages(0);
  options.cpus = "2-3";
  hpz_pool *none = nullptr;
  EXPECT_EQ(hpz_pool_create(&options, &none), -EINVAL) << "none that the creator may use";
}

// What allows a filler out of SCHED_IDLE is the limit that pool.h names: here it can be set.
TEST_F(Pool, the_way_out_of_the_idle_class_wants_a_limit_of_20) {
  for (const rlim_t nice_limit : {rlim_t{19}, rlim_t{20}}) {
    run_in_child([nice_limit] {
      const rlimit limit = {nice_limit, nice_limit};
      ASSERT_EQ(setrlimit(RLIMIT_NICE, &limit), 0);
      ASSERT_EQ(setresuid(65534, 65534, 65534), 0);
      const PoolPointer pool = make_pool(of_small_pages(HPZ_POOL_IDLE));
      const std::set<int> fillers = other_threads();
      ASSERT_EQ(fillers.size(), size_t{kNodes});
      // They find out when they start, and then have nothing to do.
      for (const int filler : fillers) {
        wait_until([&] { return sched_getscheduler(filler) == SCHED_IDLE; });
      }
      if (nice_limit == 19) {
        wait_until([&] { return (stats_of(pool).flags & HPZ_POOL_NO_LIFT) != 0; });
        return;
      }
      const std::vector<hpz_page> pages = take_all(pool);
      ASSERT_EQ(hpz_pool_give(pool.get(), pages.data(), pages.size(), 0), 0);
      wait_until([&] { return stats_of(pool).clean == kNodes * kEach; });
      EXPECT_EQ(stats_of(pool).flags, unsigned{HPZ_POOL_FILLS});
    });
  }
}

TEST_F(Pool, counters_are_of_a_node) {
  const PoolPointer pool = make_dirty(of_small_pages(HPZ_POOL_NO_FILLING));
  const hpz_pool_stats begin = stats_of(pool);
  EXPECT_EQ(begin.hits, kNodes * kEach);
  const int filler = start_filler(pool, 1);
  wait_until([&] { return stats_of(pool, 1).clean == kEach; });
  ASSERT_EQ(hpz_pool_set_filling(pool.get(), 1, 0), 0);
  EXPECT_EQ(stats_of(pool, 1).filled_bytes, kEach * kBytes);
  EXPECT_EQ(stats_of(pool, 1).flags, 0u);
  EXPECT_EQ(hpz_pool_fill(pool.get(), 2, 2), 2);
  EXPECT_EQ(stats_of(pool, 2).cleared_bytes, 2 * kBytes);
  EXPECT_EQ(counts_of_node(pool, 2), (Counts{2, kEach - 2, 0, 0, 0}));
  hpz_page page;
  ASSERT_EQ(take_from(pool, 0, 0, page), 1);
  for (int node = 0; node < kNodes; ++node) {
    const hpz_pool_stats stats = stats_of(pool, node);
    EXPECT_EQ(stats.filled_bytes, node == 1 ? kEach * kBytes : 0) << node;
    EXPECT_EQ(stats.cleared_bytes, node == 2 ? 2 * kBytes : node == 0 ? kBytes : 0) << node;
    EXPECT_EQ(stats.hits, kEach) << node;
    EXPECT_EQ(stats.misses, node == 0 ? 1u : 0u) << node;
    EXPECT_EQ(stats.latency[HPZ_TAKE_MISS].max_ns != 0, node == 0) << node;
    EXPECT_EQ(stats.waits, 0u) << node;
    EXPECT_EQ(stats.filler_cpu_ns != 0, node == 1) << node;
  }
  // All CPU time of that thread, and no more.
  const uint64_t told = stats_of(pool, 1).filler_cpu_ns;
  EXPECT_GE(cpu_ns_of_thread(filler), told);
  EXPECT_GE(stats_of(pool, 1).filler_cpu_ns, told);
  const hpz_pool_stats all = stats_of(pool);
  EXPECT_EQ(all.filled_bytes, kEach * kBytes);
  EXPECT_EQ(all.cleared_bytes, 3 * kBytes);
  EXPECT_EQ(all.clean + all.dirty + all.taken, kNodes * kEach);
  EXPECT_EQ(all.misses, 1u);
  hpz_pool_stats none = HPZ_POOL_STATS_INIT;
  EXPECT_EQ(hpz_pool_stats_get(pool.get(), kNodes, &none), -EINVAL);
  EXPECT_EQ(hpz_pool_fill(pool.get(), kNodes, 1), -EINVAL);
  EXPECT_EQ(hpz_pool_resize(pool.get(), kNodes, 1), -EINVAL);
  EXPECT_EQ(hpz_pool_set_filling(pool.get(), kNodes, 1), -EINVAL);
}

TEST_F(Pool, events_are_of_a_node) {
  const PoolPointer pool = make(of_small_pages(HPZ_POOL_NO_FILLING));
  EXPECT_EQ(hpz_pool_event_fd(pool.get(), -1, 1), -EINVAL) << "of which?";
  EXPECT_EQ(hpz_pool_event_fd(pool.get(), kNodes, 1), -EINVAL);
  int few[kNodes], clean[kNodes];
  for (int node = 0; node < kNodes; ++node) {
    few[node] = hpz_pool_event_fd(pool.get(), node, kEach);
    clean[node] = hpz_pool_event_fd(pool.get(), node, 0);
    ASSERT_GE(few[node], 0);
    ASSERT_GE(clean[node], 0);
    EXPECT_EQ(hpz_pool_event_rearm(pool.get(), clean[node]), 1);
  }
  for (int node = 0; node < kNodes; ++node) {
    hpz_page page;
    ASSERT_EQ(take_from(pool, node, HPZ_TAKE_STRICT, page), 1);
    ASSERT_EQ(hpz_pool_give(pool.get(), &page, 1, 0), 0);
    for (int other = 0; other < kNodes; ++other) {
      EXPECT_EQ(is_readable(few[other]), other == node);
      EXPECT_FALSE(is_readable(clean[other]));
    }
    EXPECT_EQ(hpz_pool_event_rearm(pool.get(), few[node]), 1);
    ASSERT_EQ(hpz_pool_fill(pool.get(), node, 1), 1);
    for (int other = 0; other < kNodes; ++other) {
      EXPECT_EQ(is_readable(clean[other]), other == node);
    }
    EXPECT_EQ(hpz_pool_event_rearm(pool.get(), clean[node]), 1);
    EXPECT_EQ(hpz_pool_event_rearm(pool.get(), few[node]), 0);
  }
  for (int node = 0; node < kNodes; ++node) {
    close(few[node]);
    close(clean[node]);
  }
}

// --- Nodes that may not be used ------------------------------------------------------------------

// Row F7: to who is limited to some nodes the others have no memory. A thread that runs on one of
// those takes from the nearest, and nobody else is disturbed.
TEST_F(Pool, nodes_without_memory_for_us) {
  write_text("/sys/fs/cgroup/cgroup.subtree_control", "+cpuset");
  const std::string group = "/sys/fs/cgroup/two_nodes";
  ASSERT_EQ(mkdir(group.c_str(), 0755), 0) << strerror(errno);
  write_text(group + "/cpuset.mems", "1-2");
  write_text(group + "/cpuset.cpus", "0-3");
  run_in_child([&] {
    write_text(group + "/cgroup.procs", "0");
    const PoolPointer pool = make(of_small_pages(HPZ_POOL_NO_FILLING));
    stay_on(cpus_of_node(0));
    ASSERT_EQ(stats_of(pool).clean, 2 * kEach);
    hpz_pool_stats none = HPZ_POOL_STATS_INIT;
    EXPECT_EQ(hpz_pool_stats_get(pool.get(), 0, &none), -EINVAL);
    hpz_page page;
    EXPECT_EQ(take_from(pool, 0, 0, page), -EINVAL);
    for (uint64_t i = 0; i < 2 * kEach; ++i) {
      ASSERT_EQ(take_from(pool, -1, 0, page), 1);
      expect_lies_on(page, i < kEach ? 1 : 2);  // from node 0, 20 and 40 far
    }
    EXPECT_EQ(take_from(pool, -1, 0, page), -ENOMEM);
    // Fillers run by the memory, not by who creates them.
    for (const int node : {1, 2}) {
      EXPECT_EQ(cpus_of_thread(start_filler(pool, node)), (std::vector<int>{2, 3}));
    }
  });
  rmdir(group.c_str());
}

// Row F12: nobody places memory or tells where it lies; a pool says so, and works.
TEST_F(Pool, says_that_nobody_places_memory) {
  for (const long call : {SYS_set_mempolicy, SYS_get_mempolicy, SYS_move_pages}) {
    SCOPED_TRACE(call);
    run_in_child([call] {
      refuse({{call, EPERM}});
      const PoolPointer pool = make_pool(of_small_pages(HPZ_POOL_NO_FILLING));
      if (call == SYS_set_mempolicy) {
        EXPECT_EQ(stats_of(pool).flags, unsigned{HPZ_POOL_NO_PLACEMENT});
      }
      const std::vector<hpz_page> pages = take_all(pool);
      ASSERT_EQ(pages.size(), kNodes * kEach);
      for (const hpz_page &page : pages) EXPECT_TRUE(is_zero(page));
    });
  }
}

}  // namespace
}  // namespace hpz::test
