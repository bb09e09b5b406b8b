// SPDX-License-Identifier: BSD-2-Clause
//
// The states of a node's pages: a table of what becomes of a page by each event, and random
// interleavings of fillers, takers, givers and poison over memory that is only imagined, with
// nobody to trust but what that memory holds.
#include "lib/pool/node_pages.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/support/settings.h"

namespace hpz::test {
namespace {

using State = PoolPageState;
using Settled = NodePages::Settled;

constexpr uint32_t kChunks = 3;

// How a page comes to be in a state.
enum class Given {
  kDirty,
  kDirtyInPart,
  kDropped,
  kClean,
  kTakenClean,
  kTakenDirty,
  kTakenBad,
  kBusyByFiller,
  kBusyByFillerBad,
  kBusyByFillerAllOut,
  kBusyReserved,  // a taker alone
  kBusyJoined,    // a filler and a taker
  kPoisoned
};

class OnePage {
 public:
  explicit OnePage(Given given) {
    pages.add(page, given == Given::kClean || given == Given::kTakenClean);
    uint32_t chunk;
    switch (given) {
      case Given::kDirty:
      case Given::kClean:
        break;
      case Given::kDirtyInPart:
        pages.begin(false, false);
        page.chunks.claim(kChunks, chunk);
        EXPECT_FALSE(pages.leave(page));
        break;
      case Given::kDropped:
        pages.take_any();
        pages.begin_given(page);
        page.has_memory = false;
        page.chunks.close();
        EXPECT_FALSE(pages.leave(page));
        break;
      case Given::kTakenClean:
      case Given::kTakenDirty:
        pages.take_any();
        break;
      case Given::kTakenBad:
        pages.take_any();
        pages.poison(page);
        break;
      case Given::kBusyByFiller:
        pages.begin(false, false);
        break;
      case Given::kBusyByFillerBad:
        pages.begin(false, false);
        pages.poison(page);
        break;
      case Given::kBusyByFillerAllOut:
        pages.begin(false, false);
        while (page.chunks.claim(kChunks, chunk)) {
        }
        break;
      case Given::kBusyReserved:
        pages.begin(true, false);
        break;
      case Given::kBusyJoined:
        pages.begin(false, false);
        pages.join();
        break;
      case Given::kPoisoned:
        pages.poison(page);
        break;
    }
  }

