// SPDX-License-Identifier: BSD-2-Clause
//
// What a fuzzing target does where the library is wrong: say it and abort, which libFuzzer reports.
#ifndef HPZERO_TESTS_FUZZ_REQUIRE_H
#define HPZERO_TESTS_FUZZ_REQUIRE_H

#include <stdio.h>
#include <stdlib.h>

#define HPZ_REQUIRE(condition)                                                \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                                \
    }                                                                         \
  } while (0)

#endif
