// SPDX-License-Identifier: BSD-2-Clause
//
// The threads of this process, by name, and what /proc says of them. By stdio: what an
// uninstrumented std::ifstream reads is uninitialised to MemorySanitizer.
#ifndef HPZERO_TESTS_POOL_THREADS_H
#define HPZERO_TESTS_POOL_THREADS_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>
#include <vector>

namespace hpz::test {

// A field of /proc/self/task/N/status; "" if the thread is gone.
inline std::string status_of(pid_t thread, const std::string &field) {
  char path[64], line[256] = {};
  snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
  FILE *const status = fopen(path, "re");
  std::string value;
  while (status != nullptr && value.empty() && fgets(line, sizeof line, status) != nullptr) {
    const std::string text = line;
    if (text.rfind(field + ":", 0) != 0) continue;
    const size_t from = text.find_first_not_of(" \t", field.size() + 1);
    value = text.substr(from, text.find('\n') - from);
  }
  if (status != nullptr) fclose(status);
  return value;
}

inline std::vector<pid_t> threads_named(const std::string &name) {
  std::vector<pid_t> threads;
  DIR *const folder = opendir("/proc/self/task");
  while (const dirent *const entry = readdir(folder)) {
    const int thread = atoi(entry->d_name);
    if (thread > 0 && status_of(thread, "Name") == name) threads.push_back(thread);
  }
  closedir(folder);
  return threads;
}

}  // namespace hpz::test

#endif
