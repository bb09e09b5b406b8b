// SPDX-License-Identifier: BSD-2-Clause
#include "tests/map/schedules.h"

#include <string.h>
#include <ucontext.h>

#include <memory>
#include <unordered_map>

#include "lib/map/steps.h"

namespace hpz::test {
namespace {

constexpr size_t kStackBytes = 256 * 1024;

uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9E3779B97F4A7C15 + (hash << 6) + (hash >> 2);
  hash *= 0xFF51AFD7ED558CCD;
  return hash ^ hash >> 33;
}

uint64_t hash_of(const void *bytes, size_t count) {
  uint64_t hash = count;
  for (size_t i = 0; i < count; ++i) hash = mix(hash, static_cast<const unsigned char *>(bytes)[i]);
  return hash;
}

struct Fiber {
  ucontext_t context;
  std::function<void()> run;
  const void *pending = nullptr;  // what it will look at first when it goes on,
  bool writes = false;            // ... or write to
  std::function<bool()> may_run;  // empty: it may
  uint64_t seen = 0;              // all that it has seen so far
  bool has_ended = false;
};

// What threads share.
struct Object {
  size_t number, bytes;
  uint64_t detail = 0;
};

class Search {
 public:
  explicit Search(const std::function<Execution()> &prepare) : prepare_(prepare) {}

  Explored run(uint64_t most_states) {
    do {
      execute();
      if (states_.size() > most_states) fail("endless");
    } while (explored_.failure.empty() && next());
    if (!explored_.failure.empty()) {
      explored_.failure += "\norder:";
      for (const Choice &choice : path_) explored_.failure += " " + std::to_string(choice.chosen);
    }
    explored_.states = states_.size();
    return explored_;
  }

  void step(const void *what, size_t bytes, bool writes, std::function<bool()> may_run) {
    objects_.try_emplace(what, Object{objects_.size(), bytes});
    if (running_ == nullptr) return;  // preparation, or the check
    Fiber &self = *running_;
    self.pending = what;
    self.writes = writes;
    self.may_run = std::move(may_run);
    swapcontext(&self.context, &scheduler_);
  }
  void keep_detail(const void *what, uint64_t hash) { objects_.at(what).detail = hash; }
  void fail(const std::string &what) {
    if (explored_.failure.empty()) explored_.failure = what;
  }

  uint64_t wakes = 0;  // there is one word to sleep on

 private:
  using Set = uint32_t;  // of fibers, by bits
  struct Choice {
    Set asleep;  // to go on by one of these would be like an order before
    Set todo;    // to be tried, after the one that is chosen
    size_t chosen;
    Set apart;  // their next steps and that of the chosen one do not touch each other
  };

  static void enter() noexcept;

  void start() {
    objects_.clear();
    Execution execution = prepare_();
    check_ = std::move(execution.check);
    while (stacks_.size() < execution.threads.size()) {
      stacks_.push_back(std::make_unique<char[]>(kStackBytes));
    }
    fibers_.clear();
    for (size_t i = 0; i < execution.threads.size(); ++i) {
      fibers_.push_back(std::make_unique<Fiber>());
      Fiber &fiber = *fibers_.back();
      fiber.run = std::move(execution.threads[i]);
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = stacks_[i].get();
      fiber.context.uc_stack.ss_size = kStackBytes;
      fiber.context.uc_link = &scheduler_;
      makecontext(&fiber.context, enter, 0);
    }
    // Each up to its first access: what it does before is its own.
    for (const auto &fiber : fibers_) go_on(*fiber);
  }

  void go_on(Fiber &fiber) {
    if (fiber.pending != nullptr) fiber.seen = mix(fiber.seen, value_of(fiber.pending));
    running_ = &fiber;
    swapcontext(&scheduler_, &fiber.context);
    running_ = nullptr;
  }

  uint64_t value_of(const void *what) const {
    const Object &object = objects_.at(what);
    return mix(hash_of(what, object.bytes), object.detail);
  }

  uint64_t state(Set can) const {
    uint64_t hash = can;
    for (const auto &[what, object] : objects_) hash += mix(object.number, value_of(what));
    for (const auto &fiber : fibers_) hash = mix(hash, fiber->seen);
    return hash;
  }