  Page page;
  NodePages pages{kChunks};
};

struct Row {
  Given given;
  const char *event;
  bool applies;  // the call finds the page
  State after;
};

const Row kRows[] = {
    // What the lists may be asked at any time.
    {Given::kDirty, "take_clean", false, State::kDirty},
    {Given::kDirty, "take_any", true, State::kTaken},
    {Given::kDirty, "begin", true, State::kBusy},
    {Given::kDirty, "join", false, State::kDirty},
    {Given::kDirty, "help", false, State::kDirty},
    {Given::kDirty, "pop_spare", true, State::kAbsent},
    {Given::kDirty, "poison", true, State::kPoisoned},
    {Given::kDirtyInPart, "take_clean", false, State::kDirty},
    {Given::kDirtyInPart, "take_any", true, State::kTaken},
    {Given::kDirtyInPart, "begin", true, State::kBusy},
    {Given::kDirtyInPart, "pop_spare", true, State::kAbsent},
    {Given::kDropped, "take_clean", false, State::kDirty},
    {Given::kDropped, "take_any", false, State::kDirty},
    {Given::kDropped, "begin", true, State::kBusy},
    {Given::kDropped, "begin_clearable", false, State::kDirty},
    {Given::kDropped, "pop_spare", true, State::kAbsent},
    {Given::kClean, "take_clean", true, State::kTaken},
    {Given::kClean, "take_any", true, State::kTaken},
    {Given::kClean, "begin", false, State::kClean},
    {Given::kClean, "join", false, State::kClean},
    {Given::kClean, "pop_spare", true, State::kAbsent},
    {Given::kClean, "poison", true, State::kPoisoned},
    {Given::kTakenClean, "take_clean", false, State::kTaken},
    {Given::kTakenClean, "take_any", false, State::kTaken},
    {Given::kTakenClean, "begin", false, State::kTaken},
    {Given::kTakenClean, "join", false, State::kTaken},
    {Given::kTakenClean, "pop_spare", false, State::kTaken},
    {Given::kTakenClean, "poison", true, State::kTaken},
    {Given::kBusyByFiller, "take_clean", false, State::kBusy},
    {Given::kBusyByFiller, "take_any", false, State::kBusy},
    {Given::kBusyByFiller, "begin", false, State::kBusy},
    {Given::kBusyByFiller, "join", true, State::kBusy},
    {Given::kBusyByFiller, "help", false, State::kBusy},
    {Given::kBusyByFiller, "pop_spare", false, State::kBusy},
    {Given::kBusyByFiller, "poison", true, State::kBusy},
    {Given::kBusyReserved, "take_any", false, State::kBusy},
    {Given::kBusyReserved, "join", false, State::kBusy},
    {Given::kBusyReserved, "help", true, State::kBusy},
    {Given::kBusyJoined, "join", false, State::kBusy},
    {Given::kBusyJoined, "help", true, State::kBusy},
    {Given::kPoisoned, "take_clean", false, State::kPoisoned},
    {Given::kPoisoned, "take_any", false, State::kPoisoned},
    {Given::kPoisoned, "begin", false, State::kPoisoned},
    {Given::kPoisoned, "join", false, State::kPoisoned},
    {Given::kPoisoned, "pop_spare", false, State::kPoisoned},
    {Given::kPoisoned, "poison", true, State::kPoisoned},
    // What its taker or its workers do.
    {Given::kTakenClean, "give_dirty", true, State::kDirty},
    {Given::kTakenClean, "give_zero", true, State::kClean},
    {Given::kTakenClean, "begin_given", true, State::kBusy},
    {Given::kTakenDirty, "give_dirty", true, State::kDirty},
    {Given::kTakenBad, "give_dirty", true, State::kPoisoned},
    {Given::kTakenBad, "give_zero", true, State::kPoisoned},
    {Given::kTakenBad, "begin_given", true, State::kBusy},
    {Given::kBusyByFiller, "leave", true, State::kDirty},
    {Given::kBusyByFillerBad, "leave", true, State::kPoisoned},
    {Given::kBusyByFillerAllOut, "leave", true, State::kClean},
    {Given::kBusyReserved, "give_up", true, State::kDirty},
    {Given::kBusyReserved, "settle", true, State::kBusy},
    {Given::kBusyJoined, "leave", true, State::kBusy},
    {Given::kBusyJoined, "give_up", true, State::kBusy},
    {Given::kBusyJoined, "settle", true, State::kBusy},
};

bool apply(OnePage &one, const std::string &event) {
  NodePages &pages = one.pages;
  if (event == "take_clean") return pages.take_clean() != nullptr;
  if (event == "take_any") return pages.take_any() != nullptr;
  if (event == "begin") return pages.begin(false, true) != nullptr;
  if (event == "begin_clearable") return pages.begin(false, false) != nullptr;
  if (event == "join") return pages.join() != nullptr;
  if (event == "help") return pages.help() != nullptr;
  if (event == "pop_spare") return pages.pop_spare() != nullptr;
  if (event == "poison") {
    pages.poison(one.page);
  } else if (event == "give_dirty") {
    pages.give(one.page, false);
  } else if (event == "give_zero") {
    pages.give(one.page, true);
  } else if (event == "begin_given") {
    pages.begin_given(one.page);
  } else if (event == "give_up") {
    pages.give_up(one.page);
  } else if (event == "leave") {
    (void)pages.leave(one.page);
  } else if (event == "settle") {
    (void)pages.settle(one.page);
  } else {
    ADD_FAILURE() << "what is " << event << "?";
  }
  return true;
}

uint64_t count_of(const NodePages::Counts &counts, State state) {
  switch (state) {
    case State::kClean:
      return counts.clean;
    case State::kDirty:
      return counts.dirty;
    case State::kBusy:
      return counts.busy;
    case State::kTaken:
      return counts.taken;
    case State::kPoisoned:
      return counts.poisoned;
    case State::kAbsent:
      break;
  }
  return 1 - counts.usable() - counts.poisoned;
}

TEST(NodePages, table) {
  for (const Row &row : kRows) {
    SCOPED_TRACE(std::to_string(static_cast<int>(row.given)) + " " + row.event);
    OnePage one(row.given);
    EXPECT_EQ(apply(one, row.event), row.applies);
    EXPECT_EQ(one.page.state, row.after);
    const NodePages::Counts &counts = one.pages.counts();
    EXPECT_EQ(count_of(counts, row.after), 1u);
    EXPECT_EQ(counts.usable() + counts.poisoned, row.after == State::kAbsent ? 0u : 1u);
  }
}

TEST(NodePages, a_taker_waits_for_the_last_chunk_of_others) {
  OnePage one(Given::kBusyJoined);
  uint32_t chunk;
  while (one.page.chunks.claim(kChunks, chunk)) {
  }
  EXPECT_EQ(one.pages.settle(one.page), Settled::kNotYet) << "all are out, not all are done";
  EXPECT_TRUE(one.pages.leave(one.page)) << "the taker is to be woken";
  EXPECT_EQ(one.pages.settle(one.page), Settled::kTaken);
  EXPECT_EQ(one.page.state, State::kTaken);
  EXPECT_TRUE(one.page.was_zero);
}

TEST(NodePages, a_taker_clears_what_the_filler_has_left) {
  OnePage one(Given::kBusyJoined);
  EXPECT_TRUE(one.pages.leave(one.page));
  EXPECT_EQ(one.pages.settle(one.page), Settled::kUnfinished);
  uint32_t chunk;
  uint32_t chunks = 0;
  while (one.page.chunks.claim(kChunks, chunk)) ++chunks;
  EXPECT_EQ(chunks, kChunks);
  EXPECT_EQ(one.pages.settle(one.page), Settled::kTaken);
}

TEST(NodePages, a_taker_that_gives_up_leaves_the_page_to_the_filler) {
  OnePage one(Given::kBusyJoined);
  uint32_t chunk;
  while (one.page.chunks.claim(kChunks, chunk)) {
  }
  one.pages.give_up(one.page);
  EXPECT_EQ(one.page.state, State::kBusy);
  EXPECT_EQ(one.pages.join(), &one.page) << "another may have it";
  one.pages.give_up(one.page);
  EXPECT_FALSE(one.pages.leave(one.page));
  EXPECT_EQ(one.page.state, State::kClean);
}

TEST(NodePages, a_helper_has_its_share_of_a_takers_page) {
  OnePage one(Given::kBusyReserved);
  ASSERT_EQ(one.pages.help(), &one.page);
  uint32_t chunk;
  while (one.page.chunks.claim(kChunks, chunk)) {
  }
  EXPECT_EQ(one.pages.help(), nullptr) << "nothing is left to do";
  EXPECT_EQ(one.pages.settle(one.page), Settled::kNotYet) << "the helper may be at its chunk";
  EXPECT_TRUE(one.pages.leave(one.page)) << "the taker is to be woken";
  EXPECT_EQ(one.pages.settle(one.page), Settled::kTaken);
}

TEST(NodePages, a_helper_whose_taker_gives_up_works_for_the_pool) {
  OnePage one(Given::kBusyReserved);
  ASSERT_EQ(one.pages.help(), &one.page);
  one.pages.give_up(one.page);
  EXPECT_EQ(one.pages.help(), nullptr) << "it is nobody's";
  EXPECT_FALSE(one.pages.leave(one.page));
  EXPECT_EQ(one.page.state, State::kDirty);
  EXPECT_EQ(one.pages.begin(false, false), &one.page);
}

TEST(NodePages, nobody_helps_where_there_is_no_memory_yet) {
  OnePage one(Given::kDropped);
  ASSERT_EQ(one.pages.begin(true, true), &one.page);
  EXPECT_EQ(one.pages.help(), nullptr);
}

TEST(NodePages, poison_while_busy_ends_chunks_and_loses_the_page) {
  OnePage one(Given::kBusyJoined);
  one.pages.poison(one.page);
  uint32_t chunk;
  EXPECT_FALSE(one.page.chunks.claim(kChunks, chunk)) << "never written again";
  EXPECT_EQ(one.pages.settle(one.page), Settled::kNotYet);
  EXPECT_TRUE(one.pages.leave(one.page));
  EXPECT_EQ(one.pages.settle(one.page), Settled::kLost);
  EXPECT_EQ(one.page.state, State::kPoisoned);
  EXPECT_EQ(one.pages.counts().poisoned, 1u);
}

TEST(NodePages, what_is_cleared_is_not_cleared_again) {
  OnePage one(Given::kDirtyInPart);
  ASSERT_EQ(one.pages.begin(true, false), &one.page);
  uint32_t chunk = 99;
  ASSERT_TRUE(one.page.chunks.claim(kChunks, chunk));
  EXPECT_EQ(chunk, 1u);
  one.pages.give_up(one.page);
  ASSERT_EQ(one.pages.take_any(), &one.page);
  one.pages.give(one.page, false);
  ASSERT_EQ(one.pages.begin(true, false), &one.page);
  ASSERT_TRUE(one.page.chunks.claim(kChunks, chunk));
  EXPECT_EQ(chunk, 0u) << "somebody has had it in between";
}

TEST(NodePages, order) {
  NodePages pages(kChunks);
  Page a, b, c, d;
  for (Page *const page : {&a, &b, &c}) pages.add(*page, false);
  pages.add(d, true);
  EXPECT_EQ(pages.begin(false, false), &a) << "the oldest";
  uint32_t chunk;
  a.chunks.claim(kChunks, chunk);
  EXPECT_FALSE(pages.leave(a));
  EXPECT_EQ(pages.begin(false, false), &a) << "what has been begun";
  EXPECT_FALSE(pages.leave(a));
  EXPECT_EQ(pages.take_any(), &c) << "the least that is lost, and no clean one";
  EXPECT_EQ(pages.pop_spare(), &b);
  EXPECT_EQ(pages.pop_spare(), &a);
  EXPECT_EQ(pages.pop_spare(), &d) << "clean ones last";
  EXPECT_EQ(pages.pop_spare(), nullptr) << "never one that is taken";
}

TEST(NodePages, each_taking_has_its_generation) {
  OnePage one(Given::kClean);
  std::vector<uint32_t> seen;
  for (int i = 0; i < 3; ++i) {
    ASSERT_NE(one.pages.take_clean(), nullptr);
    seen.push_back(one.page.generation);
    one.pages.give(one.page, true);
  }
  EXPECT_EQ(seen, (std::vector<uint32_t>{1, 2, 3}));
}

// 2^32 takes of one page are a matter of minutes; 0 is in no ticket, so nobody could give it back.
TEST(NodePages, generations_come_round) {
  OnePage one(Given::kClean);
  one.page.generation = UINT32_MAX;
  ASSERT_NE(one.pages.take_clean(), nullptr);
  EXPECT_EQ(one.page.generation, 1u);
  one.page.generation = UINT32_MAX;
  one.pages.give(one.page, true);
  ASSERT_EQ(one.pages.pop_spare(), &one.page);
  EXPECT_EQ(one.page.generation, 1u);
}

// --- Random interleavings ------------------------------------------------------------------------

struct Occurred {
  uint64_t hits = 0, misses = 0, waits = 0, lost = 0, given_up = 0, filled = 0, resumed = 0,
           helped = 0;
};

class Imagined {
 public:
  Imagined(uint64_t its_seed, uint32_t pages, uint32_t workers, Occurred &occurred)
      : occurred_(occurred), random_(its_seed), content_(pages), workers_(workers) {
    for (uint32_t i = 0; i < pages; ++i) {
      pages_.push_back(std::make_unique<Page>());
      pages_[i]->id = i;
      content_[i].assign(kChunks, kSecret);
      if (i % 2 == 0) continue;  // some are absent at first
      lists_.add(*pages_[i], false);
    }
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      step();
      check();
    }
  }

