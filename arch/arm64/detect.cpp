// SPDX-License-Identifier: BSD-2-Clause
//
// What this CPU and its OS offer, by AT_HWCAP, AT_HWCAP2 and DCZID_EL0: no file decides. The cache
// sizes stay unknown: EL0 cannot read them.
#include "arch/arm64/detect.h"

#include "arch/arm64/features.h"
#include "arch/arm64/zva_blocks.h"

namespace hpz::arm64 {
namespace {

// Below, one tick is as long as a miss: 25 to 100 MHz on cores before Armv8.6, 1 GHz after.
constexpr uint64_t kFineCounterHz = 500'000'000;

void append_hex(char *&at, uint64_t value, unsigned digits) noexcept {
  while (digits-- > 0) *at++ = "0123456789abcdef"[value >> (4 * digits) & 0xF];
}

}  // namespace

uint32_t zva_block_of(uint64_t dczid) noexcept {
  const bool prohibited = (dczid >> 4 & 1) != 0;        // DZP
  const uint32_t bytes = uint32_t{4} << (dczid & 0xF);  // BS: log2 of the words
  if (prohibited || bytes < kMinZvaBlock || bytes > kMaxZvaBlock) return 0;
  return bytes;
}

Cpu detect(const Registers &registers) noexcept {
  Cpu cpu;
  if (zva_block_of(registers.dczid) != 0) cpu.features |= feature::zva;
  if ((registers.hwcap2 & kHwcap2Mops) != 0) cpu.features |= feature::mops;
  if (registers.cntfrq >= kFineCounterHz) cpu.features |= feature::fine_counter;
  // Implementer, part, variant, revision, as MIDR_EL1 orders them in importance.
  char *at = cpu.identity;
  for (const char c : {'a', 'r', 'm', '6', '4', '-'}) *at++ = c;
  append_hex(at, registers.midr >> 24 & 0xFF, 2);
  *at++ = '-';
  append_hex(at, registers.midr >> 4 & 0xFFF, 3);
  *at++ = '-';
  append_hex(at, registers.midr >> 20 & 0xF, 1);
  *at++ = '-';
  append_hex(at, registers.midr & 0xF, 1);
  return cpu;
}

}  // namespace hpz::arm64
