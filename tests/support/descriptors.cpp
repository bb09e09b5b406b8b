// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hpz::test {

size_t open_descriptors() {
  size_t count = 0;
  DIR *const folder = opendir("/proc/self/fd");
  EXPECT_NE(folder, nullptr);
  if (folder == nullptr) return 0;
  while (const dirent *const entry = readdir(folder)) {
    if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(folder)) ++count;
  }
  closedir(folder);
  return count;
}

int next_descriptor() {
  return static_cast<int>(ShortTable::with_room_for(0));
}

ino_t file_of(int fd) {
  struct stat file = {};
  EXPECT_EQ(fstat(fd, &file), 0);
  return file.st_ino;
}

bool is_readable(int fd) {
  pollfd state = {fd, POLLIN, 0};
  return poll(&state, 1, 0) == 1;
}

ShortTable::ShortTable(rlim_t end) {
  EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
  const rlimit few = {end, before_.rlim_max};
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
}

ShortTable::~ShortTable() {
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0);
}

rlim_t ShortTable::with_room_for(size_t more) {
  int end = 0;
  for (size_t free = 0;; ++end) {
    if (fcntl(end, F_GETFD) < 0 && free++ == more) return static_cast<rlim_t>(end);
  }
}

}  // namespace hpz::test
