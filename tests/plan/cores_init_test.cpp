// SPDX-License-Identifier: BSD-2-Clause
//
// HPZ_INIT_CHECK_CPUS by the public call, on machines that need not exist. The program is linked of
// the library's own objects; the calls that they make to learn of the CPUs end here (ld --wrap):
// what arch/ says of a core, who may visit which, and whether there is a thread for it.
#include <errno.h>
#include <gmock/gmock.h>
#include <hpzero/hpzero.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "arch/arch.h"
#include "tests/support/guarded_buffer.h"

namespace hpz::test {
namespace {

constexpr unsigned kWordBits = 8 * sizeof(unsigned long);

struct InventedMachine {
  std::map<unsigned, uint64_t> signature = {};  // of each CPU that the mask allows
  std::set<unsigned> offline = {};              // of these, who cannot be visited
  bool has_threads = true;
  bool has_mask = true;
  // What happened.
  std::vector<unsigned> visited = {};
  int threads = 0;
};
InventedMachine *g_machine = nullptr;  // null: the real one
thread_local unsigned t_here = 0;
pthread_t g_caller;

// The features that depend on the core on the machine that the program runs on; where the
// instruction set has none, all that kernels need.
FeatureSet by_core(FeatureSet real) {
  if (real != 0) return real;
  FeatureSet all = 0;
  for (const Kernel &row : kernels()) all |= row.needs;
  return all;
}

// Of the real machine: each CPU says something else.
std::atomic<bool> g_real_cpus_differ{false};

}  // namespace
}  // namespace hpz::test

// __wrap_X is what the objects get that ask for X, __real_X is X.
extern "C" {
hpz::FeatureSet __real__ZN3hpz16features_by_coreEv() noexcept;
hpz::FeatureSet __wrap__ZN3hpz16features_by_coreEv() noexcept {
  return hpz::test::by_core(__real__ZN3hpz16features_by_coreEv());
}

uint64_t __real__ZN3hpz14core_signatureEv() noexcept;
uint64_t __wrap__ZN3hpz14core_signatureEv() noexcept {
  using namespace hpz::test;
  if (g_machine != nullptr) return g_machine->signature.at(t_here);
  const uint64_t real = __real__ZN3hpz14core_signatureEv();
  return g_real_cpus_differ ? real + static_cast<uint64_t>(sched_getcpu()) : real;
}

int __real_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *mask);
int __wrap_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *mask) {
  using namespace hpz::test;
  if (g_machine == nullptr) return __real_sched_getaffinity(pid, bytes, mask);
  if (!g_machine->has_mask) {
    errno = EINVAL;
    return -1;
  }
  auto *const words = reinterpret_cast<unsigned long *>(mask);
  memset(words, 0, bytes);
  for (const auto &[cpu, value] : g_machine->signature) {
    EXPECT_LT(cpu, 8 * bytes);
    words[cpu / kWordBits] |= 1ul << cpu % kWordBits;
  }
  return 0;
}

int __real_sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *mask);
int __wrap_sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *mask) {
  using namespace hpz::test;
  EXPECT_FALSE(pthread_equal(pthread_self(), g_caller)) << "moved the caller's thread";
  if (g_machine == nullptr) return __real_sched_setaffinity(pid, bytes, mask);
  const auto *const words = reinterpret_cast<const unsigned long *>(mask);
  std::vector<unsigned> cpus;
  for (unsigned cpu = 0; cpu < 8 * bytes; ++cpu) {
    if ((words[cpu / kWordBits] >> cpu % kWordBits & 1) != 0) cpus.push_back(cpu);
  }
  EXPECT_EQ(cpus.size(), 1U);
  if (g_machine->offline.count(cpus.at(0)) != 0) {
    errno = EINVAL;
    return -1;
  }
  t_here = cpus.at(0);
  g_machine->visited.push_back(t_here);
  return 0;
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument) {
  using namespace hpz::test;
  if (g_machine != nullptr && !g_machine->has_threads) return EAGAIN;
  if (g_machine != nullptr) ++g_machine->threads;
  return __real_pthread_create(thread, attributes, start, argument);
}
}

namespace hpz::test {
namespace {

int init(uint32_t flags) {
  hpz_init_options options = HPZ_INIT_OPTIONS_INIT;
  options.flags = flags;
  return hpz_init(&options);
}

std::string source() {
  hpz_plan_info plan = HPZ_PLAN_INFO_INIT;
  EXPECT_EQ(hpz_plan_info_get(HPZ_POLICY_AUTO, &plan), 0);
  return plan.source;
}

class CoresInit : public testing::Test {
 protected:
  void SetUp() override {
    g_caller = pthread_self();
    unsetenv("HPZ_KERNEL");
    unsetenv("HPZ_CPU_DISABLE");
    unsetenv("HPZ_PROFILE");
    ASSERT_EQ(init(0), 0);
    usual_source_ = source();
    for (const Kernel &row : kernels()) {
      if ((row.needs & features_by_core()) != 0) by_core_.insert(row.id);
      if (usable(row.id)) usually_usable_.insert(row.id);
    }
    ASSERT_FALSE(by_core_.empty());
  }
  void TearDown() override {
    g_machine = nullptr;
    g_real_cpus_differ = false;
  }

