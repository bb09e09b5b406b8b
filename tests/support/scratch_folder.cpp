// SPDX-License-Identifier: BSD-2-Clause
//
// By POSIX calls alone: the streams and file systems of the C++ library are not instrumented, which
// MemorySanitizer would report.
#include "tests/support/scratch_folder.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>

namespace hpz::test {
namespace {

int remove_one(const char *path, const struct stat *, int, struct FTW *) {
  remove(path);
  return 0;
}

std::string folder_for_temporary_files() {
  const char *const named = getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : "/tmp";
}

}  // namespace

ScratchFolder::ScratchFolder() : path_(folder_for_temporary_files() + "/hpzero_test_XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no folder " + path_);
}

ScratchFolder::~ScratchFolder() {
  nftw(path_.c_str(), remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

std::string ScratchFolder::write(const std::string &name, const std::string &content) const {
  for (size_t at = 0; (at = name.find('/', at)) != std::string::npos; ++at) {
    mkdir(path(name.substr(0, at)).c_str(), 0700);  // what keeps it from being there, open says
  }
  const int fd = open(path(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  size_t written = 0;
  while (fd >= 0 && written < content.size()) {
    const ssize_t now = ::write(fd, content.data() + written, content.size() - written);
    if (now <= 0) break;
    written += static_cast<size_t>(now);
  }
  if (fd < 0 || close(fd) != 0 || written < content.size()) {
    throw std::runtime_error("cannot write " + path(name));
  }
  return path(name);
}

std::string read_file(const std::string &path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string content;
  char buffer[4096];
  ssize_t got = -1;
  while (fd >= 0 && (got = read(fd, buffer, sizeof buffer)) > 0) {
    content.append(buffer, static_cast<size_t>(got));
  }
  if (fd >= 0) close(fd);
  if (got != 0) throw std::runtime_error("cannot read " + path);
  return content;
}

}  // namespace hpz::test