 private:
  enum Content : uint8_t { kZero, kSecret };
  struct Worker {
    Page *page = nullptr;
    bool is_taker = false, joined = false;
    bool has_chunk = false;
    uint32_t chunk = 0;
  };

  uint32_t pick(uint32_t count) { return static_cast<uint32_t>(random_() % count); }
  std::vector<Content> &content(const Page &page) { return content_[page.id]; }

  void expect_zero(const Page &page) {
    for (const Content each : content(page)) ASSERT_EQ(each, kZero) << "of page " << page.id;
  }
  void took(Page &page, bool is_any) {
    ASSERT_EQ(page.state, State::kTaken);
    ASSERT_EQ(page.workers, 0u);
    for (const Worker &worker : workers_) ASSERT_NE(worker.page, &page) << "somebody is at it";
    if (!is_any) expect_zero(page);
    // The taker writes.
    is_written_[page.id] = pick(2) == 0;
    if (is_written_[page.id]) content(page).assign(kChunks, kSecret);
  }

  void step() {
    Worker &worker = workers_[pick(static_cast<uint32_t>(workers_.size()))];
    if (worker.page != nullptr) return work(worker);
    switch (pick(11)) {
      case 10:  // a filler, for takers
        worker.page = lists_.help();
        if (worker.page != nullptr) ++occurred_.helped;
        worker.is_taker = worker.joined = false;
        return;
      case 0:
      case 1:  // a filler
        worker.page = lists_.begin(false, false);
        if (worker.page != nullptr && worker.page->chunks.are_out(1)) ++occurred_.resumed;
        worker.is_taker = worker.joined = false;
        return;
      case 2:
      case 3:
      case 4: {  // a taker
        if (Page *const page = lists_.take_clean(); page != nullptr) {
          ++occurred_.hits;
          return took(*page, false);
        }
        worker.page = lists_.begin(true, false);
        worker.joined = worker.page == nullptr;
        if (worker.joined) worker.page = lists_.join();
        worker.is_taker = true;
        return;
      }
      case 5:
        if (Page *const page = lists_.take_any(); page != nullptr) took(*page, true);
        return;
      case 6:
      case 7: {
        Page &page = *pages_[pick(static_cast<uint32_t>(pages_.size()))];
        if (page.state == State::kTaken) {
          const bool is_zero = page.was_zero && !is_written_[page.id];
          if (pick(3) == 0) {
            lists_.begin_given(page);
            worker = {&page, false, false, false, 0};
          } else {
            lists_.give(page, is_zero);
          }
        } else if (page.state == State::kAbsent) {
          content(page).assign(kChunks, kZero);
          lists_.add(page, true);
        } else if (page.state == State::kPoisoned && pick(2) == 0) {
          // A fresh one in its place, that the run does not end for want of pages.
          const uint32_t id = page.id;
          gone_.push_back(std::move(pages_[id]));
          pages_[id] = std::make_unique<Page>();
          pages_[id]->id = id;
        }
        return;
      }
      case 8:
        if (pick(4) == 0) lists_.pop_spare();
        return;
      default:
        if (pick(20) == 0) lists_.poison(*pages_[pick(static_cast<uint32_t>(pages_.size()))]);
        return;
    }
  }