  // By what clears, not by what a query says; a kernel that is refused writes nothing.
  static bool usable(const std::string &kernel) {
    const GuardedBuffer buffer(8192);
    const int result = hpz_zero_with(kernel.c_str(), buffer.begin() + 100, 5000);
    EXPECT_TRUE(result == 0 || result == -EOPNOTSUPP) << kernel << ": " << result;
    EXPECT_TRUE(buffer.only_cleared(buffer.begin() + 100, result == 0 ? 5000 : 0)) << kernel;
    return result == 0;
  }
  static std::set<std::string> usable_kernels() {
    std::set<std::string> ids;
    for (const Kernel &row : kernels()) {
      if (usable(row.id)) ids.insert(row.id);
    }
    return ids;
  }
  static std::set<std::string> kernels_of_the_plan() {
    std::set<std::string> ids;
    for (const hpz_policy policy : {HPZ_POLICY_AUTO, HPZ_POLICY_CACHED, HPZ_POLICY_STREAM}) {
      hpz_plan_info plan = HPZ_PLAN_INFO_INIT;
      EXPECT_EQ(hpz_plan_info_get(policy, &plan), 0);
      for (uint32_t i = 0; i < plan.bands; ++i) ids.insert(plan.band[i].kernel);
    }
    return ids;
  }
  static void expect_policies_clear() {
    const GuardedBuffer buffer(1 << 20);
    for (void (*const policy)(void *, size_t) : {hpz_zero, hpz_zero_cached, hpz_zero_stream}) {
      policy(buffer.begin() + 1, buffer.size() - 2);
      EXPECT_TRUE(buffer.only_cleared(buffer.begin() + 1, buffer.size() - 2));
      buffer.poison();
    }
  }

  void expect_relied_on() {
    EXPECT_EQ(source(), usual_source_);
    EXPECT_EQ(usable_kernels(), usually_usable_);
    expect_policies_clear();
  }
  void expect_done_without() {
    EXPECT_EQ(source(), usual_source_ + "; CPUs not known to be alike");
    std::set<std::string> left = usually_usable_;
    for (const std::string &id : by_core_) left.erase(id);
    EXPECT_EQ(usable_kernels(), left);
    EXPECT_FALSE(left.empty());
    for (const std::string &id : kernels_of_the_plan()) EXPECT_EQ(left.count(id), 1U) << id;
    expect_policies_clear();
  }

  std::string usual_source_;
  std::set<std::string> by_core_, usually_usable_;
};

TEST_F(CoresInit, alike) {
  InventedMachine machine{{{0, 4}, {1, 4}, {63, 4}, {64, 4}, {1000, 4}, {65535, 4}}};
  g_machine = &machine;
  ASSERT_EQ(init(HPZ_INIT_CHECK_CPUS), 0);
  EXPECT_EQ(machine.visited, (std::vector<unsigned>{0, 1, 63, 64, 1000, 65535}));
  EXPECT_EQ(machine.threads, 1);
  expect_relied_on();
}

TEST_F(CoresInit, one_that_differs_wherever_it_is) {
  const std::vector<unsigned> all = {0, 1, 63, 64, 1000, 65535};
  for (const unsigned odd : all) {
    SCOPED_TRACE(odd);
    InventedMachine machine;
    for (const unsigned cpu : all) machine.signature[cpu] = cpu == odd ? 0x14 : 4;
    g_machine = &machine;
    ASSERT_EQ(init(HPZ_INIT_CHECK_CPUS), 0);
    expect_done_without();
    // ... and counts for nothing where it cannot be visited.
    machine.offline = {odd};
    ASSERT_EQ(init(HPZ_INIT_CHECK_CPUS), 0);
    expect_relied_on();
  }
}

TEST_F(CoresInit, without_the_flag_nothing_is_visited) {
  InventedMachine machine{{{0, 4}, {1, 5}}};
  g_machine = &machine;
  ASSERT_EQ(init(0), 0);
  ASSERT_EQ(init(HPZ_INIT_NO_PROBE), 0);
  EXPECT_EQ(machine.threads, 0);
  EXPECT_TRUE(machine.visited.empty());
  ASSERT_EQ(init(0), 0);
  expect_relied_on();
}

// What cannot be found out is not relied on, and a later call that finds it out is believed.
TEST_F(CoresInit, what_cannot_be_compared) {
  InventedMachine no_thread{{{0, 4}, {1, 4}}}, no_mask{{{0, 4}, {1, 4}}},
      no_visit{{{0, 4}, {1, 4}}, {0, 1}}, nowhere;
  no_thread.has_threads = false;
  no_mask.has_mask = false;
  for (InventedMachine *const machine : {&no_thread, &no_mask, &no_visit, &nowhere}) {
    g_machine = machine;
    ASSERT_EQ(init(HPZ_INIT_CHECK_CPUS), 0);
    EXPECT_TRUE(machine->visited.empty());
    expect_done_without();
    InventedMachine alike{{{0, 4}, {1, 4}}};
    g_machine = &alike;
    ASSERT_EQ(init(HPZ_INIT_CHECK_CPUS), 0);
    expect_relied_on();
  }
}

// No profile brings back what the check took away.
TEST_F(CoresInit, a_forced_kernel_is_no_way_round) {
  InventedMachine machine{{{0, 4}, {1, 5}}};
  g_machine = &machine;
  for (const std::string &id : by_core_) {
    setenv("HPZ_KERNEL", id.c_str(), 1);
    ASSERT_EQ(init(HPZ_INIT_CHECK_CPUS), 0);
    EXPECT_FALSE(usable(id)) << id;
    EXPECT_EQ(kernels_of_the_plan().count(id), 0U) << id;
  }
  unsetenv("HPZ_KERNEL");
}

// The real CPUs, really visited: each tells its own number, or all tell what they are.
TEST_F(CoresInit, the_cpus_of_this_machine) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  ASSERT_EQ(init(HPZ_INIT_CHECK_CPUS), 0);
  expect_relied_on();
  g_real_cpus_differ = true;
  ASSERT_EQ(init(HPZ_INIT_CHECK_CPUS), 0);
  if (CPU_COUNT(&before) > 1) {
    expect_done_without();
  } else {
    expect_relied_on();  // one CPU is like itself
  }
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace hpz::test
