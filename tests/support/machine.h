// SPDX-License-Identifier: BSD-2-Clause
//
// What this machine can do, by a source that is not the library's own detection: the flags that the
// Linux kernel lists in /proc/cpuinfo. From them follows which kernels a run must have run, so that
// a library that wrongly thinks itself on a lesser CPU fails its tests instead of skipping them.
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

// The kernels of the list that this machine must be able to run.
std::set<std::string> kernels_that_must_run();

std::vector<hpz_kernel_info> kernel_infos();  // all of hpz_kernel_info_get

// Empty if the library is right to call the kernel unusable here; else why it is not.
std::string wrongly_unusable(const hpz_kernel_info &kernel);

std::vector<std::string> split(const std::string &text, char separator);

}  // namespace hpz::test

#endif
