// SPDX-License-Identifier: BSD-2-Clause
#include "bench/tuned_memset.h"

#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "bench/experiment.h"
#include "bench/limits.h"
#include "bench/measure.h"
#include "bench/memory.h"
#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/walk.h"

namespace hpz::bench {
namespace {

// Memory of each process. Cold although it is not much: all other rows take their turns before it
// comes round.
constexpr uint64_t kSetBytes = 256 * kMiB;
constexpr uint64_t kLargestRange = 64 * kMiB;

constexpr const char *kCommand = "memset-samples";

// --- The process -------------------------------------------------------------------------------

// memset-samples PAGES, one of 'SIZE STATE' on standard input for each sample.
int take_samples(const Options &options) {
  hpz_init(nullptr);
  ArenaRequest request;
  request.kind = parse_page_kind(options.operands[0]);
  request.set_bytes = request.least_bytes = kSetBytes;
  request.is_asked_for = true;
  const Arena arena(request, [](uint64_t) {});
  Rounds rounds;
  const Meter meter(rounds);
  const Rows rows = make_rows({"memset"});
  std::optional<Walk> walk;
  Cell cell;
  SampleShape shape;
  std::printf("ready\n");
  std::fflush(stdout);
  char line[256];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    uint64_t size = 0;
    char state[32] = "";
    if (std::sscanf(line, "%" SCNu64 " %31s", &size, state) != 2) return kExitRefused;
    const Cell wanted = {arena.kind(), parse_state(state), size};
    if (!walk || wanted.size != cell.size || wanted.state != cell.state) {
      cell = wanted;
      shape = shape_sample(cell.state, cell.size, arena.bytes(), meter.caches());
      walk.emplace(arena.base(), arena.kind(), cell.state, cell.size, shape);
    }
    std::printf("%s\n", write_sample(meter.take(*rows[0], cell, *walk, shape)).c_str());
    std::fflush(stdout);
  }
  return kExitOk;
}

// --- Its other end -----------------------------------------------------------------------------

class Process {
 public:
  Process(const std::string &setting, PageKind pages) {
    // A socket for what it is asked: one whose other end is gone can be written to without SIGPIPE.
    int to[2], from[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, to) != 0) {
      throw std::runtime_error("cannot make a pair of sockets");
    }
    if (pipe2(from, O_CLOEXEC) != 0) {
      close(to[0]);
      close(to[1]);
      throw std::runtime_error("cannot make a pipe");
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    std::string kind(page_kind_id(pages)), command(kCommand), name("hpzero-bench");
    char *const arguments[] = {name.data(), command.data(), kind.data(), nullptr};
    std::string tunables = "GLIBC_TUNABLES=" + setting;
    std::vector<char *> environment{tunables.data()};
    for (char **variable = environ; *variable != nullptr; ++variable) {
      if (std::strncmp(*variable, "GLIBC_TUNABLES=", 15) != 0) environment.push_back(*variable);
    }
    environment.push_back(nullptr);
    const int error =
        posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments, environment.data());
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    questions_ = to[1];
    answers_ = fdopen(from[0], "r");
    if (error != 0) {
      pid_ = -1;
      finish();
      throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(error));
    }
  }
  ~Process() { finish(); }
  Process(const Process &) = delete;
  Process &operator=(const Process &) = delete;

  // The next line; nothing where the process has ended.
  std::optional<std::string> read() {
    char line[512];
    if (std::fgets(line, sizeof line, answers_) == nullptr) return std::nullopt;
    std::string text(line);
    if (text.ends_with('\n')) text.pop_back();
    return text;
  }
  void ask(const Cell &cell) {
    const std::string line =
        std::to_string(cell.size) + " " + std::string(state_id(cell.state)) + "\n";
    // Whoever does not get it does not answer.
    while (send(questions_, line.data(), line.size(), MSG_NOSIGNAL) < 0 && errno == EINTR) continue;
  }

 private:
  void finish() {
    // Its standard input ends, and with that it does.
    if (questions_ >= 0) close(questions_);
    if (answers_ != nullptr) std::fclose(answers_);
    questions_ = -1;
    answers_ = nullptr;
    while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
    pid_ = -1;
  }

  pid_t pid_ = -1;
  int questions_ = -1;
  std::FILE *answers_ = nullptr;
};

class TunedRow : public Row {
 public:
  explicit TunedRow(Tuning tuning)
      : Row(tuning.id, tuning.title, RowKind::kBaseline), setting_(tuning.setting) {}

