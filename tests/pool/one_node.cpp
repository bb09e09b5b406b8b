// SPDX-License-Identifier: BSD-2-Clause
//
// These tests count the pages of a pool as if it had one node. On a machine of several it is given
// one: to who sees no folder of nodes all memory is one's. (Pools of several nodes: tests/guest.)
#include <gtest/gtest.h>
#include <stdio.h>
#include <string.h>

#include <exception>
#include <string>

#include "tests/support/sandbox.h"

namespace hpz::test {
namespace {

constexpr const char *kNodes = "/sys/devices/system/node";

// By stdio: what an uninstrumented std::ifstream reads is uninitialised to MemorySanitizer.
bool has_several_nodes() {
  FILE *const file = fopen((std::string(kNodes) + "/has_memory").c_str(), "re");
  if (file == nullptr) return false;
  char list[256] = "";
  const bool is_read = fgets(list, sizeof list, file) != nullptr;
  fclose(file);
  return is_read && strpbrk(list, ",-") != nullptr;
}

class OneNode : public testing::EmptyTestEventListener {
 public:
  OneNode() {
    if (!has_several_nodes()) return;
    try {
      enter_own_mounts();
      hide_folder(kNodes);
    } catch (const std::exception &e) {
      why_not_ = e.what();
    }
  }
  void OnTestStart(const testing::TestInfo &) override {
    if (why_not_.empty()) return;
    GTEST_SKIP() << "NOT TESTED HERE: this machine has several nodes, and they cannot be hidden ("
                 << why_not_ << ")";
  }

 private:
  std::string why_not_;
};

// Before there is a thread, and before the library has looked.
const bool kIsThere = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new OneNode);
  return true;
}();

}  // namespace
}  // namespace hpz::test
