// SPDX-License-Identifier: BSD-2-Clause
//
// A program that uses the library and nothing else, for tests that need a process of their own: one
// in which no call was made before, with another environment, stopped at each instruction, watched
// by ptrace, under an emulator. Its arguments are commands, done in order:
//
//   init init=PATH init-no-probe init-check-cpus   hpz_init
//   zero=LEN cached=LEN stream=LEN  the policies, on an odd address where LEN is odd
//   with=ID:LEN                     hpz_zero_with
//   pages=COUNT:BYTES               hpz_zero_pages
//   pages-with=ID:COUNT:BYTES       hpz_zero_pages_with
//   space=LEN                       hpz_space_zero on a space of that range, by this thread alone
//   is-zero=LEN                     hpz_is_zero on memory that is not, and on memory that is
//   plan kernels                    what the query functions say, as NAME=VALUE lines
//   mark                            a system call that nothing else makes: getppid
//   forbid-tsc                      from here on RDTSC is SIGSEGV
//   read-tsc                        reads the counter
//   forbid-threads                  from here on none can be created
//   on-signal=LEN                   SIGUSR1 clears LEN bytes by every call of zero.h
//   race=THREADS                    so many threads at once: hpz_zero, the plan, hpz_zero_stream
//   fork                            the commands behind it are done by a child and by the parent
//
// What was cleared is checked when all commands are done. Exit status 0; 2 a command is unknown; 3
// the memory is not as it should be; 4 a call's result is not as it should be.
#include <errno.h>
#include <hpzero/hpzero.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <vector>

namespace {

constexpr unsigned char kPoison = 0xA5;
constexpr size_t kMargin = 4096;

[[noreturn]] void fail(int status, const char *what) {
  fprintf(stderr, "subject: %s\n", what);
  _exit(status);
}

// Poisoned memory with poisoned margins; all of it resident, so that nothing faults later.
struct Arena {
  unsigned char *begin = nullptr;
  size_t len = 0;

  explicit Arena(size_t bytes) : len(bytes) {
    void *const map = mmap(nullptr, bytes + 2 * kMargin, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) fail(4, "no memory");
    memset(map, kPoison, bytes + 2 * kMargin);
    // Odd lengths at odd addresses: the edges are there, too.
    begin = static_cast<unsigned char *>(map) + kMargin - (bytes % 2 == 0 ? 0 : 17);
  }
  void check() const {
    for (size_t i = 0; i < len; ++i) {
      if (begin[i] != 0) fail(3, "not cleared");
    }
    for (size_t i = 1; i <= 64; ++i) {
      if (*(begin - i) != kPoison || begin[len - 1 + i] != kPoison) fail(3, "cleared too much");
    }
  }
};

struct Pages {
  std::vector<Arena> arenas;
  std::vector<void *> begins;

  Pages(size_t count, size_t bytes) {
    for (size_t i = 0; i < count; ++i) {
      arenas.emplace_back(bytes);
      begins.push_back(arenas.back().begin);
    }
  }
};

struct Command {
  std::string verb;
  std::vector<std::string> words;  // behind '=', between ':'
  std::vector<Arena> arena;
  std::vector<Pages> pages;

