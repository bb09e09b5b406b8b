// SPDX-License-Identifier: BSD-2-Clause
//
// Where takers look on machines of one node and of several.
#include "lib/pool/passes.h"

#include <gtest/gtest.h>
#include <hpzero/pool.h>

#include <string>

namespace hpz::test {
namespace {

// "0:clean+dirty 1-2:clean": nodes of the order, and the kinds that are looked for there.
std::string plan(uint32_t flags, bool is_preferred, uint32_t nodes) {
  const Passes passes = plan_passes(flags, is_preferred, nodes);
  std::string text;
  for (uint32_t i = 0; i < passes.count; ++i) {
    const Pass &pass = passes.pass[i];
    text += (i == 0 ? "" : " ") + std::to_string(pass.begin);
    if (pass.end != pass.begin + 1) text += "-" + std::to_string(pass.end - 1);
    const char *separator = ":";
    const struct {
      unsigned kind;
      const char *name;
    } names[] = {{Pass::kClean, "clean"},
                 {Pass::kAny, "any"},
                 {Pass::kDirty, "dirty"},
                 {Pass::kBusy, "busy"}};
    for (const auto &[kind, name] : names) {
      if ((pass.kinds & kind) == 0) continue;
      text += std::string(separator) + name;
      separator = "+";
    }
  }
  return text;
}

TEST(Passes, one_node) {
  for (const bool is_preferred : {false, true}) {
    EXPECT_EQ(plan(0, is_preferred, 1), "0:clean+dirty+busy");
    EXPECT_EQ(plan(HPZ_TAKE_CLEAN_ONLY, is_preferred, 1), "0:clean");
    EXPECT_EQ(plan(HPZ_TAKE_ANY_CONTENT, is_preferred, 1), "0:any+dirty+busy");
    EXPECT_EQ(plan(HPZ_TAKE_ANY_CONTENT | HPZ_TAKE_CLEAN_ONLY, is_preferred, 1), "0:any");
  }
}

TEST(Passes, strict_is_one_node) {
  EXPECT_EQ(plan(HPZ_TAKE_STRICT, true, 3), "0:clean+dirty+busy");
  EXPECT_EQ(plan(HPZ_TAKE_STRICT | HPZ_TAKE_CLEAN_ONLY, true, 3), "0:clean");
  EXPECT_EQ(plan(HPZ_TAKE_STRICT | HPZ_TAKE_ANY_CONTENT, true, 3), "0:any+dirty+busy");
}

TEST(Passes, preferred_is_cleared_rather_than_left_for_another) {
  EXPECT_EQ(plan(0, true, 3), "0:clean+dirty 1-2:clean 1-2:dirty 0-2:busy");
  EXPECT_EQ(plan(HPZ_TAKE_CLEAN_ONLY, true, 3), "0:clean 1-2:clean");
  EXPECT_EQ(plan(HPZ_TAKE_ANY_CONTENT, true, 2), "0:any+dirty 1:any 1:dirty 0-1:busy");
}

TEST(Passes, any_node_has_clean_ones_first) {
  EXPECT_EQ(plan(0, false, 3), "0-2:clean 0-2:dirty 0-2:busy");
  EXPECT_EQ(plan(HPZ_TAKE_CLEAN_ONLY, false, 3), "0-2:clean");
  EXPECT_EQ(plan(HPZ_TAKE_ANY_CONTENT, false, 3), "0-2:any 0-2:dirty 0-2:busy");
}

}  // namespace
}  // namespace hpz::test
