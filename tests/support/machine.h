// SPDX-License-Identifier: BSD-2-Clause
//
// What this machine can do, by a source that is not the library's own detection: the flags that the
// Linux kernel lists in /proc/cpuinfo, and a register where it has no word for the matter. From
// them follows which kernels a run must have run, so that a library that wrongly thinks itself on a
// lesser CPU fails its tests instead of skipping them.
//
// Where the CPU is emulated (qemu-user, valgrind) /proc/cpuinfo is the host's; whoever starts such
// a run says what it emulates by HPZERO_TEST_CPU_FLAGS ("ssse3,avx2,erms"; "none"), or what it
// hides of the host by HPZERO_TEST_CPU_HIDDEN ("avx512f,clzero").
#ifndef HPZERO_TESTS_SUPPORT_MACHINE_H
#define HPZERO_TESTS_SUPPORT_MACHINE_H

#include <hpzero/kernels.h>

#include <set>
#include <string>
#include <vector>

namespace hpz::test {

const std::set<std::string> &machine_flags();

// All flags that a kernel of this instruction set needs, whatever this machine has.
std::vector<std::string> known_flags();

// The kernels that this machine must be able to run; all of them; how many every machine runs.
std::set<std::string> kernels_that_must_run();
std::vector<std::string> known_kernels();
size_t baseline_kernels();

// What tests name where any kernel or feature would do.
struct Examples {
  const char *baseline_stream;              // a kernel that needs no feature
  const char *feature;                      // one that HPZ_CPU_DISABLE can take away
  const char *cached_by_it, *stream_by_it;  // kernels that need it
  const char *by_core;  // the feature that is relied on only where the CPUs are alike; "" if none
};
const Examples &examples();

std::vector<hpz_kernel_info> kernel_infos();  // all of hpz_kernel_info_get

// Empty if the library is right to call the kernel unusable here; else why it is not.
std::string wrongly_unusable(const hpz_kernel_info &kernel);

std::vector<std::string> split(const std::string &text, char separator);

}  // namespace hpz::test

#endif