  bool suits(const Cell &cell) const override {
    return cell.state != MemoryState::kFresh && cell.pages != PageKind::k1g &&
           cell.size <= kLargestRange;
  }
  bool ready(const Cell &cell) override {
    if (kind_ == cell.pages) return process_ != nullptr;
    kind_ = cell.pages;
    process_.reset();
    const std::string what = title() + " on " + std::string(page_kind_title(cell.pages));
    if (const std::string lack = lacks(cell.pages, kSetBytes); !lack.empty()) {
      trouble(what + ", for " + lack);
      return false;
    }
    process_ = std::make_unique<Process>(setting_, cell.pages);
    if (process_->read() == "ready") return true;
    process_.reset();
    trouble(what + ", for its own process had no memory: free some, or use other --pages");
    return false;
  }
  bool takes_own_samples() const override { return true; }
  Sample take_own(const Cell &cell) override {
    process_->ask(cell);
    Sample sample;
    const std::optional<std::string> line = process_->read();
    if (!line || !read_sample(*line, sample)) {
      throw std::runtime_error("the process of " + title() + " ended");
    }
    return sample;
  }
  void clear(const std::vector<void *> &, uint64_t) override {}

 private:
  std::string setting_;
  std::optional<PageKind> kind_;
  std::unique_ptr<Process> process_;
};

// The dynamic loader this program was started by; empty where it was not.
std::string loader_path() {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *to) {
        const std::string_view name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
        const size_t slash = name.rfind('/');
        const std::string_view file =
            slash == std::string_view::npos ? name : name.substr(slash + 1);
        if (!file.starts_with("ld-") && !file.starts_with("ld.so") && !file.starts_with("ld64")) {
          return 0;
        }
        *static_cast<std::string *>(to) = name;
        return 1;
      },
      &path);
  return path;
}

std::string list_of_tunables() {
  const std::string loader = loader_path();
  if (loader.empty() || loader.find('\'') != std::string::npos) return "";
  std::FILE *const child =
      popen(("exec '" + loader + "' --list-tunables 2>/dev/null").c_str(), "r");
  if (child == nullptr) return "";
  std::string text;
  char line[512];
  while (std::fgets(line, sizeof line, child) != nullptr) text += line;
  return pclose(child) == 0 ? text : "";
}

}  // namespace

Tunings find_tunings(std::string_view list) {
  const auto has = [&](std::string_view name) {
    return list.find(std::string(name) + ":") != std::string_view::npos;
  };
  Tunings tunings;
  constexpr std::string_view kStosb = "glibc.cpu.x86_rep_stosb_threshold";
  if (has(kStosb)) {
    // More than anybody clears: vector stores of every length.
    tunings.all.push_back({"memset_no_stosb", "memset, tuned: no REP STOSB",
                           std::string(kStosb) + "=0x4000000000000000"});
  } else {
    tunings.notes.push_back(
        "not measured: memset with tunables, for this C library lists none of "
        "its memset: use glibc 2.33 or newer on x86-64");
    return tunings;
  }
  // Since glibc 2.40 its memset streams at all, and has a threshold of its own for that.
  constexpr std::string_view kStream = "glibc.cpu.x86_memset_non_temporal_threshold";
  if (has(kStream)) {
    tunings.all.push_back(
        {"memset_stream", "memset, tuned: streams from 64KiB", std::string(kStream) + "=0x10000"});
  } else {
    tunings.notes.push_back(
        "not measured: memset tuned to stream, for the one of this C library "
        "never does (x86_non_temporal_threshold is of its memcpy): use glibc "
        "2.40 or newer");
  }
  return tunings;
}

TunedMemsets make_tuned_memsets() {
  Tunings tunings = find_tunings(list_of_tunables());
  TunedMemsets memsets;
  memsets.notes = std::move(tunings.notes);
  for (Tuning &tuning : tunings.all) {
    memsets.rows.push_back(std::make_unique<TunedRow>(std::move(tuning)));
  }
  return memsets;
}

std::string write_sample(const Sample &sample) {
  char text[256];
  std::snprintf(text, sizeof text,
                "%" PRIu64 " %.3f %" PRIu64 " %" PRIu64 " %.3f %" PRIu64 " %" PRIu64, sample.bytes,
                sample.ns, sample.ranges, sample.sections, sample.clock_ns, sample.faults,
                sample.preempted);
  return text;
}

bool read_sample(const std::string &line, Sample &sample) {
  Sample read;
  int end = 0;
  if (std::sscanf(line.c_str(),
                  "%" SCNu64 " %lf %" SCNu64 " %" SCNu64 " %lf %" SCNu64 " %" SCNu64 "%n",
                  &read.bytes, &read.ns, &read.ranges, &read.sections, &read.clock_ns, &read.faults,
                  &read.preempted, &end) != 7 ||
      static_cast<size_t>(end) != line.size() || !(read.ns > 0)) {
    return false;
  }
  sample = read;
  return true;
}

const Experiment kMemsetSamples = {kCommand, "PAGES", "", 1, "", "", take_samples};

}  // namespace hpz::bench
