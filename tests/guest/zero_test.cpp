// SPDX-License-Identifier: BSD-2-Clause
//
// Clearing on a machine of three nodes, page by page: who wrote to it, where it lies, and whether
// the report says the same.
#include <algorithm>

#include "tests/guest/team_fixture.h"
#include "tests/guest/witness.h"

namespace hpz::test {
namespace {

// Of each node in the striped mappings.
constexpr size_t kChunksPerNode = 10;

struct Shape {
  Pages kind;
  size_t chunk_pages;
};
// Chunks of one page show the one that cuts wrongly, chunks of several the one that counts wrongly.
constexpr Shape kShapes[] = {{Pages::kSmall, 32},
                             {Pages::kTransparent, 1},
                             {Pages::kHugetlb, 1},
                             {Pages::kHugetlb, 2},
                             {Pages::kSharedHugetlb, 1}};

class Zero : public Guest, public testing::WithParamInterface<Shape> {
 protected:
  size_t chunk_pages() const { return GetParam().chunk_pages; }
  // Clears memory that is all on that node.
  void expect_all_remote(int node, const Team &team);
};

// A mapping of `nodes` stripes each of chunk_pages, full of kFill.
void place_in_stripes(Mapping &mapping, size_t chunk_pages) {
  mapping.bind_in_stripes(chunk_pages);
  mapping.fill();
  const std::vector<int> nodes = mapping.nodes();
  for (size_t page = 0; page < mapping.pages(); ++page) {
    ASSERT_EQ(nodes[page], mapping.node_in_stripes(page, chunk_pages)) << "page " << page;
  }
}

// Who serves a node's memory where all nodes' CPUs are at work.
int serving(int node) {
  return node == kNodeWithoutCpus ? kNearestToIt : node;
}

// What was seen of local and remote memory.
struct Seen {
  uint64_t local = 0, remote = 0;
};

Seen expect_all_written(const Mapping &mapping, const Witness &witness) {
  Seen seen;
  const std::vector<int> nodes = mapping.nodes();
  WrongPages unwritten("were written by nobody"), not_zero("are not zero");
  for (size_t page = 0; page < mapping.pages(); ++page) {
    const int writer = witness.node_that_wrote(page);
    if (writer < 0) unwritten.add(page, writer);
    (writer == nodes[page] ? seen.local : seen.remote) += mapping.page_bytes();
    if (!mapping.reads(page, 0)) not_zero.add(page, writer);
  }
  count_checked(mapping.pages());
  return seen;
}

void expect_cleared_all(const Outcome &outcome, const Mapping &mapping, const Seen &seen) {
  EXPECT_EQ(outcome.result, 0);
  EXPECT_EQ(outcome.report.cleared_bytes, mapping.bytes());
  EXPECT_EQ(outcome.report.local_bytes, seen.local);
  EXPECT_EQ(outcome.report.remote_bytes, seen.remote);
}

// One worker on each node that has CPUs. Whoever takes the last chunk of what its node serves is
// held until nothing is left for it to steal: so nobody ever has a reason to, and every page must
// have been cleared on its own node, the CPU-less node's on the nearest.
TEST_P(Zero, every_page_by_a_cpu_of_its_node) {
  Mapping mapping(GetParam().kind, kNodes * kChunksPerNode * chunk_pages());
  place_in_stripes(mapping, chunk_pages());
  const Team team = make_team("0,2");
  Witness witness(mapping, chunk_pages(), [](const Witness &seen, const Witness::Begin &begin) {
    const int node = serving(seen.memory_node(begin.chunk));
    bool last_of_mine = true, others_wait = false;
    for (int memory = 0; memory < kNodes; ++memory) {
      const bool all_begun = seen.begun(memory) == seen.chunks(memory);
      if (serving(memory) == node) {
        last_of_mine = last_of_mine && all_begun;
      } else {
        others_wait = others_wait || !all_begun;
      }
    }
    return last_of_mine && others_wait;
  });
  const Outcome outcome =
      run(hpz_space_zero, mapping, team, options(chunk_pages() * mapping.page_bytes()));
  EXPECT_FALSE(witness.gave_up()) << "a node's memory was left to the other node's worker";
  EXPECT_EQ(outcome.report.threads, 2U);
  {
    WrongPages wrong("were written by the wrong node");
    for (size_t page = 0; page < mapping.pages(); ++page) {
      const int writer = witness.node_that_wrote(page);
      if (writer != serving(mapping.node_in_stripes(page, chunk_pages()))) wrong.add(page, writer);
    }
  }
  const Seen seen = expect_all_written(mapping, witness);
  EXPECT_EQ(seen.remote, mapping.bytes() / kNodes);
  expect_cleared_all(outcome, mapping, seen);
}

// All workers, free to steal: only when their own node's queue has nothing left.
TEST_P(Zero, steals_only_when_nothing_is_left_at_home) {
  Mapping mapping(GetParam().kind, kNodes * kChunksPerNode * chunk_pages());
  place_in_stripes(mapping, chunk_pages());
  const Team team = make_team(nullptr);
  hpz_job_options job = options(chunk_pages() * mapping.page_bytes());
  job.threads = 4;
  Witness witness(mapping, chunk_pages(), nullptr);
  const Outcome outcome = run(hpz_space_zero, mapping, team, job);
  for (size_t chunk = 0; chunk < kNodes * kChunksPerNode; ++chunk) {
    const int memory = witness.memory_node(chunk);
    const int by = witness.node_that_wrote(chunk * chunk_pages());
    ASSERT_GE(by, 0);
    if (by == serving(memory)) continue;
    for (int node = 0; node < kNodes; ++node) {
      if (serving(node) != by) continue;
      // The other worker of that node may have taken a chunk and not yet written to it.
      EXPECT_GE(witness.begun_before(chunk, node) + 1, kChunksPerNode)
          << "chunk " << chunk << " of node " << memory << " was stolen by node " << by;
    }
  }
  expect_cleared_all(outcome, mapping, expect_all_written(mapping, witness));
}

// Node 1's worker is held in its first chunk until node 0's has stolen some.
TEST_P(Zero, reports_stolen_bytes_as_remote) {
  Mapping mapping(GetParam().kind, kChunksPerNode * chunk_pages());
  mapping.bind(0, mapping.pages(), 1);
  mapping.fill();
  const Team team = make_team("0,2");
  hpz_job_options job = options(chunk_pages() * mapping.page_bytes());
  job.threads = 2;
  Witness witness(mapping, chunk_pages(), [](const Witness &seen, const Witness::Begin &begin) {
    return begin.node == 1 && seen.begun_by(0) < 3;
  });
  const Outcome outcome = run(hpz_space_zero, mapping, team, job);
  EXPECT_FALSE(witness.gave_up()) << "nobody stole";
  const Seen seen = expect_all_written(mapping, witness);
  EXPECT_GE(seen.remote, 3 * chunk_pages() * mapping.page_bytes());
  expect_cleared_all(outcome, mapping, seen);
}

void Zero::expect_all_remote(int node, const Team &team) {
  Mapping mapping(GetParam().kind, kChunksPerNode * chunk_pages());
  mapping.bind(0, mapping.pages(), node);
  mapping.fill();
  Witness witness(mapping, chunk_pages(), nullptr);
  const Outcome outcome =
      run(hpz_space_zero, mapping, team, options(chunk_pages() * mapping.page_bytes()));
  const Seen seen = expect_all_written(mapping, witness);
  EXPECT_EQ(seen.remote, mapping.bytes());
  expect_cleared_all(outcome, mapping, seen);
}

TEST_P(Zero, all_memory_on_the_node_without_cpus_is_remote) {
  expect_all_remote(kNodeWithoutCpus, make_team(nullptr));
}

TEST_P(Zero, a_team_of_one_node_clears_another_nodes_memory_remotely) {
  expect_all_remote(1, make_team("0-1"));
}

TEST_P(Zero, the_calling_thread_alone_tells_where_it_was) {
  Mapping mapping(GetParam().kind, kNodes * kChunksPerNode * chunk_pages());
  place_in_stripes(mapping, chunk_pages());
  stay_on(cpus_of_node(1));
  Witness witness(mapping, chunk_pages(), nullptr);
  const Outcome outcome =
      run(hpz_space_zero, mapping, alone_, options(chunk_pages() * mapping.page_bytes()));
  const Seen seen = expect_all_written(mapping, witness);
  EXPECT_EQ(seen.local, mapping.bytes() / kNodes);
  expect_cleared_all(outcome, mapping, seen);
}

// Chunks that the library chooses, and as many threads as it likes.
TEST_P(Zero, by_default_reports_what_was_seen) {
  Mapping mapping(GetParam().kind, kNodes * kChunksPerNode * chunk_pages());
  place_in_stripes(mapping, kChunksPerNode * chunk_pages());
  const Team team = make_team(nullptr);
  Witness witness(mapping, chunk_pages(), nullptr);
  const Outcome outcome = run(hpz_space_zero, mapping, team, options(0));
  const Seen seen = expect_all_written(mapping, witness);
  EXPECT_EQ(outcome.result, 0);
  EXPECT_EQ(outcome.report.cleared_bytes, mapping.bytes());
  // Small pages are so few chunks that all of them may be at a border: no number to be expected.
  if (GetParam().kind == Pages::kSmall) return;
  // A chunk at a border has samples on both sides.
  const uint64_t in_borders = 2 * 2 * mapping.page_bytes();
  EXPECT_LE(std::max(outcome.report.remote_bytes, seen.remote) -
                std::min(outcome.report.remote_bytes, seen.remote),
            in_borders);
}

INSTANTIATE_TEST_SUITE_P(Every, Zero, testing::ValuesIn(kShapes),
                         [](const testing::TestParamInfo<Shape> &shape) {
                           return to_string(shape.param.kind) + "_" +
                                  std::to_string(shape.param.chunk_pages);
                         });

// Memory that nobody has touched comes to lie where the calling thread's own touch would put it.
TEST_F(Guest, zero_of_fresh_memory_places_it_on_the_calling_threads_node) {
  const Team team = make_team(nullptr);
  stay_on(cpus_of_node(1));
  for (const Pages kind : {Pages::kSmall, Pages::kHugetlb, Pages::kSharedHugetlb}) {
    Mapping mapping(kind, kind == Pages::kSmall ? 2048 : 16);
    const Outcome outcome = run(hpz_space_zero, mapping, team, options(kHugePage));
    EXPECT_EQ(outcome.result, 0);
    EXPECT_EQ(outcome.report.local_bytes, mapping.bytes());
    WrongPages wrong("are on the wrong node");
    const std::vector<int> nodes = mapping.nodes();
    for (size_t page = 0; page < mapping.pages(); ++page) {
      if (nodes[page] != 1) wrong.add(page, nodes[page]);
    }
    EXPECT_TRUE(mapping.reads(0, mapping.pages(), 0));
    count_checked(mapping.pages());
  }
}

// Pages of two nodes in turn within a chunk: half of it is local to whoever takes it.
TEST_F(Guest, zero_of_chunks_on_two_nodes_is_half_remote) {
  constexpr size_t kPages = 320, kChunkPages = 16;
  Mapping mapping(Pages::kSmall, kPages);
  for (size_t page = 0; page < kPages; ++page) {
    mapping.bind(page, 1, static_cast<int>(page % 2));
  }
  mapping.fill();
  const Team team = make_team(nullptr);
  Witness witness(mapping, kChunkPages, nullptr);
  const Outcome outcome = run(hpz_space_zero, mapping, team, options(kChunkPages * kSmallPage));
  const Seen seen = expect_all_written(mapping, witness);
  EXPECT_EQ(seen.remote, mapping.bytes() / 2);
  expect_cleared_all(outcome, mapping, seen);
}

// The window around touch_next is the calling thread's, which is elsewhere than the workers.
TEST_F(Guest, zero_of_what_is_touched_next_is_by_the_calling_thread) {
  constexpr size_t kPages = 512, kChunkPages = 16, kNext = 203;
  Mapping mapping(Pages::kSmall, kPages);
  mapping.bind(0, kPages, 1);
  mapping.fill();
  const Team team = make_team("2-3");
  stay_on({0});
  hpz_job_options job = options(kChunkPages * kSmallPage);
  job.touch_next = mapping.at(kNext) + 100;
  Witness witness(mapping, 1, nullptr);
  const Outcome outcome = run(hpz_space_zero, mapping, team, job);
  const Seen seen = expect_all_written(mapping, witness);
  EXPECT_EQ(witness.node_that_wrote(kNext), 0);
  EXPECT_EQ(witness.begun_before(kNext, 1) + seen.remote / kSmallPage, kPages) << "not the last";
  EXPECT_LE(seen.remote, 64 * 1024U);
  expect_cleared_all(outcome, mapping, seen);
}

}  // namespace
}  // namespace hpz::test
