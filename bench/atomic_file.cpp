// SPDX-License-Identifier: BSD-2-Clause
#include "bench/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "bench/cleanup.h"
#include "bench/refusal.h"

namespace hpz::bench {
namespace {

Refusal cannot_write(const std::string &path, std::string_view option, const char *why) {
  return Refusal("cannot write '" + path + "' (" + why + "): give " + std::string(option) +
                 " a file in a directory that you may write to");
}

}  // namespace

AtomicFile::AtomicFile(std::string path, std::string_view option) : path_(std::move(path)) {
  if (path_.empty()) throw cannot_write(path_, option, "it has no name");
  struct stat status;
  const bool is_there = stat(path_.c_str(), &status) == 0;
  if (!is_there && lstat(path_.c_str(), &status) == 0) {
    throw cannot_write(path_, option, "it is a link to nothing");
  }
  if (is_there) {
    if (S_ISDIR(status.st_mode)) throw cannot_write(path_, option, "it is a directory");
    if (!S_ISREG(status.st_mode)) {
      // /dev/stdout, a pipe: there is nothing to replace, and replacing /dev/null would be a crime.
      fd_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
      if (fd_ < 0) throw cannot_write(path_, option, std::strerror(errno));
      return;
    }
    // A link stays a link: what it points to is replaced.
    if (char *const resolved = realpath(path_.c_str(), nullptr)) {
      path_ = resolved;
      std::free(resolved);
    }
  }
  temporary_ = path_ + ".tmp" + std::to_string(getpid());
  note_ = note_temporary_file(temporary_);
  fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) {
    const int error = errno;
    forget(note_);
    note_ = -1;
    throw cannot_write(path_, option,
                       error == EEXIST ? "it is another output of this run" : std::strerror(error));
  }
  // Who may read it stays as it was; where that cannot be, as the system has it.
  if (is_there) fchmod(fd_, status.st_mode & 0777);
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) close(fd_);
  if (note_ >= 0) put_back(note_);
}

void AtomicFile::fail(const char *what) const {
  throw std::runtime_error(std::string("cannot ") + what + " '" + path_ +
                           "': " + std::strerror(errno));
}

void AtomicFile::commit(std::string_view content) {
  put(content);
  replace();
}

void AtomicFile::put(std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = write(fd_, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("write");
    content.remove_prefix(static_cast<size_t>(put));
  }
  if (!temporary_.empty() && fsync(fd_) != 0) fail("write");
  const int fd = fd_;
  fd_ = -1;
  if (close(fd) != 0) fail("write");
}

void AtomicFile::replace() {
  if (temporary_.empty()) return;
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail("replace");
  forget(note_);
  note_ = -1;
}

}  // namespace hpz::bench