  void work(Worker &worker) {
    Page &page = *worker.page;
    if (worker.has_chunk) {
      ASSERT_EQ(page.state, State::kBusy) << "written to, and not busy";
      content(page)[worker.chunk] = kZero;
      worker.has_chunk = false;
      return;
    }
    if (pick(4) != 0 && page.chunks.claim(kChunks, worker.chunk)) {
      worker.has_chunk = true;
      return;
    }
    if (!worker.is_taker) {
      (void)lists_.leave(page);
      worker.page = nullptr;
      if (page.state == State::kClean) {
        ++occurred_.filled;
        expect_zero(page);
      }
      return;
    }
    if (pick(8) == 0) {
      lists_.give_up(page);
      worker.page = nullptr;
      ++occurred_.given_up;
      return;
    }
    switch (lists_.settle(page)) {
      case Settled::kTaken:
        worker.page = nullptr;
        ++(worker.joined ? occurred_.waits : occurred_.misses);
        return took(page, false);
      case Settled::kLost:
        worker.page = nullptr;
        ++occurred_.lost;
        return;
      case Settled::kNotYet:
      case Settled::kUnfinished:
        return;
    }
  }

  void check() {
    NodePages::Counts truth;
    for (const auto &page : pages_) {
      switch (page->state) {
        case State::kClean:
          ++truth.clean;
          expect_zero(*page);
          break;
        case State::kDirty:
          ++truth.dirty;
          break;
        case State::kBusy:
          ++truth.busy;
          break;
        case State::kTaken:
          ++truth.taken;
          break;
        case State::kPoisoned:
          ++truth.poisoned;
          break;
        case State::kAbsent:
          break;
      }
      uint32_t at_it = 0;
      for (const Worker &worker : workers_) at_it += worker.page == page.get();
      ASSERT_EQ(page->workers, at_it);
      ASSERT_EQ(page->state == State::kBusy, at_it != 0) << "busy is who is worked on";
    }
    const NodePages::Counts &counts = lists_.counts();
    ASSERT_EQ(counts.clean, truth.clean);
    ASSERT_EQ(counts.dirty, truth.dirty);
    ASSERT_EQ(counts.busy, truth.busy);
    ASSERT_EQ(counts.taken, truth.taken);
    ASSERT_EQ(counts.poisoned, truth.poisoned + gone_.size());
  }

