// SPDX-License-Identifier: BSD-2-Clause
//
// Nothing happens behind the caller's back: row F19 of the field reports as far as it concerns
// calls without threads of their own.
#include <dirent.h>
#include <errno.h>
#include <hpzero/hpzero.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "tests/support/guarded_buffer.h"
#include "tests/support/machine.h"

namespace hpz::test {
namespace {

size_t entries_of(const char *path) {
  size_t count = 0;
  DIR *const folder = opendir(path);
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

struct CallersState {
  cpu_set_t affinity;
  std::vector<std::string> signals;  // handler, flags and masks of each
  unsigned mxcsr;
  unsigned short x87_control;
  unsigned long direction_flag;
  int nice, scheduler;
  size_t threads, descriptors;
};

void take(CallersState &state) {
  sched_getaffinity(0, sizeof state.affinity, &state.affinity);
  sigset_t mask;
  sigprocmask(SIG_BLOCK, nullptr, &mask);
  for (int signal = 1; signal < 64; ++signal) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) != 0) continue;  // the C library's own
    std::string text =
        std::to_string(signal) + (sigismember(&mask, signal) == 1 ? " blocked " : " ");
    text += std::to_string(reinterpret_cast<uintptr_t>(action.sa_handler)) + ' ' +
            std::to_string(action.sa_flags);
    for (int other = 1; other < 64; ++other)
      text += sigismember(&action.sa_mask, other) ? '1' : '0';
    state.signals.push_back(text);
  }
  asm volatile("stmxcsr %0" : "=m"(state.mxcsr));
  asm volatile("fnstcw %0" : "=m"(state.x87_control));
  asm volatile("pushfq; popq %0" : "=r"(state.direction_flag));
  state.direction_flag &= 1UL << 10;
  state.nice = getpriority(PRIO_PROCESS, 0);
  state.scheduler = sched_getscheduler(0);
  state.threads = entries_of("/proc/self/task");
  state.descriptors = entries_of("/proc/self/fd");
}

void call_everything() {
  std::vector<unsigned char> memory(3 << 20, kPoison);
  void *pages[] = {memory.data() + 5, memory.data() + 10000};
  hpz_init_options options = HPZ_INIT_OPTIONS_INIT;
  for (const char *const profile : {static_cast<const char *>(nullptr), "/nonexistent", "/dev"}) {
    options.profile = profile;
    hpz_init(&options);
  }
  options.flags = ~uint32_t{0};
  EXPECT_EQ(hpz_init(&options), -EINVAL);
  for (const size_t len : Sizes{0, 100, 5001, 300001, 3 << 20}) {
    hpz_zero(memory.data(), len);
    hpz_zero_cached(memory.data(), len);
    hpz_zero_stream(memory.data(), len);
    hpz_zero_pages(pages, 2, len / 2 + 1 - len / 2);
    hpz_is_zero(memory.data(), len);
    for (const hpz_kernel_info &info : kernel_infos()) {
      hpz_zero_with(info.id, memory.data(), len);
      hpz_zero_pages_with(info.id, pages, 2, 5000);
    }
  }
  for (const hpz_policy policy : {HPZ_POLICY_AUTO, HPZ_POLICY_CACHED, HPZ_POLICY_STREAM}) {
    hpz_plan_info plan = HPZ_PLAN_INFO_INIT;
    hpz_plan_info_get(policy, &plan);
  }
}

TEST(Caller, field_F19_finds_everything_as_it_was) {
  // A state that is not the default, so that a reset to it would be seen.
  struct sigaction action = {};
  action.sa_handler = SIG_IGN;
  sigaction(SIGUSR2, &action, nullptr);
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGHUP);
  sigprocmask(SIG_BLOCK, &blocked, nullptr);
  unsigned usual;
  asm volatile("stmxcsr %0" : "=m"(usual));
  const unsigned unusual = usual | 0x8040 | 0x6000;  // flush to zero, round towards zero
  asm volatile("ldmxcsr %0" : : "m"(unusual));
  const unsigned short narrow = 0x007F;  // x87: single precision
  asm volatile("fldcw %0" : : "m"(narrow));

  CallersState before, after;
  take(before);
  call_everything();
  take(after);
  EXPECT_EQ(before.signals, after.signals);
  EXPECT_EQ(before.nice, after.nice);
  EXPECT_EQ(before.scheduler, after.scheduler);
  EXPECT_EQ(before.direction_flag, after.direction_flag);
  EXPECT_EQ(before.mxcsr, after.mxcsr);
  EXPECT_EQ(before.x87_control, after.x87_control);
  EXPECT_EQ(before.threads, after.threads);
  EXPECT_EQ(before.descriptors, after.descriptors);
  EXPECT_TRUE(CPU_EQUAL(&before.affinity, &after.affinity));

  asm volatile("fninit");
  asm volatile("ldmxcsr %0" : : "m"(usual));
}

}  // namespace
}  // namespace hpz::test
