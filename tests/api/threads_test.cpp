// SPDX-License-Identifier: BSD-2-Clause
//
// Threads, forks and flags between threads. What needs a process in which no call was made before
// is done by the subject.
#include <hpzero/hpzero.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/support/guarded_buffer.h"
#include "tests/support/program.h"
#include "tests/support/settings.h"

namespace hpz::test {
namespace {

TEST(Threads, race_for_the_first_call) {
  const int rounds = quick() ? 8 : 60;
  for (int round = 0; round < rounds; ++round) {
    const Outcome outcome = run({HPZERO_SUBJECT, "race=8"});
    ASSERT_EQ(outcome.status, 0) << outcome;
    ASSERT_EQ(outcome.err, "");
  }
}

// A plan may be replaced under running calls; no call may see half of one.
TEST(Threads, clear_while_others_initialise) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> initialisers;
  for (int i = 0; i < 2; ++i) {
    initialisers.emplace_back([&stop] {
      hpz_init_options options = HPZ_INIT_OPTIONS_INIT;
      while (!stop) {
        options.flags ^= HPZ_INIT_NO_PROBE;
        EXPECT_EQ(hpz_init(&options), 0);
      }
    });
  }
  const GuardedBuffer buffer(512 * 1024);
  for (int round = 0; round < (quick() ? 50 : 300); ++round) {
    const size_t len = 1500 + static_cast<size_t>(round) * 1699 % 500000;
    unsigned char *const dst = buffer.end() - len;
    hpz_zero(dst, len);
    ASSERT_TRUE(buffer.only_cleared(dst, len));
    memset(dst, kPoison, len);
    hpz_plan_info plan = HPZ_PLAN_INFO_INIT;
    ASSERT_EQ(hpz_plan_info_get(HPZ_POLICY_AUTO, &plan), 0);
    ASSERT_EQ(plan.band[plan.bands - 1].upto_bytes, UINT64_MAX);
  }
  stop = true;
  for (std::thread &thread : initialisers) thread.join();
}

// Row C1: another thread that sees the flag sees the zeroes. Rarely fails where the fence is
// missing; that it is there is seen instruction by instruction in tests/process.
TEST(Threads, field_C1_zeroes_are_seen_before_the_flag) {
  const GuardedBuffer buffer(64 * 1024);
  std::atomic<int> turn{0};
  const int rounds = quick() ? 100 : 3000;
  std::thread reader([&] {
    for (int round = 0; round < rounds; ++round) {
      while (turn.load(std::memory_order_acquire) != 2 * round + 1) std::this_thread::yield();
      // From the end: what was written last would be missing first.
      for (const unsigned char *at = buffer.end(); at != buffer.begin(); at -= 64) {
        ASSERT_EQ(at[-1], 0) << "round " << round;
      }
      turn.store(2 * round + 2, std::memory_order_release);
    }
  });
  void *pages[16];
  for (size_t i = 0; i < 16; ++i) pages[i] = buffer.begin() + i * 4096;
  for (int round = 0; round < rounds; ++round) {
    buffer.poison();
    if (round % 2 == 0) {
      hpz_zero_stream(buffer.begin(), buffer.size());
    } else {
      hpz_zero_pages(pages, 16, 4096);
    }
    turn.store(2 * round + 1, std::memory_order_release);
    while (turn.load(std::memory_order_acquire) != 2 * round + 2) std::this_thread::yield();
  }
  reader.join();
}

TEST(Threads, forked_children_clear_too) {
  // Before any call, and with one made before the fork.
  for (const std::vector<std::string> &commands :
       {std::vector<std::string>{"fork", "zero=300001", "plan"},
        std::vector<std::string>{"zero=300001", "fork", "init", "stream=300001", "plan"},
        std::vector<std::string>{"init", "fork", "zero=300001", "init", "plan"}}) {
    std::vector<std::string> arguments = {HPZERO_SUBJECT};
    arguments.insert(arguments.end(), commands.begin(), commands.end());
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome;
    EXPECT_EQ(outcome.err, "");
  }
}

// A fork while other threads are inside the library: the child must not wait for them.
TEST(Threads, fork_amid_calls) {
  std::atomic<bool> stop{false};
  std::thread busy([&stop] {
    std::vector<unsigned char> memory(1 << 20, kPoison);
    while (!stop) {
      hpz_zero(memory.data(), memory.size());
      hpz_init(nullptr);
    }
  });
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      static unsigned char memory[100000];
      memset(memory, kPoison, sizeof memory);
      hpz_zero_stream(memory, sizeof memory);
      _exit(hpz_is_zero(memory, sizeof memory) == 1 ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  busy.join();
}

}  // namespace
}  // namespace hpz::test
