// SPDX-License-Identifier: BSD-2-Clause
//
// On which node fresh pages come to lie, who faulted them in, and what a shortage is told as: by a
// node's pool, by a cgroup's limit, by a mount's size. Rows D1, D2 and D4 of the field reports.
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <map>

#include "tests/guest/team_fixture.h"

namespace hpz::test {
namespace {

constexpr Pages kKinds[] = {Pages::kSmall, Pages::kTransparent, Pages::kShared, Pages::kHugetlb,
                            Pages::kSharedHugetlb};

class Populate : public Guest, public testing::WithParamInterface<Pages> {
 protected:
  // Several chunks, also where the library does not cut within what could be a huge page.
  static size_t pages(Pages kind) {
    return kind == Pages::kSmall || kind == Pages::kShared ? 1536 : 16;
  }
  size_t pages() const { return pages(GetParam()); }
  static constexpr size_t kChunkPages = 4;

  void expect_on(const Mapping &mapping, const std::function<bool(size_t, int)> &is_right,
                 bool counts = true) {
    const std::vector<int> nodes = mapping.nodes();
    WrongPages wrong("are on the wrong node");
    for (size_t page = 0; page < mapping.pages(); ++page) {
      if (!is_right(page, nodes[page])) wrong.add(page, nodes[page]);
    }
    // Fresh and cleared by the kernel.
    EXPECT_TRUE(mapping.reads(0, mapping.pages(), 0));
    if (counts) count_checked(mapping.pages());
  }
  void expect_all_on(const Mapping &mapping, int node, bool counts = true) {
    expect_on(
        mapping, [node](size_t, int found) { return found == node; }, counts);
  }
  Outcome populate(const Mapping &mapping, const Team &team, int32_t node) {
    const Outcome outcome =
        run(hpz_space_populate, mapping, team, options(kChunkPages * mapping.page_bytes(), node));
    EXPECT_EQ(outcome.result, 0);
    EXPECT_EQ(outcome.report.populated_bytes, mapping.bytes());
    return outcome;
  }
};

TEST_P(Populate, on_the_node_that_is_named_and_by_its_threads_alone) {
  const std::set<int> before = other_threads();
  const Team team = make_team(nullptr);
  std::set<int> workers = other_threads();
  for (const int thread : before) workers.erase(thread);
  ASSERT_EQ(workers.size(), 4U);
  // The kernel's word for who did it. CPU time is a weaker one: it is also spent on being woken,
  // and waiting for the emulator's turn counts. So it may be wrong, but not every time.
  const bool has_faults = GetParam() != Pages::kHugetlb && GetParam() != Pages::kSharedHugetlb;
  const auto measure = has_faults ? faults_of_thread : cpu_ns_of_thread;
  const int attempts = has_faults ? 1 : 6;
  // What a thread does once: its stack, what its node's first job brings about.
  for (const int node : {0, 1}) populate(Mapping(GetParam(), pages()), team, node);
  for (int node = 0; node < kNodes; ++node) {
    const bool is_local = node != kNodeWithoutCpus;
    const auto served_by = static_cast<size_t>(is_local ? node : kNearestToIt);
    bool by_own = false;
    for (int attempt = 0; attempt < attempts && !by_own; ++attempt) {
      Mapping mapping(GetParam(), pages());
      std::map<int, uint64_t> earlier;
      for (const int worker : workers) earlier[worker] = measure(worker);
      const Outcome outcome = populate(mapping, team, node);
      expect_all_on(mapping, node, /*counts=*/attempt == 0);
      EXPECT_EQ(outcome.report.local_bytes, is_local ? mapping.bytes() : 0);
      uint64_t own = 0, foreign = 0;
      for (const int worker : workers) {
        const cpu_set_t cpus = affinity_of_thread(worker);
        const bool is_own = CPU_ISSET(2 * served_by, &cpus) || CPU_ISSET(2 * served_by + 1, &cpus);
        (is_own ? own : foreign) += measure(worker) - earlier[worker];
      }
      by_own = has_faults ? own >= mapping.pages() && foreign < kChunkPages : foreign < own / 4;
    }
    EXPECT_TRUE(by_own) << "node " << node;
  }
}

TEST_P(Populate, on_the_node_that_is_named_by_the_calling_thread) {
  stay_on({1});
  for (int node = 0; node < kNodes; ++node) {
    Mapping mapping(GetParam(), pages());
    const Outcome outcome = populate(mapping, alone_, node);
    expect_all_on(mapping, node);
    EXPECT_EQ(outcome.report.local_bytes, node == 0 ? mapping.bytes() : 0);
  }
}

TEST_P(Populate, on_the_node_that_is_named_by_a_team_that_has_none_of_its_cpus) {
  const Team team = make_team("0-1");
  Mapping mapping(GetParam(), pages());
  const Outcome outcome = populate(mapping, team, 1);
  expect_all_on(mapping, 1);
  EXPECT_EQ(outcome.report.remote_bytes, mapping.bytes());
}

TEST_P(Populate, by_the_mappings_policy) {
  const Team team = make_team(nullptr);
  for (const bool by_team : {true, false}) {
    Mapping mapping(GetParam(), pages());
    mapping.bind_in_stripes(kChunkPages);
    populate(mapping, by_team ? team : alone_, -1);
    expect_on(mapping, [&mapping](size_t page, int node) {
      return node == mapping.node_in_stripes(page, kChunkPages);
    });
  }
}

TEST_P(Populate, by_the_calling_threads_policy) {
  const Team team = make_team(nullptr);
  stay_on({0});
  for (const bool by_team : {true, false}) {
    {
      Mapping mapping(GetParam(), pages());
      allocate_by(MPOL_BIND, 1UL << kNodeWithoutCpus);
      populate(mapping, by_team ? team : alone_, -1);
      expect_all_on(mapping, kNodeWithoutCpus);
    }
    Mapping mapping(GetParam(), pages());
    allocate_by(MPOL_INTERLEAVE, 1UL << 1 | 1UL << 2);
    populate(mapping, by_team ? team : alone_, -1);
    size_t on[kNodes] = {};
    for (const int node : mapping.nodes()) {
      if (node >= 0) ++on[node];
    }
    // Each worker interleaves on its own.
    EXPECT_GE(on[1], pages() / 4);
    EXPECT_GE(on[2], pages() / 4);
    expect_on(mapping, [](size_t, int node) { return node == 1 || node == 2; });
    allocate_by(MPOL_DEFAULT, 0);
  }
}

TEST_P(Populate, on_the_calling_threads_node_where_nothing_is_said) {
  const Team team = make_team(nullptr);
  for (const int node : {1, 0}) {
    stay_on(cpus_of_node(node));
    for (const bool by_team : {true, false}) {
      Mapping mapping(GetParam(), pages());
      const Outcome outcome = populate(mapping, by_team ? team : alone_, -1);
      expect_all_on(mapping, node);
      EXPECT_EQ(outcome.report.local_bytes, mapping.bytes());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, Populate, testing::ValuesIn(kKinds),
                         [](const testing::TestParamInfo<Pages> &kind) {
                           return to_string(kind.param);
                         });

// Errors, each by the calling thread alone, where what is exact is known beforehand, and by a team,
// where it is what the kernel says is resident. SIGBUS has its default action: a touch would end
// the process.
class Shortage : public Guest {
 protected:
  void expect_short(const Mapping &mapping, const Outcome &outcome, const std::set<int> &errors) {
    EXPECT_TRUE(errors.contains(outcome.result)) << outcome.result;
    const std::vector<int> nodes = mapping.nodes();
    EXPECT_EQ(outcome.report.populated_bytes, mapping.resident() * mapping.page_bytes());
    ASSERT_LT(outcome.report.first_bad_offset, mapping.bytes());
    EXPECT_EQ(outcome.report.first_bad_offset % mapping.page_bytes(), 0U);
    EXPECT_LT(nodes[outcome.report.first_bad_offset / mapping.page_bytes()], 0);
    count_checked(mapping.pages());
  }
  void expect_exactly(const Outcome &outcome, uint64_t bytes) {
    EXPECT_EQ(outcome.report.populated_bytes, bytes);
    EXPECT_EQ(outcome.report.first_bad_offset, bytes);
  }
};

// 5: the pool ends within a chunk. 8: between two.
constexpr size_t kChunksOfPages[] = {5, 8};

TEST_F(Shortage, of_huge_pages_on_the_node_that_is_named) {
  const size_t there = free_huge_pages(1);
  ASSERT_GE(there, 40U);
  for (const size_t chunk_pages : kChunksOfPages) {
    for (const uint32_t threads : {0U, 1U, 4U}) {
      SCOPED_TRACE("threads " + std::to_string(threads));
      {
        const Team team = threads == 0 ? Team() : make_team(nullptr, threads);
        Mapping mapping(Pages::kHugetlb, there + 16);
        const Outcome outcome =
            run(hpz_space_populate, mapping, team, options(chunk_pages * kHugePage, 1));
        expect_short(mapping, outcome, {-ENOMEM});
        if (threads == 0) expect_exactly(outcome, there * kHugePage);
      }
      EXPECT_EQ(free_huge_pages(1), there);
    }
  }
}

TEST_F(Shortage, of_huge_pages_where_the_mapping_is_bound) {
  const size_t there = free_huge_pages(kNodeWithoutCpus);
  ASSERT_GE(there, 40U);
  for (const bool by_team : {false, true}) {
    const Team team = by_team ? make_team(nullptr) : Team();
    Mapping mapping(Pages::kSharedHugetlb, there + 16);
    mapping.bind(0, mapping.pages(), kNodeWithoutCpus);
    const Outcome outcome = run(hpz_space_populate, mapping, team, options(5 * kHugePage));
    // A file's mapping might end behind the file.
    expect_short(mapping, outcome, {-ENOMEM, -EFAULT});
    if (!by_team) expect_exactly(outcome, there * kHugePage);
  }
  EXPECT_EQ(free_huge_pages(kNodeWithoutCpus), there);
}

// Recipe R-CGH: a limit on faults, not on reservations: mmap succeeds, a touch gets SIGBUS.
TEST_F(Shortage, by_a_cgroups_limit_on_huge_pages) {
  const std::string folder = "/sys/fs/cgroup/two_pages";
  ASSERT_EQ(mkdir(folder.c_str(), 0755), 0);
  write_text(folder + "/hugetlb.2MB.max", "4194304");
  write_text(folder + "/cgroup.procs", "0");
  for (const uint32_t threads : {0U, 1U, 2U}) {
    SCOPED_TRACE("threads " + std::to_string(threads));
    const Team team = threads == 0 ? Team() : make_team(nullptr, threads);
    for (const size_t chunk_pages : {1U, 3U, 8U}) {
      Mapping mapping(Pages::kHugetlb, 8);
      const Outcome outcome =
          run(hpz_space_populate, mapping, team, options(chunk_pages * kHugePage));
      expect_short(mapping, outcome, {-ENOMEM});
      if (threads == 0) expect_exactly(outcome, 2 * kHugePage);
    }
  }
  write_text("/sys/fs/cgroup/cgroup.procs", "0");
  EXPECT_EQ(rmdir(folder.c_str()), 0);
}

// Recipe R-HFS.
TEST_F(Shortage, by_the_size_of_a_mount) {
  const std::string folder = "/tmp/four_pages";
  ASSERT_EQ(mkdir(folder.c_str(), 0755), 0);
  ASSERT_EQ(mount("none", folder.c_str(), "hugetlbfs", 0, "size=8M,pagesize=2M"), 0);
  for (const uint32_t threads : {0U, 1U, 2U}) {
    SCOPED_TRACE("threads " + std::to_string(threads));
    const Team team = threads == 0 ? Team() : make_team(nullptr, threads);
    for (const size_t chunk_pages : {1U, 3U, 8U}) {
      const std::string path = folder + "/memory";
      const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      ASSERT_GE(fd, 0);
      ASSERT_EQ(ftruncate(fd, 8 * kHugePage), 0);
      {
        Mapping mapping(fd, kHugePage, 8);
        const Outcome outcome =
            run(hpz_space_populate, mapping, team, options(chunk_pages * kHugePage));
        expect_short(mapping, outcome, {-ENOMEM, -EFAULT});
        if (threads == 0) expect_exactly(outcome, 4 * kHugePage);
      }
      close(fd);
      EXPECT_EQ(unlink(path.c_str()), 0);
    }
  }
  EXPECT_EQ(umount(folder.c_str()), 0);
}

// Not a shortage: where a node is full and the policy lets the kernel go elsewhere, the report says
// what went where.
TEST_F(Shortage, of_huge_pages_on_the_calling_threads_node_goes_to_another) {
  const size_t there = free_huge_pages(1);
  const Team team = make_team("2-3");
  stay_on({2});
  Mapping mapping(Pages::kHugetlb, there + 8);
  const Outcome outcome = run(hpz_space_populate, mapping, team, options(kHugePage));
  EXPECT_EQ(outcome.result, 0);
  EXPECT_EQ(outcome.report.populated_bytes, mapping.bytes());
  EXPECT_EQ(mapping.resident(), mapping.pages());
  EXPECT_EQ(outcome.report.local_bytes, there * kHugePage);
  EXPECT_EQ(outcome.report.remote_bytes, 8 * kHugePage);
  count_checked(mapping.pages());
}

TEST_F(Shortage, of_nodes_is_told_before_anything_is_done) {
  const Team team = make_team(nullptr);
  for (const int32_t node : {kNodes, 1000, 100000, -2}) {
    for (const bool by_team : {true, false}) {
      Mapping mapping(Pages::kSmall, 16);
      const Outcome outcome =
          run(hpz_space_populate, mapping, by_team ? team : alone_, options(0, node));
      EXPECT_EQ(outcome.result, -EINVAL) << "node " << node;
      EXPECT_EQ(mapping.resident(), 0U);
    }
  }
}

// The kernel of the guest may have no PAGEMAP_SCAN (before 6.7): then /proc/self/pagemap is what
// proves that pages were never touched.
TEST_F(Guest, reset_leaves_untouched_pages_untouched_on_every_node) {
  const Team team = make_team(nullptr);
  for (const bool by_team : {true, false}) {
    constexpr size_t kPages = 3000, kStripe = 100;
    Mapping mapping(Pages::kSmall, kPages);
    mapping.bind_in_stripes(kStripe);
    size_t touched = 0;
    for (size_t page = 0; page < kPages; page += 1 + page % 7) {
      mapping.fill(page, 1);
      ++touched;
    }
    const std::vector<int> before = mapping.nodes();
    const Outcome outcome =
        run(hpz_space_reset, mapping, by_team ? team : alone_, options(kStripe * kSmallPage));
    EXPECT_EQ(outcome.result, 0);
    EXPECT_EQ(outcome.report.cleared_bytes, touched * kSmallPage);
    EXPECT_EQ(outcome.report.skipped_bytes, mapping.bytes() - touched * kSmallPage);
    EXPECT_EQ(mapping.nodes(), before);
    WrongPages wrong("are not zero");
    for (size_t page = 0; page < kPages; ++page) {
      if (before[page] >= 0 && !mapping.reads(page, 0)) wrong.add(page, before[page]);
    }
    count_checked(kPages);
  }
}

}  // namespace
}  // namespace hpz::test
