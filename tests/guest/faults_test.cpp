// SPDX-License-Identifier: BSD-2-Clause
//
// Poisoned pages, as a memory error leaves them behind: errors from the verbs that return them, a
// signal from zero, which the host's handler may give to hpz_fault_claim.
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <atomic>

#include "tests/guest/team_fixture.h"

namespace hpz::test {
namespace {

// A host with a SIGBUS handler that asks the library first.
class HostHandler {
 public:
  HostHandler() {
    claimed = 0;
    struct sigaction action = {};
    action.sa_sigaction = [](int signal, siginfo_t *info, void *context) {
      if (hpz_fault_claim(info, context) == 1) {
        ++claimed;
        return;
      }
      struct sigaction by_default = {};
      by_default.sa_handler = SIG_DFL;
      sigaction(signal, &by_default, nullptr);  // comes again
    };
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &before_);
  }
  ~HostHandler() { sigaction(SIGBUS, &before_, nullptr); }
  static inline std::atomic<int> claimed = 0;

 private:
  struct sigaction before_;
};

struct Poison {
  Pages kind;
  size_t pages, chunk_pages, bad_page;
};
// So much memory that a team's workers are worth waking.
constexpr Poison kPoisons[] = {
    {Pages::kSmall, 1024, 128, 677}, {Pages::kShared, 1024, 128, 677}, {Pages::kHugetlb, 8, 2, 5}};

class Poisoned : public Guest, public testing::WithParamInterface<Poison> {
 protected:
  // A page of the pool that is poisoned is lost to it.
  void TearDown() override {
    Guest::TearDown();
    for (int node = 0; node < kNodes; ++node) refill_pool(node);
  }

  static void make_bad(Mapping &mapping) {
    mapping.bind(0, mapping.pages(), 1);
    mapping.fill();
    const size_t bad = GetParam().bad_page;
    ASSERT_EQ(madvise(mapping.at(bad), mapping.page_bytes(), MADV_HWPOISON), 0) << strerror(errno);
  }
  uint64_t chunk_bytes(const Mapping &mapping) const {
    return GetParam().chunk_pages * mapping.page_bytes();
  }

