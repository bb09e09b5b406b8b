// SPDX-License-Identifier: BSD-2-Clause
//
// System calls that are refused and folders that are empty, as in containers, under old kernels and
// in sandboxes: recipes R-SEC, R-OLD, R-PID and R-MSK of the field reports.
#ifndef HPZERO_TESTS_SUPPORT_SANDBOX_H
#define HPZERO_TESTS_SUPPORT_SANDBOX_H

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "tests/support/settings.h"

namespace hpz::test {

struct Refusal {
  long number;         // SYS_*
  int error;           // what it returns instead, as errno; 0: the process is killed
  int argument = -1;   // only where this argument (0 to 5)
  unsigned value = 0;  // ... has this value
};

// For Setting::prepare: of the child and what it executes. Throws where there is no seccomp.
void refuse(std::initializer_list<Refusal> refusals);

// Of this process with all its threads, from here on: any system call but these kills it. Throws as
// refuse does; then nothing has changed.
void allow_only(const std::vector<long> &numbers);

// A failure of the test if something fails in the child, which prints what; also if something is
// thrown there, or if it takes longer than a minute and a half.
void run_in_child(const std::function<void()> &body);

// For a child, or Setting::prepare: a mount namespace of its own; as an ordinary user, in a user
// namespace of its own. Throws where there is none to be had.
void enter_own_mounts();

// For who has entered: an empty folder over this one. Throws.
void hide_folder(const std::string &path);

// "" if a child can do both here; else what it could not do.
const std::string &why_no_namespaces();

// The one policy of tests that need them. Skipping is for who says so: a machine that silently has
// none would leave these tests out for good.
#define HPZERO_NEEDS_NAMESPACES()                                                            \
  do {                                                                                       \
    if (hpz::test::why_no_namespaces().empty()) break;                                       \
    if (hpz::test::is_set("HPZERO_TEST_NO_NAMESPACES")) {                                    \
      GTEST_SKIP() << "NOT TESTED HERE: HPZERO_TEST_NO_NAMESPACES says so";                  \
    }                                                                                        \
    FAIL() << "no mount namespace to be had here, neither as root nor by a user namespace (" \
           << hpz::test::why_no_namespaces()                                                 \
           << "); HPZERO_TEST_NO_NAMESPACES=1 says that this is known";                      \
  } while (false)

}  // namespace hpz::test

#endif
