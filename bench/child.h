// SPDX-License-Identifier: BSD-2-Clause
//
// A program started, given its input, and listened to until it ends. It ends with this one, also
// where that is killed; nothing of what it says touches a file.
#ifndef HPZERO_BENCH_CHILD_H
#define HPZERO_BENCH_CHILD_H

#include <string>
#include <string_view>
#include <vector>

namespace hpz::bench {

struct ChildRequest {
  std::vector<std::string> arguments;  // the program first: a path, or a name to look for
  std::string_view input;              // its standard input
  double seconds = 0;              // after which it is asked to end (SIGTERM), and later made to
  bool has_results = false;        // it writes to kResultsPath, too
  std::vector<std::string> unset;  // beginnings of variables that it is not to see
};

// A pipe: there is nothing to remove afterwards.
inline constexpr const char *kResultsPath = "/dev/fd/3";

struct ChildEnd {
  bool is_missing = false;  // there is no such program
  bool is_late = false;     // it was asked to end
  int code = 0;             // exit code; -1: a signal ended it
  std::string output, errors, results;
};

// Throws std::runtime_error where the system refuses.
ChildEnd run_child(const ChildRequest &request);

}  // namespace hpz::bench

#endif
