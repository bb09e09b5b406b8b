// SPDX-License-Identifier: BSD-2-Clause
//
// Files of --json: read as they were written, and whatever else may lie there is refused in a
// sentence.
#include "bench/results_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <random>

#include "bench/json_schema.h"
#include "bench/refusal.h"
#include "bench/rounds.h"
#include "bench/sizes.h"
#include "tests/bench/recorded.h"
#include "tests/bench/root.h"
#include "tests/support/settings.h"

namespace hpz::bench {
namespace {

using test::changed;
using test::entry;
using test::Keys;
using test::results_text;
using test::Root;
using test::usual_context;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr const char *kName = "memset/4KiB/cold/2m";

// Why the text is refused, the form of the sentence checked; nothing if it is not.
std::optional<std::string> refusal(const std::string &text) {
  try {
    const ResultsFile file = parse_results(text, "a.json");
    EXPECT_FALSE(file.tasks.empty());
    for (const RecordedTask &task : file.tasks) {
      EXPECT_FALSE(task.samples.empty());
      EXPECT_EQ(file.find(task.name), &task);
      for (const RecordedSample &recorded : task.samples) EXPECT_GT(recorded.sample.ns, 0);
    }
    return std::nullopt;
  } catch (const Refusal &refused) {
    const std::string why = refused.what();
    // Which file, what is wrong, a colon, what to do; nothing that a terminal would obey.
    EXPECT_THAT(why, MatchesRegex("'a.json' .+: .+"));
    EXPECT_LT(why.size(), 400u);
    EXPECT_TRUE(std::all_of(why.begin(), why.end(), [](char c) { return c >= ' ' && c <= '~'; }))
        << why;
    return why;
  }
}

std::string reason(const std::string &text) {
  return refusal(text).value_or("not refused");
}

std::string reason_of_entry(const Keys &changes) {
  return reason(results_text({entry(kName, 0, changes), entry(kName, 1)}));
}

std::string reason_of_context(const Keys &changes) {
  return reason(results_text({entry(kName, 0)}, usual_context(changes)));
}

TEST(ResultsFile, ReadsWhatIsThere) {
  const ResultsFile file = parse_results(
      results_text(
          {entry("team_t2/1GiB/touched/2m@node1", 0,
                 {{"threads_worked", "2.0"}, {"cpu_ns", "1900"}, {"hits", "12.5"}, {"visit", ""}}),
           entry(kName, 4), entry(kName, 2, {{"page_faults", "3"}}), entry("wake/call", 0)},
          usual_context({{"linux", R"("6.1\u001b[2J \u00e9")"}, {"steady", "true"}})),
      "a.json");
  EXPECT_EQ(file.path, "a.json");
  EXPECT_EQ(file.context_value("num_cpus"), "2");
  EXPECT_EQ(file.context_value("linux"), "6.1?[2J ??");
  EXPECT_EQ(file.context_value("steady"), "true");
  EXPECT_EQ(file.context_value("caches"), "");
  ASSERT_THAT(file.tasks, SizeIs(3));

  const RecordedTask &team = file.tasks[0];
  EXPECT_EQ(team.row, "team_t2");
  EXPECT_EQ(team.size, "1GiB");
  EXPECT_EQ(team.size_bytes, kGiB);
  EXPECT_EQ(team.state, "touched");
  EXPECT_EQ(team.pages, "2m@node1");
  const Sample &sample = team.samples[0].sample;
  EXPECT_EQ(team.samples[0].visit, 0u);
  EXPECT_EQ(sample.bytes, 16384u);
  EXPECT_EQ(sample.ns, 1000);
  EXPECT_EQ(sample.clock_ns, 20);
  EXPECT_EQ(sample.ranges, 4u);
  EXPECT_EQ(sample.sections, 1u);
  EXPECT_EQ(sample.threads, 2u);
  EXPECT_EQ(sample.cpu_ns, 1900u);
  EXPECT_THAT(team.samples[0].sample.more, ElementsAre(Pair("hits", 12.5)));

  const RecordedTask *const cold = file.find(kName);
  ASSERT_NE(cold, nullptr);
  ASSERT_THAT(cold->samples, SizeIs(2));
  EXPECT_EQ(cold->samples[0].round, 2u);
  EXPECT_EQ(cold->samples[0].sample.faults, 3u);
  EXPECT_EQ(cold->samples[0].sample.threads, 0u);
  EXPECT_EQ(cold->samples[1].round, 4u);
  EXPECT_THAT(cold->plain_samples(), SizeIs(2));

  const RecordedTask *const call = file.find("wake/call");
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->state, "call");
  EXPECT_EQ(call->size_bytes, 0u);
  EXPECT_EQ(file.find("nosuch"), nullptr);
}

// All fields, there and back through Google Benchmark's writer, which the table is for. (The
// context may be that of another test of this process, too.)
TEST(ResultsFile, IsWhatRoundsWrite) {
  Rounds rounds;
  rounds.begin_tasks();
  Sample sample;
  uint64_t next = 1000;
  for (const SampleField &field : kSampleFields) {
    field.set_value(sample, static_cast<double>(++next) + (field.count != nullptr ? 0 : 0.25));
  }
  for (int round = 0; round < 3; ++round) {
    if (round == 2) rounds.begin_tasks();  // and come again
    rounds.run_round({{kName, [&] { return sample; }}, {"wake/call", [] {
                                                          Sample call;
                                                          call.ns = 1;
                                                          return call;
                                                        }}});
  }
  rounds.add_context("linux", "6.1");
  const ResultsFile file = parse_results(rounds.json("parallel"), "a.json");
  EXPECT_EQ(file.context_value(kSchemaKey), std::to_string(kJsonSchema));
  EXPECT_EQ(file.context_value(kCommandKey), "parallel");
  EXPECT_EQ(file.context_value(kClockKey), kClock);
  EXPECT_THAT(file.context_value(kBuildKey), HasSubstr(", "));
  EXPECT_EQ(file.context_value("linux"), "6.1");
  const RecordedTask *const task = file.find(kName);
  ASSERT_NE(task, nullptr);
  ASSERT_THAT(task->samples, SizeIs(3));
  for (size_t round = 0; round < 3; ++round) {
    EXPECT_EQ(task->samples[round].round, round);
    EXPECT_EQ(task->samples[round].visit, round < 2 ? 0u : 1u);
    EXPECT_THAT(task->samples[round].sample.more, IsEmpty());
    for (const SampleField &field : kSampleFields) {
      EXPECT_EQ(field.value(task->samples[round].sample), field.value(sample)) << field.name;
    }
  }
  ASSERT_NE(file.find("wake/call"), nullptr);
  EXPECT_EQ(file.find("wake/call")->samples[0].sample.threads, 0u);
  EXPECT_EQ(file.find("wake/call")->samples[0].sample.llc.warm_ns, 0);
}

TEST(ResultsFile, WhatIsNoneOfIts) {
  for (const char *text : {"{}", "[]", "1", "null", "\"context\"", R"({"context": {}})",
                           R"({"benchmarks": []})", R"({"context": [], "benchmarks": []})",
                           R"({"context": {}, "benchmarks": {}})", "[{\"context\": {}}]"}) {
    EXPECT_THAT(reason(text), HasSubstr("none of hpzero-bench")) << text;
  }
  EXPECT_THAT(reason(""), HasSubstr("is empty"));
  EXPECT_THAT(reason(R"({"commit": "x", "runs": [{"context": {}}]})"),
              HasSubstr("collection by tools/measure"));
  EXPECT_THAT(reason_of_context({{"hpzero_schema", ""}, {"hpzero_version", ""}}),
              HasSubstr("of another program"));
  EXPECT_THAT(reason(results_text({})), HasSubstr("no samples"));
}

TEST(ResultsFile, OtherSchemas) {
  EXPECT_THAT(reason_of_context({{"hpzero_schema", ""}}), HasSubstr("before the schema"));
  EXPECT_THAT(reason_of_context({{"hpzero_schema", "\"0\""}}), HasSubstr("measure again"));
  EXPECT_THAT(reason_of_context({{"hpzero_schema", "\"two\""}}), HasSubstr("no number"));
  EXPECT_THAT(reason_of_context({{"hpzero_schema", "\"1.0\""}}), HasSubstr("no number"));
  EXPECT_THAT(reason_of_context({{"hpzero_schema", "\"-1\""}}), HasSubstr("no number"));
  EXPECT_THAT(reason_of_context({{"hpzero_schema", "[1]"}}), HasSubstr("before the schema"));
  EXPECT_THAT(reason_of_context({{"hpzero_schema", "\"99999999999999999999\""}}),
              HasSubstr("no number"));
  const std::string newer = "\"" + std::to_string(kJsonSchema + 1) + "\"";
  EXPECT_THAT(reason_of_context({{"hpzero_schema", newer}}),
              HasSubstr("use the hpzero-bench that wrote it"));
  // That samples are not what they were is what the other number means.
  EXPECT_THAT(reason(results_text({entry(kName, 0, {{"ns", ""}})},
                                  usual_context({{"hpzero_schema", newer}}))),
              HasSubstr("use the hpzero-bench that wrote it"));
}

TEST(ResultsFile, SamplesThatAreNone) {
  for (const char *key :
       {"ns", "bytes", "ranges", "sections", "subtracted_clock_ns", "page_faults", "preempted"}) {
    EXPECT_THAT(reason_of_entry({{key, ""}}), HasSubstr(std::string("without ") + key));
    for (const char *value : {"\"1\"", "null", "true", "[1]", "{\"n\": 1}"}) {
      EXPECT_THAT(reason_of_entry({{key, value}}), HasSubstr("no number")) << key << value;
    }
    EXPECT_THAT(reason_of_entry({{key, "-1"}}), HasSubstr("that is no ")) << key;
    EXPECT_THAT(reason_of_entry({{key, "1e300"}}), HasSubstr("that is no ")) << key;
  }
  for (const char *key : {"bytes", "ranges", "sections", "page_faults", "preempted"}) {
    EXPECT_THAT(reason_of_entry({{key, "1.5"}}), HasSubstr("no count")) << key;
    EXPECT_THAT(reason_of_entry({{key, "18446744073709551615"}}), HasSubstr("no count")) << key;
  }
  EXPECT_THAT(reason_of_entry({{"ns", "0"}, {"real_time", "0"}}), HasSubstr("took no time"));
  // So little that rates and their ratios were no numbers.
  for (const char *value : {"1e-310", "9e-7"}) {
    EXPECT_THAT(reason_of_entry({{"ns", value}, {"real_time", "0"}}), HasSubstr("took no time"));
    for (const SampleField &field : kSampleFields) {
      if (field.set == nullptr) continue;
      EXPECT_THAT(reason_of_entry({{std::string(field.name), value}}), HasSubstr("that is no time"))
          << field.name;
    }
  }
  EXPECT_EQ(reason_of_entry({{"ns", "1e-6"}, {"real_time", "1e-6"}, {"l2_pass_ns", "0"}}),
            "not refused");
  EXPECT_THAT(reason_of_entry({{"real_time", "1"}}), HasSubstr("differ"));
  EXPECT_THAT(reason_of_entry({{"time_unit", "\"us\""}}), HasSubstr("'us' and not in ns"));
  EXPECT_THAT(reason_of_entry({{"run_type", "\"aggregate\""}}), HasSubstr("computed"));
  EXPECT_THAT(reason_of_entry({{"error_occurred", "true"}}), HasSubstr("failed"));
  EXPECT_THAT(reason_of_entry({{"repetition_index", ""}}), HasSubstr("no count"));
  EXPECT_THAT(reason_of_entry({{"repetition_index", "-1"}}), HasSubstr("no count"));
  EXPECT_EQ(reason_of_entry({{"visit", ""}}), "not refused");
  EXPECT_THAT(reason_of_entry({{"visit", "0.5"}}), HasSubstr("whose visit is no count"));
  EXPECT_THAT(reason_of_entry({{"repetition_index", "1"}}),
              HasSubstr("two samples of 'memset/4KiB/cold/2m' in round 1"));
  EXPECT_THAT(reason_of_entry({{"a b", "1"}}), HasSubstr("has no name"));
  EXPECT_THAT(reason(R"({"context": {}, "benchmarks": [1]})"), HasSubstr("of another program"));
  const std::string context = test::object(usual_context());
  for (const char *list : {"[1]", "[[]]", "[null]", "[\"x\"]"}) {
    EXPECT_THAT(reason(R"({"context": )" + context + R"(, "benchmarks": )" + list + "}"),
                HasSubstr("among its benchmarks"))
        << list;
  }
}

TEST(ResultsFile, NamesThatAreNone) {
  EXPECT_THAT(reason_of_entry({{"name", ""}}), HasSubstr("has no name"));
  EXPECT_THAT(reason_of_entry({{"name", "7"}}), HasSubstr("no text"));
  for (const char *name : {"", "memset", "a/b/c", "a/1B/c/d/e", "/1B/c/d", "a/1B/c/", "a/4K/c/d",
                           "a/1/c/d", "a b/1B/c/d", "a/1B/c/d\\u001b[31m", "\\u00e9/1B/c/d"}) {
    EXPECT_THAT(reason_of_entry({{"name", "\"" + std::string(name) + "\""}}),
                HasSubstr("a sample named '"))
        << name;
  }
  EXPECT_THAT(reason_of_entry({{"name", "\"" + std::string(100'000, 'a') + "/1B/c/d\""}}),
              HasSubstr("a..."));
}

TEST(ResultsFile, KeysThatAreThereTwice) {
  const std::string context = test::object(usual_context());
  const std::string list = "[" + test::object(entry(kName, 0)) + "]";
  const auto file = [](const std::string &inside) { return "{" + inside + "}"; };
  const std::string both = "\"context\": " + context + ", \"benchmarks\": " + list;
  EXPECT_EQ(refusal(file(both)), std::nullopt);
  EXPECT_THAT(reason(file(both + ", \"context\": {}")), HasSubstr("second context"));
  EXPECT_THAT(reason(file(both + ", \"benchmarks\": []")), HasSubstr("second list"));
  Keys twice = entry(kName, 0);
  twice.emplace_back("ns", "5");
  EXPECT_THAT(reason(results_text({twice})), HasSubstr("'ns' twice"));
  twice = changed(entry(kName, 0), {{"hits", "1"}});
  twice.emplace_back("hits", "2");
  EXPECT_THAT(reason(results_text({twice})), HasSubstr("'hits' twice"));
  twice = usual_context();
  twice.emplace_back("hpzero_version", "\"9\"");
  EXPECT_THAT(reason(results_text({entry(kName, 0)}, twice)), HasSubstr("twice"));
}

TEST(ResultsFile, TextThatIsNoJson) {
  const std::string good = results_text({entry(kName, 0)});
  EXPECT_EQ(refusal(good), std::nullopt);
  EXPECT_EQ(refusal("\n " + good + "\n\n"), std::nullopt);
  for (const char *value : {"NaN", "nan", "Infinity", "inf", "-", "1.", "01", "0x10", "1e", "+1"}) {
    EXPECT_THAT(reason_of_entry({{"ns", value}}), HasSubstr("cut off or damaged")) << value;
  }
  EXPECT_THAT(reason_of_entry({{"ns", "1e999"}}), HasSubstr("out of range"));
  EXPECT_THAT(reason_of_entry({{"other", "-1e999"}}), HasSubstr("out of range"));
  EXPECT_EQ(refusal(results_text({entry(kName, 0, {{"bytes", std::string(5000, '0') + "1"}})}))
                .has_value(),
            true);
  EXPECT_THAT(reason(good + "{}"), HasSubstr("damaged"));
  EXPECT_THAT(reason(good + std::string(1, '\0')), HasSubstr("damaged"));
  EXPECT_THAT(reason("\x7f"
                     "ELF"),
              HasSubstr("damaged"));
  EXPECT_THAT(reason("{\"context\": {\"a\": \"\xff\xfe\"}}"), HasSubstr("damaged"));
}

TEST(ResultsFile, BracketsWithoutEnd) {
  for (const char *text : {"[", "{\"context\":", "{\"benchmarks\":[{\"more\":", "{\"a\":["}) {
    std::string deep;
    while (deep.size() < 1 << 20) deep += text;
    EXPECT_THAT(reason(deep), HasSubstr("nested deeper")) << text;
  }
}

TEST(ResultsFile, CutOffAnywhere) {
  const std::string good = results_text({entry(kName, 0), entry(kName, 1), entry("wake/call", 0)});
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_THAT(refusal(good.substr(0, size)), ::testing::Optional(HasSubstr(": "))) << size;
  }
}

// Whatever a byte is turned into: read, or refused in a sentence.
TEST(ResultsFile, DamagedAnywhere) {
  const std::string good = results_text({entry(kName, 0), entry(kName, 1), entry("wake/call", 0)});
  constexpr std::string_view kBytes("\0\"\\{}[],:0-e.nt/ \x1b\x80\xff", 20);
  const size_t step = hpz::test::quick() ? 7 : 1;
  size_t tried = 0, refused = 0;
  for (size_t at = 0; at < good.size(); at += step) {
    for (const char byte : kBytes) {
      std::string bad = good;
      bad[at] = byte;
      ++tried;
      refused += refusal(bad).has_value() ? 1u : 0u;
    }
  }
  EXPECT_GT(refused, tried / 2);
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string bad = good;
    const size_t from = random() % bad.size();
    const size_t size = random() % 60;
    if (random() % 2 == 0) {
      bad.erase(from, size);
    } else {
      bad.insert(random() % bad.size(), good.substr(from, size));
    }
    (void)refusal(bad);
  }
}

std::string reason_of_path(const std::string &path) {
  try {
    (void)read_results(path);
  } catch (const Refusal &refused) {
    EXPECT_THAT(refused.what(), MatchesRegex(".+: .+"));
    return refused.what();
  }
  return "not refused";
}

TEST(ResultsFile, PathsOfAllKinds) {
  Root folder;
  folder.write("good.json", results_text({entry(kName, 0)}));
  EXPECT_THAT(read_results(folder.path() + "/good.json").tasks, SizeIs(1));
  EXPECT_THAT(reason_of_path(folder.path() + "/nosuch.json"), HasSubstr("No such file"));
  EXPECT_THAT(reason_of_path(folder.path()), HasSubstr("no regular file"));
  EXPECT_THAT(reason_of_path("/dev/zero"), HasSubstr("no regular file"));
  EXPECT_THAT(reason_of_path(""), HasSubstr("No such file"));
  // Nobody ever writes to it: whoever opened it as a file would wait.
  const std::string fifo = folder.path() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(reason_of_path(fifo), HasSubstr("no regular file"));
  folder.write("empty.json", "");
  EXPECT_THAT(reason_of_path(folder.path() + "/empty.json"), HasSubstr("is empty"));
  // Holes: nothing of it is read.
  folder.write("large.json", "{");
  const std::string large = folder.path() + "/large.json";
  ASSERT_EQ(truncate(large.c_str(), static_cast<off_t>(kMostResultsBytes) + 1), 0);
  EXPECT_THAT(reason_of_path(large), HasSubstr("larger than 256MiB"));
}

}  // namespace
}  // namespace hpz::bench
