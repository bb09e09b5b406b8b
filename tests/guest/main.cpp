// SPDX-License-Identifier: BSD-2-Clause
//
// The guest's test program: it fails if it looked at fewer pages than it was built to, so that
// nothing passes by not running. boot.py counts again.
#include <gtest/gtest.h>
#include <stdio.h>

#include "tests/guest/pages.h"

int main(int count, char **arguments) {
  testing::InitGoogleTest(&count, arguments);
  const int result = RUN_ALL_TESTS();
  const size_t checked = hpz::test::checked_so_far();
  printf("GUEST: checked %zu pages, expected %d\n", checked, HPZERO_GUEST_PAGES);
  return result != 0 || checked < HPZERO_GUEST_PAGES ? 1 : 0;
}
