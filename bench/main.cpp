// SPDX-License-Identifier: BSD-2-Clause
//
// hpzero-bench: finds the subcommand, and turns what it throws into a sentence and an exit code.
#include <hpzero/hpzero.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "bench/cleanup.h"
#include "bench/experiments.h"
#include "bench/help.h"
#include "bench/printable.h"
#include "bench/refusal.h"

namespace hpz::bench {
namespace {

int run(const std::vector<std::string_view> &arguments) {
  const Options options = parse_options(arguments);
  if (options.wants_help) {
    const std::string text =
        options.has_command ? help_of(find_experiment(options.command)) : program_help();
    std::printf("%s", text.c_str());
    return kExitOk;
  }
  if (options.wants_version) {
    std::printf("hpzero-bench %s\n", hpz_version());
    return kExitOk;
  }
  const Experiment &experiment = find_experiment(options.command);
  check_options(experiment, options);
  install_cleanup_handler();
  return experiment.run(options);
}

// Else the next file that is opened is what standard output, or error, is written to.
void hold_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // Neither can be written to: that is still told by the exit code.
    if (open("/dev/null", O_RDONLY) < 0) _exit(kExitFailed);
  }
}

// Google Benchmark takes each of its flags from a variable, too, before main; some of them end the
// program, others break the rounds. Starts again without them.
void drop_foreign_settings(char **argv) {
  std::vector<std::string> names;
  for (char **variable = environ; *variable != nullptr; ++variable) {
    const std::string entry(*variable);
    if (entry.starts_with("BENCHMARK_")) names.push_back(entry.substr(0, entry.find('=')));
  }
  if (names.empty()) return;
  for (const std::string &name : names) unsetenv(name.c_str());
  execv("/proc/self/exe", argv);
  std::fprintf(stderr,
               "hpzero-bench: cannot start again without %s of the environment (%s): unset what "
               "begins with BENCHMARK_, or mount /proc\n",
               without_controls(names.front()).c_str(), std::strerror(errno));
  std::_Exit(kExitRefused);
}

}  // namespace
}  // namespace hpz::bench

int main(int argc, char **argv) {
  hpz::bench::hold_standard_descriptors();
  hpz::bench::drop_foreign_settings(argv);
  int code = hpz::bench::kExitFailed;
  try {
    code = hpz::bench::run({argv + std::min(argc, 1), argv + argc});
  } catch (const hpz::bench::Refusal &refusal) {
    std::fflush(stdout);
    std::fprintf(stderr, "hpzero-bench: %s\n",
                 hpz::bench::without_controls(refusal.what()).c_str());
    return hpz::bench::kExitRefused;
  } catch (const std::bad_alloc &) {
    std::fflush(stdout);
    std::fputs("hpzero-bench: out of memory: raise the limit on it (ulimit -v), or give less\n",
               stderr);
    return hpz::bench::kExitFailed;
  } catch (const std::exception &trouble) {
    std::fflush(stdout);
    std::fprintf(stderr, "hpzero-bench: %s\n",
                 hpz::bench::without_controls(trouble.what()).c_str());
    return hpz::bench::kExitFailed;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "hpzero-bench: cannot write to standard output\n");
    return hpz::bench::kExitFailed;
  }
  return code;
}
