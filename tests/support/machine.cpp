// SPDX-License-Identifier: BSD-2-Clause
//
// Reads /proc/cpuinfo; knows the names of the first kernels and what they need, by instruction set.
#include "tests/support/machine.h"

#include <stdint.h>
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

// Flag of /proc/cpuinfo, or none for the baseline, and the kernels that need it. Of the library's
// features these are also the names.
struct Row {
  const char *flag;
  std::vector<std::string> kernels;
};

#if defined(__x86_64__)

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
constexpr const char *kFlagsLine = "flags";
void add_flags_without_a_word(std::set<std::string> &) {}
constexpr Examples kExamples = {"sse2_nt", "avx2", "avx2_st", "avx2_nt", ""};

#elif defined(__aarch64__)

const std::vector<Row> &rows() {
  static const std::vector<Row> kRows = {
      {"", {"memset", "word64", "xsimd_st", "hwy_stream", "stp", "stnp"}},
      {"zva", {"dc_zva"}},
      {"mops", {"mops_set"}},
  };
  return kRows;
}
constexpr const char *kFlagsLine = "Features";
// Linux has no word for DC ZVA: DCZID_EL0.DZP (Arm ARM D23.2.36).
void add_flags_without_a_word(std::set<std::string> &flags) {
  uint64_t dczid;
  asm("mrs %0, dczid_el0" : "=r"(dczid));
  if ((dczid & 0x10) == 0) flags.insert("zva");
}
constexpr Examples kExamples = {"stnp", "zva", "dc_zva", "dc_zva", "zva"};

#else

const std::vector<Row> &rows() {
  static const std::vector<Row> kRows = {
      {"", {"memset", "word64", "xsimd_st"}},
      {"highway_vectors", {"hwy_stream"}},
  };
  return kRows;
}
constexpr const char *kFlagsLine = nullptr;  // nothing that is there is of any use
void add_flags_without_a_word(std::set<std::string> &) {}
constexpr Examples kExamples = {"word64", "highway_vectors", "hwy_stream", "hwy_stream", ""};

#endif

std::set<std::string> read_flags() {
  if (const char *const told = getenv("HPZERO_TEST_CPU_FLAGS")) {
    const std::vector<std::string> list = split(told, ',');
    return {list.begin(), list.end()};
  }
  if (kFlagsLine == nullptr) return {};
  for (const std::string &line : split(read_file("/proc/cpuinfo"), '\n')) {
    if (line.rfind(kFlagsLine, 0) != 0) continue;
    const std::vector<std::string> list = split(line.substr(line.find(':') + 1), ' ');
    std::set<std::string> flags(list.begin(), list.end());
    add_flags_without_a_word(flags);
    const char *const hidden = getenv("HPZERO_TEST_CPU_HIDDEN");
    for (const std::string &flag : split(hidden != nullptr ? hidden : "", ',')) flags.erase(flag);
    return flags;
  }
  std::string known;
  for (const Row &row : rows()) known += (known.empty() ? "" : ",") + std::string(row.flag);
  throw std::runtime_error("/proc/cpuinfo has no " + std::string(kFlagsLine) +
                           " line: set HPZERO_TEST_CPU_FLAGS to what this CPU has of " + known +
                           " (or to none)");
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

size_t baseline_kernels() {
  return rows().front().kernels.size();
}

std::vector<std::string> known_flags() {
  std::vector<std::string> flags;
  for (const Row &row : rows()) {
    if (*row.flag != '\0') flags.push_back(row.flag);
  }
  return flags;
}

std::vector<std::string> known_kernels() {
  std::vector<std::string> ids;
  for (const Row &row : rows()) ids.insert(ids.end(), row.kernels.begin(), row.kernels.end());
  return ids;
}

const Examples &examples() {
  return kExamples;
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
