// SPDX-License-Identifier: BSD-2-Clause
//
// GoogleTest's own main, and the check that a whole run has run every kernel it must.
#include <gtest/gtest.h>

#include "tests/conformance/clearer.h"

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::AddGlobalTestEnvironment(new hpz::test::RanEverything);  // GoogleTest deletes it
  return RUN_ALL_TESTS();
}
