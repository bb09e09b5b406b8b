// SPDX-License-Identifier: BSD-2-Clause
#include "bench/calls.h"

#include <hpzero/hpzero.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "bench/clock.h"
#include "bench/sizes.h"
#include "bench/table.h"
#include "bench/threads.h"

namespace hpz::bench {
namespace {

using FutexWord = std::atomic<uint32_t>;
static_assert(sizeof(FutexWord) == sizeof(uint32_t) && FutexWord::is_always_lock_free);

void futex_wait(FutexWord &word, uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
void futex_wake(FutexWord &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// A thread that answers: the least that waking another one and being woken by it can cost.
class Echo {
 public:
  explicit Echo(int cpu)
      : thread_([this, cpu] {
          run_on(cpu);
          answer();
        }) {}
  ~Echo() {
    is_over_.store(true, std::memory_order_relaxed);
    ask_.fetch_add(1, std::memory_order_release);
    futex_wake(ask_);
    thread_.join();
  }
  Echo(const Echo &) = delete;
  Echo &operator=(const Echo &) = delete;

  void round_trip() {
    const uint32_t before = answer_.load(std::memory_order_relaxed);
    ask_.fetch_add(1, std::memory_order_release);
    futex_wake(ask_);
    while (answer_.load(std::memory_order_acquire) == before) futex_wait(answer_, before);
  }

 private:
  void answer() {
    for (uint32_t seen = 0;; ++seen) {
      while (ask_.load(std::memory_order_acquire) == seen) futex_wait(ask_, seen);
      if (is_over_.load(std::memory_order_relaxed)) return;
      answer_.fetch_add(1, std::memory_order_release);
      futex_wake(answer_);
    }
  }

  FutexWord ask_{0}, answer_{0};
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

// Round trips in one sample, one right after the other: whoever is woken was awake a moment ago, in
// all rows alike.
constexpr int kCallsEach = 21;

// The sample is the calls' median: one of them that another program interrupts takes a hundred
// times as long, and would be most of a sum.
template <class Call> Sample time_calls(Call call) {
  std::vector<double> ns;
  for (int i = 0; i < kCallsEach; ++i) {
    const uint64_t begin = now_ns();
    call();
    ns.push_back(static_cast<double>(now_ns_all_stored() - begin));
  }
  Sample sample;
  sample.ranges = sample.sections = 1;
  sample.ns = std::max(median(std::move(ns)), 1.0);
  return sample;
}

std::vector<double> us_per_call(const std::vector<Sample> &samples) {
  std::vector<double> values;
  values.reserve(samples.size());
  for (const Sample &sample : samples) values.push_back(ns_per_range(sample) / 1e3);
  return values;
}

Patience exactly(int rounds) {
  Patience patience;
  patience.min_rounds = patience.max_rounds = rounds;
  return patience;
}

void measure_create(JobBook &book, int rounds, CallFigures &figures) {
  std::vector<double> destroy_us;
  const auto create = [&] {
    Sample sample;
    const uint64_t begin = now_ns();
    auto crew = std::make_unique<Crew>(kCreatedThreads);
    const uint64_t created = now_ns();
    crew.reset();
    destroy_us.push_back(static_cast<double>(now_ns() - created) / 1e3);
    sample.ranges = sample.sections = 1;
    sample.ns = static_cast<double>(created - begin);
    return sample;
  };
  const std::string name = "team_create_" + std::to_string(kCreatedThreads) + "/call";
  figures.create_us =
      median(us_per_call(run_rounds(book.rounds(), {{name, create}}, exactly(rounds)).front()));
  figures.destroy_us = median(destroy_us);
}

void measure_wake(JobBook &book, const Crew &crew, const Arena &arena, int rounds,
                  CallFigures &figures) {
  const uint32_t workers = crew.info().threads;
  // The smallest job that is worth waking somebody for, in two chunks. To populate what is there
  // already is next to no work, so that what remains is the wake. The page size is given, because
  // finding it out reads /proc.
  constexpr uint64_t kJobBytes = kMiB, kChunkBytes = kJobBytes / 2;
  const Space space(arena.base(), kJobBytes, 4 * kKiB);
  const auto job = [&](const Verb &verb, hpz_team *team, uint32_t threads) {
    return [&, team, threads] {
      return time_calls([&] {
        time_job({&verb, space.get(), team, nullptr, threads, kChunkBytes});
      });
    };
  };
  // The one that is woken is on another CPU than the calling thread in both cases: where the kernel
  // would put it is chance, and more than all the rest.
  const CpuPair cpus;
  const std::string its_cpu = std::to_string(cpus.other());
  const Crew one(1, cpus.other() < 0 ? nullptr : its_cpu.c_str());
  Echo echo(cpus.other());
  run_on(cpus.here());
  enum { kFutex, kIdleAlone, kIdleOne, kSmallAlone, kSmallTeam, kIdleTwo };
  std::vector<Task> tasks = {
      {"futex_round_trip/call", [&] { return time_calls([&] { echo.round_trip(); }); }},
      {"idle_job_alone/call", job(kPopulateVerb, nullptr, 1)},
      {"idle_job_team_t1/call", job(kPopulateVerb, one.get(), 1)},
      {"small_zero_stream/call",
       [&] { return time_calls([&] { hpz_zero_stream(arena.base(), kJobBytes); }); }},
      {"small_zero_team/call", job(kZeroVerb, crew.get(), std::min(workers, 2u))},
  };
  if (workers >= 2) tasks.push_back({"idle_job_team_t2/call", job(kPopulateVerb, crew.get(), 2)});
  const auto samples = run_rounds(book.rounds(), tasks, exactly(rounds));

  const std::vector<double> futex = us_per_call(samples[kFutex]);
  const std::vector<double> alone = us_per_call(samples[kIdleAlone]);
  const auto beyond_the_work = [&](const std::vector<Sample> &team) {
    std::vector<double> values = us_per_call(team);
    for (size_t i = 0; i < values.size(); ++i) values[i] -= alone[i];
    return values;
  };
  const std::vector<double> wake = beyond_the_work(samples[kIdleOne]);
  std::vector<double> ratios;
  for (size_t i = 0; i < wake.size(); ++i) ratios.push_back(wake[i] / futex[i]);
  figures.futex_us = median(futex);
  figures.idle_job_us = median(alone);
  figures.wake_us = median(wake);
  figures.wake_by_futex = median(ratios);
  if (workers >= 2) figures.wake_two_us = median(beyond_the_work(samples[kIdleTwo]));
  figures.small_bytes = kJobBytes;
  figures.small_alone_us = median(us_per_call(samples[kSmallAlone]));
  figures.small_team_us = median(us_per_call(samples[kSmallTeam]));
}

void sleep_ns(uint64_t ns) {
  timespec t;
  t.tv_sec = static_cast<time_t>(ns / 1'000'000'000u);
  t.tv_nsec = static_cast<long>(ns % 1'000'000'000u);
  nanosleep(&t, nullptr);
}

void measure_cancel(JobBook &book, const Crew &crew, const Arena &arena, int rounds,
                    CallFigures &figures) {
  constexpr uint64_t kChunks = 16;
  constexpr uint64_t kUnit = 256 * kKiB;
  const uint64_t chunk = std::max(arena.bytes() / kChunks / kUnit * kUnit, kUnit);
  const uint32_t threads = crew.info().threads;
  const Space space(arena.base(), arena.bytes(), 4 * kKiB);
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.threads = threads;
  options.chunk_bytes = chunk;

  std::vector<double> latency_us, chunk_us, ratios;
  uint64_t moment = 0;
  const auto attempt = [&] {
    // What a chunk takes in that job, at this minute.
    const Sample whole = time_job({&kZeroVerb, space.get(), crew.get(), nullptr, threads, chunk});
    const double its_chunk_ns = whole.ns * static_cast<double>(chunk) *
                                static_cast<double>(std::max<uint64_t>(whole.threads, 1)) /
                                static_cast<double>(arena.bytes());
    FutexWord cancel{0};
    std::atomic<uint64_t> cancelled_ns{0};
    // Not always at the same place of a chunk: the golden section spreads the moments evenly.
    moment += 618;
    const double part = 0.2 + 0.5 * static_cast<double>(moment % 1000) / 1000;
    std::thread canceller([&] {
      sleep_ns(static_cast<uint64_t>(whole.ns * part));
      cancelled_ns.store(now_ns(), std::memory_order_relaxed);
      cancel.store(1, std::memory_order_release);
    });
    hpz_job_options own = options;
    own.cancel = reinterpret_cast<const uint32_t *>(&cancel);
    const int result = hpz_space_zero(space.get(), crew.get(), nullptr, 0, &own, nullptr);
    const uint64_t end = now_ns();
    canceller.join();
    Sample sample;
    sample.ranges = sample.sections = 1;
    if (result == -ECANCELED) {
      sample.ns = static_cast<double>(end - cancelled_ns.load(std::memory_order_relaxed));
      latency_us.push_back(sample.ns / 1e3);
      chunk_us.push_back(its_chunk_ns / 1e3);
      ratios.push_back(sample.ns / its_chunk_ns);
    } else if (result == 0) {
      sample.is_void = true;  // the work was over first: there is nothing to time
    } else {
      throw std::runtime_error(std::string("hpz_space_zero: ") + std::strerror(-result));
    }
    return sample;
  };
  run_rounds(book.rounds(), {{"cancel/call", attempt}}, exactly(rounds));
  figures.cancelled = static_cast<int>(ratios.size());
  figures.cancel_chunk_bytes = chunk;
  if (ratios.empty()) return;
  figures.cancel_us = median(latency_us);
  figures.cancel_most_us = *std::max_element(latency_us.begin(), latency_us.end());
  figures.chunk_us = median(chunk_us);
  figures.cancel_by_chunk = median(ratios);
}

}  // namespace

CallFigures measure_calls(JobBook &book, const Crew &crew, const Arena &arena, int rounds) {
  constexpr int kManyRounds = 41, kSomeRounds = 21;
  CallFigures figures;
  measure_create(book, rounds > 0 ? rounds : kManyRounds, figures);
  if (crew.info().threads == 0) return figures;  // nobody to be woken
  measure_wake(book, crew, arena, rounds > 0 ? rounds : kManyRounds, figures);
  measure_cancel(book, crew, arena, rounds > 0 ? rounds : kSomeRounds, figures);

  const auto keep = [&](const char *key, double value) { book.context(key, decimals(value, 3)); };
  keep("team_create_us", figures.create_us);
  keep("team_destroy_us", figures.destroy_us);
  keep("futex_round_trip_us", figures.futex_us);
  keep("wake_us", figures.wake_us);
  keep("wake_by_futex", figures.wake_by_futex);
  if (figures.cancelled > 0) {
    keep("cancel_us", figures.cancel_us);
    keep("cancel_most_us", figures.cancel_most_us);
    keep("cancel_chunk_us", figures.chunk_us);
    keep("cancel_by_chunk", figures.cancel_by_chunk);
  }
  return figures;
}

std::string render_calls(const CallFigures &figures, double first_create_us,
                         uint32_t first_threads) {
  TextTable table;
  const auto add = [&](const std::string &what, double us, const std::string &remark) {
    table.add_row({what, decimals(us, 1), remark});
  };
  table.add_row({"calls, us", "median", ""});
  add("hpz_team_create, " + std::to_string(first_threads) + " threads, the process's first",
      first_create_us, "once");
  const std::string eight = std::to_string(kCreatedThreads) + " threads";
  add("hpz_team_create, " + eight, figures.create_us, "");
  add("hpz_team_destroy, " + eight, figures.destroy_us, "");
  if (figures.futex_us > 0) {
    add("bare futex round trip", figures.futex_us, "");
    add("job without work, calling thread alone", figures.idle_job_us, "");
    add("waking one worker for it, beyond that", figures.wake_us,
        decimals(figures.wake_by_futex, 2) + " of a futex");
    if (figures.wake_two_us > 0) add("waking two, beyond that", figures.wake_two_us, "");
    const std::string small = format_size(figures.small_bytes);
    add("hpz_zero_stream of " + small, figures.small_alone_us, "");
    add("hpz_space_zero of " + small + " in two chunks, team", figures.small_team_us, "");
  }
  if (figures.cancelled > 0) {
    add("from *cancel to the return", figures.cancel_us,
        "most " + decimals(figures.cancel_most_us, 1));
    add("a chunk of " + format_size(figures.cancel_chunk_bytes) + " of that job", figures.chunk_us,
        decimals(figures.cancel_by_chunk, 2) + " of it");
  }
  return table.text();
}

}  // namespace hpz::bench
