// SPDX-License-Identifier: BSD-2-Clause
//
// What a run of the tests is told by its environment, and what its compiler did to it:
//   HPZERO_TEST_QUICK=1       fewer sizes: for emulators, valgrind and sanitizers
//   HPZERO_TEST_SEED=N        seed of the random cases, printed with every failure
//   HPZERO_TEST_WHOLE=1       this run is to have run every kernel that the machine can run
//   HPZERO_TEST_CPU_FLAGS, HPZERO_TEST_CPU_HIDDEN: see machine.h
//   HPZERO_TEST_EMULATOR      "/usr/bin/qemu-aarch64 -cpu max": what these tests run under, with
//                             which they start other programs of this build
//   HPZERO_TEST_NO_NAMESPACES=1 it is known that no mount namespace can be had here
#ifndef HPZERO_TESTS_SUPPORT_SETTINGS_H
#define HPZERO_TESTS_SUPPORT_SETTINGS_H

#include <stdint.h>
#include <stdlib.h>

#include <string>

namespace hpz::test {

inline bool is_set(const char *name) {
  const char *const value = getenv(name);
  return value != nullptr && *value != '\0' && std::string(value) != "0";
}

inline bool quick() {
  return is_set("HPZERO_TEST_QUICK");
}

inline uint64_t seed() {
  const char *const value = getenv("HPZERO_TEST_SEED");
  return value != nullptr ? strtoull(value, nullptr, 0) : 20240607;
}

// This program is one of ThreadSanitizer's, which knows no process made by clone, and ends one that
// starts threads after a fork.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#else
inline constexpr bool kThreadSanitizer = false;
#endif

}  // namespace hpz::test

#endif
