// SPDX-License-Identifier: BSD-2-Clause
//
// A folder that stands for /, for code that reads /proc and /sys.
#ifndef HPZERO_TESTS_BENCH_ROOT_H
#define HPZERO_TESTS_BENCH_ROOT_H

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace hpz::bench::test {

class Root {
 public:
  Root() {
    std::string pattern = ::testing::TempDir() + "hpzero-root-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) abort();
    path_ = pattern;
  }
  ~Root() { std::filesystem::remove_all(path_); }
  Root(const Root &) = delete;
  Root &operator=(const Root &) = delete;

  void write(const std::string &name, const std::string &text) {
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void remove(const std::string &name) {
    std::filesystem::remove(std::filesystem::path(path_) / name);
  }
  const std::string &path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace hpz::bench::test

#endif
