// SPDX-License-Identifier: BSD-2-Clause
//
// Reads /proc/cpuinfo; knows the names of the first kernels and what they need.
#include "tests/support/machine.h"

#include <stdlib.h>

#include <algorithm>
#include <stdexcept>

#include "tests/support/scratch_folder.h"

namespace hpz::test {

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    if (end != at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

namespace {

std::set<std::string> read_flags() {
  if (const char *const told = getenv("HPZERO_TEST_CPU_FLAGS")) {
    const std::vector<std::string> list = split(told, ',');
    return {list.begin(), list.end()};
  }
  for (const std::string &line : split(read_file("/proc/cpuinfo"), '\n')) {
    if (line.rfind("flags", 0) != 0) continue;
    const std::vector<std::string> list = split(line.substr(line.find(':') + 1), ' ');
    std::set<std::string> flags(list.begin(), list.end());
    const char *const hidden = getenv("HPZERO_TEST_CPU_HIDDEN");
    for (const std::string &flag : split(hidden != nullptr ? hidden : "", ',')) flags.erase(flag);
    return flags;
  }
  throw std::runtime_error(
      "/proc/cpuinfo has no flags line: set HPZERO_TEST_CPU_FLAGS to what this CPU has of "
      "ssse3,avx2,avx512f,erms,clzero,movdir64b (or to none)");
}

// Flag of /proc/cpuinfo, or none for the baseline, and the kernels that need it. Of the library's
// features these are also the names.
struct Row {
  const char *flag;
  std::vector<std::string> kernels;
};
const std::vector<Row> &rows() {
  static const std::vector<Row> kRows = {
      {"", {"memset", "word64", "xsimd_st", "sse2_nt", "movnti", "rep_stosq"}},
      {"ssse3", {"hwy_stream"}},
      {"avx2", {"avx2_nt", "avx2_st"}},
      {"avx512f", {"avx512_nt", "avx512_st"}},
      {"erms", {"rep_stosb"}},
      {"clzero", {"clzero"}},
      {"movdir64b", {"movdir64b"}},
  };
  return kRows;
}

}  // namespace

const std::set<std::string> &machine_flags() {
  static const std::set<std::string> kFlags = read_flags();
  return kFlags;
}

std::set<std::string> kernels_that_must_run() {
  std::set<std::string> ids;
  for (const Row &row : rows()) {
    if (*row.flag == '\0' || machine_flags().count(row.flag) != 0) {
      ids.insert(row.kernels.begin(), row.kernels.end());
    }
  }
  return ids;
}

std::vector<hpz_kernel_info> kernel_infos() {
  std::vector<hpz_kernel_info> infos(hpz_kernel_count());
  for (size_t i = 0; i < infos.size(); ++i) {
    infos[i] = HPZ_KERNEL_INFO_INIT;
    if (hpz_kernel_info_get(i, &infos[i]) != 0) throw std::runtime_error("hpz_kernel_info_get");
  }
  return infos;
}

std::string wrongly_unusable(const hpz_kernel_info &kernel) {
  const std::vector<std::string> missing = split(kernel.missing, ',');
  if (missing.empty()) return "it names no feature that is missing";
  for (const std::string &feature : missing) {
    bool known = false;
    for (const Row &row : rows()) known = known || feature == row.flag;
    if (!known) return "tests/support/machine.cpp has no row for the feature " + feature;
    if (machine_flags().count(feature) == 0) return "";
  }
  return "this machine has " + std::string(kernel.missing);
}

}  // namespace hpz::test
