// SPDX-License-Identifier: BSD-2-Clause
//
// Files: a folder of a test's own that is gone when the test ends, and whole files read at once.
#ifndef HPZERO_TESTS_SUPPORT_SCRATCH_FOLDER_H
#define HPZERO_TESTS_SUPPORT_SCRATCH_FOLDER_H

#include <string>

namespace hpz::test {

class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;

  const std::string &path() const { return path_; }
  std::string path(const std::string &name) const { return path_ + '/' + name; }
  // Makes or replaces a file, and the folders that it is in ("a/b/c"); its path.
  std::string write(const std::string &name, const std::string &content) const;

 private:
  std::string path_;
};

// Throws where it cannot be read.
std::string read_file(const std::string &path);

}  // namespace hpz::test

#endif
