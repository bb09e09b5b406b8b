// SPDX-License-Identifier: BSD-2-Clause
//
// By-standers: sizes of their working sets, whose CPU they are on, what their passes are read as.
#include "bench/bystanders.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <stdexcept>

#include "bench/sizes.h"
#include "bench/working_set.h"
#include "tests/bench/root.h"

namespace hpz::bench {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Caches kCaches = {32 * kKiB, 2 * kMiB, 32 * kMiB};

TEST(BystanderSizes, AreHalfOfTheCaches) {
  const BystanderSizes sizes = bystander_sizes(kCaches, kGiB, 4 * kGiB, std::nullopt);
  EXPECT_EQ(sizes.l2_bytes, kMiB);
  EXPECT_EQ(sizes.llc_bytes, 16 * kMiB);
  EXPECT_THAT(sizes.note, IsEmpty());
}

TEST(BystanderSizes, AreBoundByWhatIsClearedAndByMemory) {
  constexpr Caches kOfAHost = {32 * kKiB, 2 * kMiB, 1920 * kMiB};
  BystanderSizes sizes = bystander_sizes(kOfAHost, kGiB, 4 * kGiB, std::nullopt);
  EXPECT_EQ(sizes.llc_bytes, 256 * kMiB);
  EXPECT_THAT(sizes.note, HasSubstr("256 MiB instead of 960 MiB"));
  EXPECT_THAT(sizes.note, ContainsRegex(": use "));
  sizes = bystander_sizes(kOfAHost, kGiB, 100 * kMiB, std::nullopt);
  EXPECT_EQ(sizes.llc_bytes, 100 * kMiB);
  EXPECT_THAT(sizes.note, HasSubstr("no more memory"));
  // Whoever says how much gets that.
  sizes = bystander_sizes(kOfAHost, kGiB, 100 * kMiB, 8 * kMiB);
  EXPECT_EQ(sizes.llc_bytes, 8 * kMiB);
  EXPECT_THAT(sizes.note, IsEmpty());
  // Next to nothing cleared is no reason for next to no set.
  EXPECT_EQ(bystander_sizes(kCaches, 4 * kKiB, kGiB, std::nullopt).llc_bytes, 64 * kKiB);
}

// Two cores of two threads each share a last-level cache; CPU 4 is elsewhere.
void make_machine(test::Root &root) {
  const char *const siblings[] = {"0,2", "1,3", "0,2", "1,3", "4"};
  for (int cpu = 0; cpu < 5; ++cpu) {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu);
    root.write(folder + "/topology/thread_siblings_list", std::string(siblings[cpu]) + "\n");
    root.write(folder + "/cache/index0/level", "1\n");
    root.write(folder + "/cache/index0/shared_cpu_list", std::string(siblings[cpu]) + "\n");
    root.write(folder + "/cache/index1/level", "3\n");
    root.write(folder + "/cache/index1/shared_cpu_list", cpu == 4 ? "4\n" : "0-3\n");
  }
}

TEST(Neighbours, AreOnAnotherCoreWithTheSameCache) {
  test::Root root;
  make_machine(root);
  EXPECT_EQ(find_neighbour(0, {0, 1, 2, 3, 4}, root.path()).cpu, 1);
  EXPECT_EQ(find_neighbour(1, {0, 1, 2, 3, 4}, root.path()).cpu, 0);
  EXPECT_THAT(find_neighbour(0, {0, 1, 2, 3, 4}, root.path()).title,
              "CPU 1: another core, the same last-level cache");
  EXPECT_THAT(find_neighbour(0, {0, 2, 4}, root.path()).title,
              "CPU 4: another core, another last-level cache");
  EXPECT_THAT(find_neighbour(0, {0, 2}, root.path()).title,
              "CPU 2: another thread of the same core");
  EXPECT_EQ(find_neighbour(0, {0}, root.path()).cpu, -1);
  EXPECT_EQ(find_neighbour(0, {}, root.path()).cpu, -1);
}

TEST(Neighbours, AreFoundWhereNobodyTells) {
  EXPECT_EQ(find_neighbour(0, {0, 1}, "/nonexistent").cpu, 1);
  // Of what it shares nothing is said then.
  EXPECT_EQ(find_neighbour(0, {0, 1}, "/nonexistent").title, "CPU 1: another CPU");
  EXPECT_EQ(find_neighbour(-1, {0, 1}).title, "CPU 0: another CPU");
  test::Root root;
  root.write("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,2\n");
  EXPECT_EQ(find_neighbour(0, {0, 1, 2}, root.path()).title, "CPU 1: another core");
  EXPECT_EQ(find_neighbour(0, {0, 2}, root.path()).title, "CPU 2: another thread of the same core");
}

Sample sample(Reread l2, Reread llc) {
  Sample s;
  s.bytes = kGiB;
  s.ns = 1e8;
  s.l2 = l2;
  s.llc = llc;
  return s;
}

