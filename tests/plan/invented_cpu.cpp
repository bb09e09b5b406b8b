// SPDX-License-Identifier: BSD-2-Clause
//
// The bits as in the manuals: Intel SDM vol. 2 "CPUID", AMD APM vol. 3 appendix E.
#include "tests/plan/invented_cpu.h"

#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>

#include "arch/x86/features.h"
#include "tests/plan/invented_kernel.h"

namespace hpz::test {

using x86::CpuidRegisters;

namespace {

constexpr const char *kFeatureNames[] = {
#define HPZ_FEATURE(id, summary) #id,
#include "arch/x86/features.def"
#undef HPZ_FEATURE
};

constexpr auto rows() {
  using namespace feature;
  constexpr FeatureSet none = 0;
#define HPZ_KERNEL HPZERO_KERNEL_ROW
  return std::to_array<Kernel>({
#include "arch/x86/kernels.def"

// Behind those in preference.
#include "arch/generic/kernels.def"
  });
#undef HPZ_KERNEL
}
constexpr auto kRows = rows();

// (That of tests/support is linked with the library, of which nothing is here.)
template <typename Function> void for_each_name(const std::string &list, const Function &function) {
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    function(list.substr(at, end - at));
    at = end + 1;
  }
}

}  // namespace

const FeatureSet kAllX86Features = (FeatureSet{1} << std::size(kFeatureNames)) - 1;

std::span<const Kernel> x86_kernels() {
  return kRows;
}

InventedCpu::InventedCpu(const std::string &vendor, uint32_t family, uint32_t model,
                         uint32_t stepping)
    : is_amd_(vendor == "AuthenticAMD" || vendor == "HygonGenuine") {
  char name[12] = {};
  memcpy(name, vendor.data(), vendor.size() < 12 ? vendor.size() : 12);
  CpuidRegisters &first = leaves_[{0, 0}];
  memcpy(&first.ebx, name + 0, 4);
  memcpy(&first.edx, name + 4, 4);
  memcpy(&first.ecx, name + 8, 4);
  const uint32_t base_family = family > 0xF ? 0xF : family;
  leaves_[{1, 0}].eax = (family - base_family) << 20 | (model >> 4) << 16 | base_family << 8 |
                        (model & 0xF) << 4 | stepping;
  if (is_amd_) leaves_[{0x80000001, 0}].ecx |= 1U << 22;  // TopologyExtensions: leaf 0x8000001D
}

InventedCpu &InventedCpu::max_basic(uint32_t leaf) {
  max_basic_ = leaf;
  return *this;
}
InventedCpu &InventedCpu::max_extended(uint32_t leaf) {
  max_extended_ = leaf;
  return *this;
}
InventedCpu &InventedCpu::set(uint32_t leaf, uint32_t subleaf, const CpuidRegisters &registers) {
  leaves_[{leaf, subleaf}] = registers;
  return *this;
}

InventedCpu &InventedCpu::cpuid_bits(const std::string &features) {
  for_each_name(features, [this](const std::string &name) {
    if (name == "avx2") {
      leaves_[{1, 0}].ecx |= 1U << 28;  // AVX
      leaves_[{7, 0}].ebx |= 1U << 5;
    } else if (name == "avx512f") {
      leaves_[{7, 0}].ebx |= 1U << 16;
    } else if (name == "erms") {
      leaves_[{7, 0}].ebx |= 1U << 9;
    } else if (name == "fsrm") {
      leaves_[{7, 0}].edx |= 1U << 4;
    } else if (name == "movdir64b") {
      leaves_[{7, 0}].ecx |= 1U << 28;
    } else if (name == "clzero") {
      leaves_[{0x80000008, 0}].ebx |= 1U << 0;
    } else if (name == "tsc") {
      leaves_[{1, 0}].edx |= 1U << 4;
    } else if (name == "ssse3") {
      leaves_[{1, 0}].ecx |= 1U << 9;
    } else {
      throw std::invalid_argument("no CPUID bit known for " + name);
    }
  });
  return *this;
}

InventedCpu &InventedCpu::os_saves(uint64_t xcr0) {
  leaves_[{1, 0}].ecx |= 1U << 27;
  xcr0_ = xcr0;
  return *this;
}

InventedCpu &InventedCpu::cache(uint32_t level, uint64_t bytes) {
  const uint32_t line = bytes == 0 ? 1 : 64;
  uint32_t ways = 1;
  if (bytes != 0) ways = bytes % (15 * uint64_t{line} << 10) == 0 ? 15 : 8;
  const uint64_t sets = bytes == 0 ? 1 : bytes / line / ways;
  if (bytes != 0 && sets * ways * line != bytes) throw std::invalid_argument("odd cache");
  const uint32_t type = level == 1 ? 1 : 3;  // data, unified
  leaves_[{cache_leaf(), caches_++}] = {level << 5 | type, (ways - 1) << 22 | (line - 1),
                                        static_cast<uint32_t>(sets - 1), 0};
  // Every CPU lists an instruction cache, too, which is none of ours.
  if (level == 1) {
    leaves_[{cache_leaf(), caches_++}] = {level << 5 | 2, 7U << 22 | 63, 0xFFFF, 0};
  }
  return *this;
}

InventedCpu &InventedCpu::endless_caches(uint64_t bytes) {
  cache(3, bytes);
  endless_ = true;
  return *this;
}

CpuidRegisters InventedCpu::answer(const void *context, uint32_t leaf, uint32_t subleaf) noexcept {
  const auto &cpu = *static_cast<const InventedCpu *>(context);
  ++cpu.asked_[{leaf, subleaf}];
  if (leaf == 0x80000000) return {cpu.max_extended_, 0, 0, 0};
  const uint32_t highest = leaf >= 0x80000000 ? cpu.max_extended_ : cpu.max_basic_;
  if (leaf > highest) return {~0U, ~0U, ~0U, ~0U};
  if (cpu.endless_ && leaf == cpu.cache_leaf() && subleaf >= cpu.caches_) {
    subleaf = cpu.caches_ - 1;
  }
  const auto found = cpu.leaves_.find({leaf, subleaf});
  CpuidRegisters registers = found == cpu.leaves_.end() ? CpuidRegisters{} : found->second;
  if (leaf == 0) registers.eax = cpu.max_basic_;
  return registers;
}

uint64_t InventedCpu::answer_xgetbv(const void *context) noexcept {
  const auto &cpu = *static_cast<const InventedCpu *>(context);
  ++cpu.xgetbv_calls_;
  EXPECT_NE(cpu.leaves_.at({1, 0}).ecx & 1U << 27, 0U) << "XGETBV without OSXSAVE is illegal";
  return cpu.xcr0_;
}

Cpu InventedCpu::detect() const {
  return x86::detect({answer, answer_xgetbv, this});
}

FeatureSet features_of(const std::string &list) {
  FeatureSet found = 0;
  for_each_name(list, [&found](const std::string &name) {
    FeatureSet bit = 0;
    for (size_t i = 0; i < std::size(kFeatureNames); ++i) {
      if (name == kFeatureNames[i]) bit = FeatureSet{1} << i;
    }
    if (bit == 0) throw std::invalid_argument("no feature " + name);
    found |= bit;
  });
  return found;
}

std::string list_of(FeatureSet features) {
  std::string list;
  for (size_t i = 0; i < 64; ++i) {
    if ((features >> i & 1) == 0) continue;
    if (!list.empty()) list += ',';
    list += i < std::size(kFeatureNames) ? kFeatureNames[i] : "?";
  }
  return list;
}

}  // namespace hpz::test