  explicit Command(const std::string &text) {
    const size_t equals = text.find('=');
    verb = text.substr(0, equals);
    if (equals == std::string::npos) return;
    for (size_t at = equals + 1;;) {
      const size_t colon = verb == "init" ? std::string::npos : text.find(':', at);
      words.push_back(text.substr(at, colon - at));
      if (colon == std::string::npos) break;
      at = colon + 1;
    }
  }
  size_t number(size_t index) const {
    if (index >= words.size()) fail(2, "a number is missing");
    return strtoull(words[index].c_str(), nullptr, 0);
  }
};

// --- Printing -----------------------------------------------------------------------------------

const char *or_none(const char *text) {
  return text != nullptr ? text : "";
}

void print_plan() {
  constexpr const char *kNames[] = {"auto", "cached", "stream"};
  hpz_plan_info plan = HPZ_PLAN_INFO_INIT;
  for (const hpz_policy policy : {HPZ_POLICY_CACHED, HPZ_POLICY_STREAM, HPZ_POLICY_AUTO}) {
    if (hpz_plan_info_get(policy, &plan) != 0) fail(4, "hpz_plan_info_get");
    printf("%s=", kNames[policy]);
    for (uint32_t i = 0; i < plan.bands; ++i) {
      if (plan.band[i].upto_bytes == UINT64_MAX) {
        printf("max:%s\n", plan.band[i].kernel);
      } else {
        printf("%llu:%s,", static_cast<unsigned long long>(plan.band[i].upto_bytes),
               plan.band[i].kernel);
      }
    }
  }
  printf("source=%s\nfeatures=%s\ncpu=%s\nprobe_from=%llu\nprobe_upto=%llu\nprobe_ticks=%llu\n",
         plan.source, plan.features, plan.cpu,
         static_cast<unsigned long long>(plan.probe_from_bytes),
         static_cast<unsigned long long>(plan.probe_upto_bytes),
         static_cast<unsigned long long>(plan.probe_ticks));
}

void print_kernels() {
  for (size_t i = 0; i < hpz_kernel_count(); ++i) {
    hpz_kernel_info info = HPZ_KERNEL_INFO_INIT;
    if (hpz_kernel_info_get(i, &info) != 0) fail(4, "hpz_kernel_info_get");
    printf("missing.%s=%s\navoided.%s=%s\n", info.id, or_none(info.missing), info.id,
           or_none(info.avoided));
  }
}

// --- In a signal handler ------------------------------------------------------------------------

Arena *g_signal_arena[4];
volatile sig_atomic_t g_signals = 0;

void handle_signal(int) {
  const int saved = errno;
  hpz_zero(g_signal_arena[0]->begin, g_signal_arena[0]->len);
  hpz_zero_cached(g_signal_arena[1]->begin, g_signal_arena[1]->len);
  void *page = g_signal_arena[2]->begin;
  hpz_zero_pages(&page, 1, g_signal_arena[2]->len);
  if (hpz_zero_with("word64", g_signal_arena[3]->begin, g_signal_arena[3]->len) != 0) _exit(4);
  if (hpz_is_zero(g_signal_arena[0]->begin, g_signal_arena[0]->len) != 1) _exit(3);
  g_signals = g_signals + 1;
  errno = saved;
}

void install_handler(size_t len) {
  for (Arena *&arena : g_signal_arena) arena = new Arena(len);
  struct sigaction action = {};
  action.sa_handler = handle_signal;
  if (sigaction(SIGUSR1, &action, nullptr) != 0) fail(4, "sigaction");
}

// --- Threads ------------------------------------------------------------------------------------

std::atomic<int> g_not_there{0};

void *race(void *) {
  const Arena first(200001), second(70000);
  g_not_there.fetch_sub(1);
  while (g_not_there.load() > 0) {
  }
  hpz_zero(first.begin, first.len);
  hpz_plan_info plan = HPZ_PLAN_INFO_INIT;
  if (hpz_plan_info_get(HPZ_POLICY_CACHED, &plan) != 0 || plan.bands == 0) fail(4, "plan");
  hpz_zero_stream(second.begin, second.len);
  first.check();
  second.check();
  return const_cast<char *>(plan.source);
}

void race_threads(size_t count) {
  std::vector<pthread_t> threads(count);
  g_not_there = static_cast<int>(count);
  for (pthread_t &thread : threads) {
    if (pthread_create(&thread, nullptr, race, nullptr) != 0) fail(4, "pthread_create");
  }
  const char *source = nullptr;
  for (const pthread_t thread : threads) {
    void *result;
    pthread_join(thread, &result);
    if (source != nullptr && strcmp(source, static_cast<char *>(result)) != 0) {
      fail(4, "threads see different plans");
    }
    source = static_cast<char *>(result);
  }
}

// As somebody whom the limit applies to.
void forbid_threads() {
  if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) fail(4, "setresuid");
  const rlimit none = {0, 0};
  if (setrlimit(RLIMIT_NPROC, &none) != 0) fail(4, "setrlimit");
  pthread_t thread;
  if (pthread_create(&thread, nullptr, race, nullptr) == 0) fail(4, "there are threads still");
}

void read_counter() {
#if defined(__x86_64__)
  asm volatile("rdtsc" : : : "rax", "rdx");
#elif defined(__aarch64__)
  asm volatile("mrs x0, cntvct_el0" : : : "x0");
#else
  fail(2, "no counter is known of this CPU");
#endif
}

// --- Commands -----------------------------------------------------------------------------------