  Occurred &occurred_;
  std::mt19937_64 random_;
  NodePages lists_{kChunks};
  std::vector<std::unique_ptr<Page>> pages_, gone_;
  std::vector<std::vector<Content>> content_;
  std::map<uint32_t, bool> is_written_;
  std::vector<Worker> workers_;
};

TEST(NodePages, random_interleavings) {
  const int runs = quick() ? 20 : 200;
  Occurred occurred;
  for (int i = 0; i < runs && !HasFailure(); ++i) {
    const uint64_t its_seed = seed() + static_cast<uint64_t>(i);
    SCOPED_TRACE("HPZERO_TEST_SEED=" + std::to_string(its_seed));
    Imagined imagined(its_seed, 2 + static_cast<uint32_t>(i) % 7, 2 + static_cast<uint32_t>(i) % 4,
                      occurred);
    imagined.run(3000);
  }
  // A run in which one of these never happened says nothing about it.
  EXPECT_GT(occurred.hits, 0u);
  EXPECT_GT(occurred.misses, 0u);
  EXPECT_GT(occurred.waits, 0u);
  EXPECT_GT(occurred.lost, 0u);
  EXPECT_GT(occurred.given_up, 0u);
  EXPECT_GT(occurred.filled, 0u);
  EXPECT_GT(occurred.resumed, 0u);
  EXPECT_GT(occurred.helped, 0u);
}

}  // namespace
}  // namespace hpz::test