  // By the calling thread alone, which goes on in order: done is what lies before the bad page,
  // exactly, and the chunks behind its own are untouched.
  void expect_stopped_in_order(const Mapping &mapping, const Outcome &outcome) {
    const size_t page_bytes = mapping.page_bytes();
    const size_t bad = GetParam().bad_page, chunk = GetParam().chunk_pages;
    const size_t chunk_end = bad / chunk * chunk + chunk;
    EXPECT_EQ(outcome.result, -EHWPOISON);
    EXPECT_EQ(outcome.report.first_bad_offset, bad * page_bytes);
    EXPECT_EQ(outcome.report.done_bytes, bad * page_bytes);
    EXPECT_TRUE(mapping.reads(0, bad, 0));
    EXPECT_TRUE(mapping.reads(chunk_end, mapping.pages() - chunk_end, kFill));
    count_checked(mapping.pages());
  }
  // By a team: which other chunks were begun is anybody's guess, but they are whole.
  void expect_stopped(const Mapping &mapping, const Outcome &outcome) {
    const size_t bad = GetParam().bad_page, chunk = GetParam().chunk_pages;
    EXPECT_EQ(outcome.result, -EHWPOISON);
    EXPECT_EQ(outcome.report.first_bad_offset, bad * mapping.page_bytes());
    size_t done = bad % chunk;
    for (size_t begin = 0; begin < mapping.pages(); begin += chunk) {
      if (begin == bad / chunk * chunk) continue;
      const bool is_done = mapping.reads(begin, 0);
      EXPECT_TRUE(mapping.reads(begin, chunk, is_done ? 0 : kFill));
      if (is_done) done += chunk;
    }
    EXPECT_TRUE(mapping.reads(bad / chunk * chunk, bad % chunk, 0));
    EXPECT_EQ(outcome.report.done_bytes, done * mapping.page_bytes());
    count_checked(mapping.pages());
  }
};

TEST_P(Poisoned, populate_says_so) {
  const Poison &poison = GetParam();
  for (const bool by_team : {false, true}) {
    const Team team = by_team ? make_team(nullptr) : Team();
    Mapping mapping(poison.kind, poison.pages);
    ASSERT_NO_FATAL_FAILURE(make_bad(mapping));
    const Outcome outcome = run(hpz_space_populate, mapping, team, options(chunk_bytes(mapping)));
    EXPECT_EQ(outcome.result, -EHWPOISON);
    EXPECT_EQ(outcome.report.first_bad_offset, poison.bad_page * mapping.page_bytes());
    if (!by_team) {
      EXPECT_EQ(outcome.report.populated_bytes, poison.bad_page * mapping.page_bytes());
    }
    for (size_t page = 0; page < mapping.pages(); ++page) {
      EXPECT_TRUE(page == poison.bad_page || mapping.reads(page, kFill)) << "page " << page;
    }
    count_checked(mapping.pages());
  }
}

TEST_P(Poisoned, reset_says_so) {
  const Poison &poison = GetParam();
  for (const bool by_team : {false, true}) {
    const Team team = by_team ? make_team(nullptr) : Team();
    Mapping mapping(poison.kind, poison.pages);
    ASSERT_NO_FATAL_FAILURE(make_bad(mapping));
    const Outcome outcome = run(hpz_space_reset, mapping, team, options(chunk_bytes(mapping)));
    by_team ? expect_stopped(mapping, outcome) : expect_stopped_in_order(mapping, outcome);
  }
}

TEST_P(Poisoned, zero_says_so_where_the_hosts_handler_asks) {
  const Poison &poison = GetParam();
  for (const bool by_team : {false, true}) {
    const Team team = by_team ? make_team(nullptr) : Team();
    Mapping mapping(poison.kind, poison.pages);
    ASSERT_NO_FATAL_FAILURE(make_bad(mapping));
    const HostHandler handler;
    const Outcome outcome = run(hpz_space_zero, mapping, team, options(chunk_bytes(mapping)));
    // Once more when the library goes over the chunk again in order, to tell what is done.
    EXPECT_GE(HostHandler::claimed, 1);
    by_team ? expect_stopped(mapping, outcome) : expect_stopped_in_order(mapping, outcome);
  }
}

TEST_P(Poisoned, zero_is_ended_by_the_signal_where_nobody_asks) {
  Mapping mapping(GetParam().kind, GetParam().pages);
  ASSERT_NO_FATAL_FAILURE(make_bad(mapping));
  EXPECT_EXIT(run(hpz_space_zero, mapping, alone_, options(chunk_bytes(mapping))),
              testing::KilledBySignal(SIGBUS), "");
}

// The kernel drops the page with the mapping's others, and gives a fresh one afterwards. But for a
// shared one: it punches the hole into the file and leaves this mapping's mark of poison in place
// (zap_pte_range, where copies are not to go), so that a touch is a signal for ever.
TEST_P(Poisoned, release_gives_the_page_up) {
  const Poison &poison = GetParam();
  Mapping mapping(poison.kind, poison.pages);
  ASSERT_NO_FATAL_FAILURE(make_bad(mapping));
  const Outcome outcome = run(hpz_space_release, mapping, alone_, options(chunk_bytes(mapping)));
  EXPECT_EQ(outcome.result, 0);
  EXPECT_EQ(outcome.report.skipped_bytes, mapping.bytes());
  EXPECT_EQ(mapping.resident(), 0U);
  for (size_t page = 0; page < mapping.pages(); ++page) {
    if (page == poison.bad_page && poison.kind == Pages::kShared) continue;
    EXPECT_TRUE(mapping.reads(page, 0)) << "page " << page;
  }
  count_checked(mapping.pages());
}

INSTANTIATE_TEST_SUITE_P(Every, Poisoned, testing::ValuesIn(kPoisons),
                         [](const testing::TestParamInfo<Poison> &poison) {
                           return to_string(poison.param.kind);
                         });

// A shortage is a signal, too, and not told apart from an end of the file.
TEST_F(Guest, zero_of_short_huge_pages_is_a_fault_that_can_be_claimed) {
  const size_t there = free_huge_pages(1);
  for (const bool by_team : {false, true}) {
    const Team team = by_team ? make_team(nullptr) : Team();
    Mapping mapping(Pages::kHugetlb, there + 8);
    mapping.bind(0, mapping.pages(), 1);
    const HostHandler handler;
    const Outcome outcome = run(hpz_space_zero, mapping, team, options(2 * kHugePage));
    EXPECT_EQ(outcome.result, -EFAULT);
    EXPECT_GE(HostHandler::claimed, 1);
    EXPECT_LE(outcome.report.done_bytes, mapping.resident() * kHugePage);
    EXPECT_GE(outcome.report.done_bytes + 4 * 2 * kHugePage, mapping.resident() * kHugePage);
    ASSERT_LT(outcome.report.first_bad_offset, mapping.bytes());
    EXPECT_LT(mapping.nodes()[outcome.report.first_bad_offset / kHugePage], 0);
    count_checked(mapping.pages());
  }
  EXPECT_EQ(free_huge_pages(1), there);
}

}  // namespace
}  // namespace hpz::test
