// SPDX-License-Identifier: BSD-2-Clause
//
// The command line.
#include "bench/options.h"

#include <gmock/gmock.h>

#include "bench/refusal.h"

namespace hpz::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Options, NothingIsTheDefaultRun) {
  const Options options = parse_options({});
  EXPECT_EQ(options.command, "run");
  EXPECT_THAT(options.sizes, IsEmpty());
  EXPECT_THAT(options.given, IsEmpty());
  EXPECT_FALSE(options.repetitions.has_value());
}

TEST(Options, ListsMayBeRepeatedAndSeparatedByCommas) {
  const Options options =
      parse_options({"run", "--kernel", "a,b", "--kernel=c", "--kernel", "a", "--size", "64KiB",
                     "--size=4KiB,64KiB", "--pages", "2m,4k", "--memory=cold,hot"});
  EXPECT_THAT(options.kernels, ElementsAre("a", "b", "c"));
  EXPECT_THAT(options.sizes, ElementsAre(4096, 65536));
  EXPECT_THAT(options.pages, ElementsAre(PageKind::k2m, PageKind::k4k));
  EXPECT_THAT(options.states, ElementsAre(MemoryState::kCold, MemoryState::kHot));
  EXPECT_THAT(options.given, ElementsAre("--kernel", "--size", "--pages", "--memory"));
}

TEST(Options, OperandsFollowTheCommand) {
  const Options options = parse_options({"explain", "2MiB"});
  EXPECT_EQ(options.command, "explain");
  EXPECT_THAT(options.operands, ElementsAre("2MiB"));
}

TEST(Options, Numbers) {
  const Options options = parse_options({"--repetitions", "7", "--seconds=2.5", "--set", "1GiB"});
  EXPECT_EQ(options.repetitions, 7);
  EXPECT_EQ(options.seconds, 2.5);
  EXPECT_EQ(options.set_bytes, uint64_t{1} << 30);
}

TEST(Options, ThreadsAscendAndCountOnce) {
  EXPECT_THAT(parse_options({"--threads", "4,1", "--threads=4,2"}).threads, ElementsAre(1, 2, 4));
}

TEST(Options, RefusesWithASentence) {
  const std::vector<std::vector<std::string_view>> wrong = {
      {"--nope"},           {"-z"},
      {"--size"},           {"--size="},
      {"--kernel", "a,,b"}, {"--kernel", ","},
      {"--help=yes"},       {"--seconds", "nan"},
      {"--seconds", "0"},   {"--seconds=inf"},
      {"--pages=16k"},      {"--memory=warm"},
      {"--threads", "0"},   {"--threads=-1"},
      {"--threads=99999"},  {"--threads=1,,2"},
      {"--threads=two"},    {"--repetitions=-1"},
      {"--repetitions=3x"}};
  for (const auto &arguments : wrong) {
    try {
      parse_options(arguments);
      ADD_FAILURE() << arguments[0] << " was accepted";
    } catch (const Refusal &refusal) {
      const std::string sentence = refusal.what();
      EXPECT_NE(sentence.find(": "), std::string::npos) << sentence;
      EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
    }
  }
}

}  // namespace
}  // namespace hpz::bench