TEST(BystanderCost, IsTheMedianOfTimesAsLong) {
  const std::vector<Sample> samples = {sample({10, 10}, {}), sample({10, 90}, {}),
                                       sample({20, 60}, {})};
  EXPECT_DOUBLE_EQ(slow_down(samples, &Sample::l2), 3);
  EXPECT_EQ(slow_down(samples, &Sample::llc), 0);
  EXPECT_EQ(slow_down({}, &Sample::l2), 0);
}

TEST(BystanderCost, IsThatOfSamplesWithoutOthersOnTheCpu) {
  std::vector<Sample> samples = {sample({10, 90}, {}), sample({10, 20}, {}), sample({10, 80}, {})};
  samples[0].preempted = samples[2].preempted = 1;
  EXPECT_DOUBLE_EQ(slow_down(samples, &Sample::l2), 2);
  samples[1].preempted = 3;
  EXPECT_DOUBLE_EQ(slow_down(samples, &Sample::l2), 8);
}

TEST(BystanderCost, TogetherIsTheGeometricMeanOfWhatWasMeasured) {
  EXPECT_DOUBLE_EQ((BystanderCost{4, 1, 0, 0}.together()), 2);
  EXPECT_DOUBLE_EQ((BystanderCost{2, 2, 2, 2}.together()), 2);
  // Noise on the right side is no virtue.
  EXPECT_DOUBLE_EQ((BystanderCost{0.5, 4, 0, 0}.together()), 2);
  EXPECT_EQ(BystanderCost{}.together(), 0);
}

TEST(BystanderTable, HasAColumnForEachAndADashForNone) {
  const BystanderRow row = {"a", "kernel a", {sample({10, 20}, {10, 40})}, {}, {}};
  const std::string text = render_bystanders({row, {"b", "never measured", {}, {}, {}}});
  EXPECT_THAT(text, ContainsRegex("kernel a +10\\.7 +2\\.00 +4\\.00 +- +- +2\\.83\n"));
  EXPECT_THAT(text, Not(HasSubstr("never measured")));
}

TEST(BystanderWarnings, AreOfCachesThatOthersUseOrThatAreNone) {
  const BystanderSizes sizes = {kMiB, 240 * kMiB, ""};
  const BystanderRow swept = {"a", "a", {sample({10, 20}, {10, 40})}, {}, {}};
  const BystanderRow untouched = {"a", "a", {sample({10, 20}, {10, 10})}, {}, {}};
  const BystanderRow quiet = {"nothing", "", {sample({10, 10}, {10, 10})}, {}, {}};
  const BystanderRow loud = {"nothing", "", {sample({10, 20}, {10, 10})}, {}, {}};
  EXPECT_THAT(bystander_warnings({swept, quiet}, "nothing", sizes, "do it"), IsEmpty());
  EXPECT_THAT(bystander_warnings({swept, loud}, "nothing", sizes, "do it"),
              ElementsAre(HasSubstr("others use these caches")));
  EXPECT_THAT(bystander_warnings({untouched, quiet}, "nothing", sizes, "do it"),
              ElementsAre(ContainsRegex("240 MiB .*: do it")));
}

TEST(WorkingSets, ArePassedOverAndOver) {
  WorkingSet set(100 * kKiB + 17);
  EXPECT_EQ(set.bytes(), 100 * kKiB);
  set.warm();
  EXPECT_GT(set.timed_pass_ns(), 0);
  EXPECT_EQ(WorkingSet(1).bytes(), WorkingSet::kChains * WorkingSet::kLine);
  // A window that is over already is still a figure.
  const std::atomic<bool> begun = true, ended = true;
  EXPECT_GT(set.pass_ns_between(begun, ended), 0);
}

TEST(BystanderSamples, HaveTheRateAndBothPasses) {
  std::vector<char> memory(kMiB, 1);
  const auto clear = [&] { std::memset(memory.data(), 0, memory.size()); };
  Bystanders bystanders({64 * kKiB, 256 * kKiB, ""}, 0);
  const Sample same = bystanders.same_thread(memory.size(), clear);
  EXPECT_EQ(same.bytes, memory.size());
  EXPECT_GT(same.ns, 0);
  for (const Reread &read : {same.l2, same.llc}) {
    EXPECT_GT(read.warm_ns, 0);
    EXPECT_GT(read.ns, 0);
  }
  const Sample l2 = bystanders.other_thread_l2(memory.size(), clear);
  EXPECT_GT(l2.l2.ns, 0);
  EXPECT_EQ(l2.llc.warm_ns, 0);
  const Sample llc = bystanders.other_thread_llc(memory.size(), clear);
  EXPECT_GT(llc.llc.ns, 0);
  EXPECT_EQ(llc.l2.warm_ns, 0);
  EXPECT_FALSE(Bystanders({64 * kKiB, 64 * kKiB, ""}, -1).has_other());
}

TEST(BystanderSamples, AReaderDoesNotOutliveWhatFails) {
  Bystanders bystanders({64 * kKiB, 64 * kKiB, ""}, 0);
  const auto fail = [] { throw std::runtime_error("no"); };
  EXPECT_THROW(bystanders.other_thread_l2(1, fail), std::runtime_error);
}

}  // namespace
}  // namespace hpz::bench