  void execute() {
    start();
    constexpr size_t kDeepest = 10'000;  // nobody waits by trying again and again
    for (size_t depth = 0;; ++depth) {
      if (depth == kDeepest) return fail("goes on for ever");
      Set can = 0;
      bool has_ended = true;
      for (size_t i = 0; i < fibers_.size(); ++i) {
        const Fiber &fiber = *fibers_[i];
        has_ended = has_ended && fiber.has_ended;
        if (!fiber.has_ended && (!fiber.may_run || fiber.may_run())) can |= Set{1} << i;
      }
      if (has_ended) break;
      if (can == 0) return fail("all wait for each other");
      // A replay makes the last choice anew: by what fibers are about to do here.
      const bool is_known = depth + 1 < path_.size() || (depth + 1 == path_.size() && !is_open_);
      if (depth == path_.size() ? !choose(can) : !is_known && !choose_next(path_[depth])) {
        return end();
      }
      is_open_ = is_open_ && depth + 1 < path_.size();
      go_on(*fibers_[path_[depth].chosen]);
      if (!explored_.failure.empty()) return;
    }
    ++explored_.executions;
    check_();
  }

  // Where no execution has been so far. False: one has, and has tried all.
  bool choose(Set can) {
    Set asleep = path_.empty() ? 0 : path_.back().asleep & path_.back().apart;
    const auto [known, is_new] = states_.try_emplace(state(can), asleep);
    Set todo = can & ~asleep;
    if (!is_new) {
      todo = can & known->second & ~asleep;
      asleep &= known->second;
      known->second = asleep;
    }
    path_.push_back({asleep, todo, 0, 0});
    if (choose_next(path_.back())) return true;
    path_.pop_back();
    return false;
  }

  bool choose_next(Choice &choice) const {
    if (choice.todo == 0) return false;
    choice.chosen = static_cast<size_t>(__builtin_ctz(choice.todo));
    choice.todo &= choice.todo - 1;
    const Fiber &chosen = *fibers_[choice.chosen];
    choice.apart = 0;
    for (size_t i = 0; i < fibers_.size(); ++i) {
      const Fiber &other = *fibers_[i];
      if (other.pending != chosen.pending || !(other.writes || chosen.writes)) {
        choice.apart |= Set{1} << i;
      }
    }
    return true;
  }

  // A fiber that is left in the middle would keep what it has allocated: it runs to its end.
  void end() {
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (const auto &fiber : fibers_) {
        while (!fiber->has_ended && (!fiber->may_run || fiber->may_run())) {
          go_on(*fiber);
          goes_on = true;
        }
      }
    }
  }

  // Goes back to the last choice that leaves another one. False: there is none.
  bool next() {
    for (; !path_.empty(); path_.pop_back()) {
      Choice &choice = path_.back();
      choice.asleep |= Set{1} << choice.chosen;
      if (choice.todo == 0) continue;
      is_open_ = true;
      return true;
    }
    return false;
  }

  const std::function<Execution()> &prepare_;
  std::function<void()> check_;
  std::vector<std::unique_ptr<char[]>> stacks_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::unordered_map<const void *, Object> objects_;
  ucontext_t scheduler_;
  Fiber *running_ = nullptr;
  std::vector<Choice> path_;
  bool is_open_ = false;                      // the last choice of the path is to be made anew
  std::unordered_map<uint64_t, Set> states_;  // with who was asleep there
  Explored explored_;
};

Search *g_search;

void Search::enter() noexcept {
  Fiber &self = *g_search->running_;
  self.run();
  self.has_ended = true;
}

}  // namespace

Explored explore(const std::function<Execution()> &prepare, uint64_t most_states) {
  Search search(prepare);
  g_search = &search;
  const Explored explored = search.run(most_states);
  g_search = nullptr;
  return explored;
}

void fail_execution(const std::string &what) {
  g_search->fail(what);
}

void test_step(const void *what, size_t bytes, bool writes) {
  if (g_search != nullptr) g_search->step(what, bytes, writes, {});
}

}  // namespace hpz::test

// --- lib/map/steps.h -----------------------------------------------------------------------------

namespace hpz {

using test::g_search;

void map_step(const void *what, size_t bytes, Access access) noexcept {
  test::test_step(what, bytes, access == Access::kWrite);
}

// Who would look again and again does not look before it changes: no order is lost by that.
void map_step_unless(const std::atomic<uint8_t> &byte, uint8_t value) noexcept {
  if (g_search == nullptr) return;
  g_search->step(&byte, sizeof byte, false, [&byte, value] { return byte.load() != value; });
}

void map_unlocking(const void *what, const void *detail, size_t bytes) noexcept {
  if (g_search != nullptr) {
    g_search->keep_detail(what, detail == nullptr ? 0 : test::hash_of(detail, bytes));
  }
}

// As the kernel does it: a wake ends it, a word that changes does not.
void map_sleep(FutexWord &word, uint32_t value, uint64_t) noexcept {
  map_step(word, Access::kRead);
  if (word.load() != value) return;
  const uint64_t wakes = g_search->wakes;
  g_search->step(&word, sizeof word, false, [wakes] { return g_search->wakes != wakes; });
}

void map_wake(FutexWord &word) noexcept {
  map_step(word, Access::kWrite);
  ++g_search->wakes;
}

}  // namespace hpz
