// SPDX-License-Identifier: BSD-2-Clause
//
// One line on standard error that says what is being done, on a terminal only.
#ifndef HPZERO_BENCH_PROGRESS_H
#define HPZERO_BENCH_PROGRESS_H

#include <unistd.h>

#include <cstdio>
#include <string>

namespace hpz::bench {

class Progress {
 public:
  Progress() : is_terminal_(isatty(STDERR_FILENO) == 1) {}
  ~Progress() { show(""); }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  void show(const std::string &line) const {
    // Back to the first column, the line, and erase what was longer.
    if (is_terminal_) std::fprintf(stderr, "\r%.79s\033[K", line.c_str());
  }

 private:
  bool is_terminal_;
};

}  // namespace hpz::bench

#endif
