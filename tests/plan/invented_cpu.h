// SPDX-License-Identifier: BSD-2-Clause
//
// CPUs that need not exist: what CPUID and XGETBV answer, put together bit by bit. Leaves beyond
// the highest one that the CPU says it has answer with all bits set, so that whoever looks there
// sees features that are not there. Of x86, on every machine: no instruction of it is executed.
#ifndef HPZERO_TESTS_PLAN_INVENTED_CPU_H
#define HPZERO_TESTS_PLAN_INVENTED_CPU_H

#include <map>
#include <span>
#include <string>
#include <utility>

#include "arch/x86/detect.h"

namespace hpz::test {

class InventedCpu {
 public:
  // vendor: twelve characters. Has leaves 0 to 0x16 and 0x80000000 to 0x80000020, all zero but the
  // signature.
  InventedCpu(const std::string &vendor, uint32_t family, uint32_t model, uint32_t stepping);

  InventedCpu &max_basic(uint32_t leaf);
  InventedCpu &max_extended(uint32_t leaf);  // what leaf 0x80000000 says, whatever it is
  InventedCpu &set(uint32_t leaf, uint32_t subleaf, const x86::CpuidRegisters &registers);

  // Features as in features.def, comma-separated, without regard to what the OS saves.
  InventedCpu &cpuid_bits(const std::string &features);
  InventedCpu &os_saves(uint64_t xcr0);  // sets OSXSAVE, too
  InventedCpu &everything_saved() { return os_saves(0xE7); }

  // Data or unified cache of a level, by leaf 4 or, for AMD, by leaf 0x8000001D; 0 bytes: of one
  // set, way and so on, which is the smallest that the leaf can say.
  InventedCpu &cache(uint32_t level, uint64_t bytes);
  InventedCpu &caches(uint64_t l1, uint64_t l2, uint64_t llc) {
    return cache(1, l1).cache(2, l2).cache(3, llc);
  }
  InventedCpu &endless_caches(uint64_t bytes);  // the enumeration never says that it is over

  Cpu detect() const;
  int xgetbv_calls() const { return xgetbv_calls_; }
  // Leaf and subleaf -> how often CPUID was asked for it.
  const std::map<std::pair<uint32_t, uint32_t>, int> &asked() const { return asked_; }

 private:
  static x86::CpuidRegisters answer(const void *context, uint32_t leaf, uint32_t subleaf) noexcept;
  static uint64_t answer_xgetbv(const void *context) noexcept;
  uint32_t cache_leaf() const { return is_amd_ ? 0x8000001D : 4; }

  bool is_amd_;
  uint32_t max_basic_ = 0x16, max_extended_ = 0x80000020;
  uint64_t xcr0_ = 0;
  uint32_t caches_ = 0;
  bool endless_ = false;
  std::map<std::pair<uint32_t, uint32_t>, x86::CpuidRegisters> leaves_;
  mutable std::map<std::pair<uint32_t, uint32_t>, int> asked_;
  mutable int xgetbv_calls_ = 0;
};

// The rows of x86 without what they execute, which is not there on every machine.
std::span<const Kernel> x86_kernels();

// Features as in features.def, comma-separated, as bits and back.
FeatureSet features_of(const std::string &list);
std::string list_of(FeatureSet features);
extern const FeatureSet kAllX86Features;

}  // namespace hpz::test

#endif