// Memory first: what a command needs is there before any is done.
void prepare(Command &command) {
  const std::string &verb = command.verb;
  if (verb == "zero" || verb == "cached" || verb == "stream" || verb == "space") {
    command.arena.emplace_back(command.number(0));
  } else if (verb == "with") {
    command.arena.emplace_back(command.number(1));
  } else if (verb == "is-zero") {
    command.arena.emplace_back(command.number(0));
  } else if (verb == "pages") {
    command.pages.emplace_back(command.number(0), command.number(1));
  } else if (verb == "pages-with") {
    command.pages.emplace_back(command.number(1), command.number(2));
  } else if (verb == "on-signal") {
    install_handler(command.number(0));
  }
}

void init(const char *profile, uint32_t flags) {
  hpz_init_options options = HPZ_INIT_OPTIONS_INIT;
  options.profile = profile;
  options.flags = flags;
  printf("init=%d\n", hpz_init(&options));
}

int zero_as_space(void *begin, size_t len) {
  const hpz_range range = {begin, len};
  hpz_space *space = nullptr;
  int result = hpz_space_direct(&range, 1, nullptr, &space);
  if (result == 0) result = hpz_space_zero(space, nullptr, nullptr, 0, nullptr, nullptr);
  hpz_space_destroy(space);
  return result;
}

void execute(Command &command) {
  const std::string &verb = command.verb;
  int result = 0;
  if (verb == "zero") {
    hpz_zero(command.arena[0].begin, command.arena[0].len);
  } else if (verb == "cached") {
    hpz_zero_cached(command.arena[0].begin, command.arena[0].len);
  } else if (verb == "stream") {
    hpz_zero_stream(command.arena[0].begin, command.arena[0].len);
  } else if (verb == "with") {
    result = hpz_zero_with(command.words[0].c_str(), command.arena[0].begin, command.arena[0].len);
  } else if (verb == "pages") {
    hpz_zero_pages(command.pages[0].begins.data(), command.number(0), command.number(1));
  } else if (verb == "pages-with") {
    result = hpz_zero_pages_with(command.words[0].c_str(), command.pages[0].begins.data(),
                                 command.number(1), command.number(2));
  } else if (verb == "space") {
    result = zero_as_space(command.arena[0].begin, command.arena[0].len);
  } else if (verb == "is-zero") {
    result = hpz_is_zero(command.arena[0].begin, command.arena[0].len) == 0 ? 0 : 1;
    memset(command.arena[0].begin, 0, command.arena[0].len);
    if (hpz_is_zero(command.arena[0].begin, command.arena[0].len) != 1) result = 1;
  } else if (verb == "init") {
    init(command.words.empty() ? nullptr : command.words[0].c_str(), 0);
  } else if (verb == "init-no-probe") {
    init(nullptr, HPZ_INIT_NO_PROBE);
  } else if (verb == "init-check-cpus") {
    init(nullptr, HPZ_INIT_CHECK_CPUS);
  } else if (verb == "plan") {
    print_plan();
  } else if (verb == "kernels") {
    print_kernels();
  } else if (verb == "mark") {
    static_cast<void>(getppid());
  } else if (verb == "forbid-tsc") {
    result = prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
  } else if (verb == "read-tsc") {
    read_counter();
  } else if (verb == "forbid-threads") {
    forbid_threads();
  } else if (verb == "race") {
    race_threads(command.number(0));
  } else if (verb == "fork") {
    fflush(stdout);
    const pid_t child = fork();
    int status = 0;
    if (child > 0 && (waitpid(child, &status, 0) != child || status != 0)) fail(4, "child");
  } else if (verb != "on-signal") {
    fail(2, ("unknown command " + verb).c_str());
  }
  if (result != 0) fail(4, ("result of " + verb).c_str());
}

}  // namespace

int main(int argc, char **argv) {
  // A buffer of our own, so that printing makes no system call before the end.
  static char output[1 << 16];
  setvbuf(stdout, output, _IOFBF, sizeof output);
  std::vector<Command> commands(argv + 1, argv + argc);
  for (Command &command : commands) prepare(command);
  for (Command &command : commands) execute(command);
  for (const Command &command : commands) {
    for (const Arena &arena : command.arena) arena.check();
    for (const Pages &pages : command.pages) {
      for (const Arena &arena : pages.arenas) arena.check();
    }
  }
  if (g_signal_arena[0] != nullptr) {
    if (g_signals == 0) fail(4, "no signal came");
    for (const Arena *const arena : g_signal_arena) arena->check();
  }
  return fflush(stdout) == 0 ? 0 : 4;
}
