// SPDX-License-Identifier: BSD-2-Clause
//
// What follows from the registers, for every value of DCZID_EL0's fields: also for what no emulator
// shows (row B1 of the field reports, by recipe R-INJ).
#include "arch/arm64/detect.h"

#include <gtest/gtest.h>

#include <string>

#include "arch/arm64/features.h"
#include "arch/arm64/zva_blocks.h"

namespace hpz::test {
namespace {

using arm64::Registers;
using arm64::zva_block_of;

constexpr uint64_t kDzp = 0x10;

TEST(ZvaBlock, of_every_size_that_the_field_can_say) {
  // 4 and 8 bytes are below what the architecture has, 4 KiB to 128 KiB are above.
  constexpr uint32_t kBytes[16] = {0, 0, 16, 32, 64, 128, 256, 512, 1024, 2048, 0, 0, 0, 0, 0, 0};
  for (uint64_t size = 0; size < 16; ++size) {
    EXPECT_EQ(zva_block_of(size), kBytes[size]) << size;
    EXPECT_EQ(zva_block_of(size | kDzp), 0U) << size;
    // The bits above are reserved: a later architecture may use them for what is not ours to know.
    for (unsigned bit = 5; bit < 64; ++bit) {
      EXPECT_EQ(zva_block_of(size | uint64_t{1} << bit), kBytes[size]) << size << ' ' << bit;
      EXPECT_EQ(zva_block_of(size | kDzp | uint64_t{1} << bit), 0U) << size << ' ' << bit;
    }
  }
  EXPECT_EQ(zva_block_of(~uint64_t{0}), 0U);
}

// The value of the report: 64 bytes, and prohibited.
TEST(ZvaBlock, field_B1_prohibited_by_the_kernel) {
  EXPECT_EQ(zva_block_of(0x14), 0U);
  EXPECT_EQ(arm64::detect({.dczid = 0x14}).features & feature::zva, 0U);
  EXPECT_EQ(zva_block_of(0x04), 64U);
  EXPECT_NE(arm64::detect({.dczid = 0x04}).features & feature::zva, 0U);
}

struct Case {
  const char *name;
  Registers registers;
  FeatureSet features;
  const char *identity;
};

constexpr uint64_t kMops = arm64::kHwcap2Mops;

const Case kCases[] = {
    {"nothing", {}, 0, "arm64-00-000-0-0"},
    {"neoverse_n1",
     {.hwcap = 0x119fff, .hwcap2 = 0, .dczid = 4, .cntfrq = 25'000'000, .midr = 0x413FD0C1},
     feature::zva,
     "arm64-41-d0c-3-1"},
    {"a64fx",
     {.hwcap = 0x419fff, .hwcap2 = 0, .dczid = 6, .cntfrq = 100'000'000, .midr = 0x461F0010},
     feature::zva,
     "arm64-46-001-1-0"},
    // Armv8.6 counts at 1 GHz.
    {"newer_with_mops",
     {.hwcap = 0x119fff, .hwcap2 = kMops, .dczid = 4, .cntfrq = 1'000'000'000, .midr = 0x410FD830},
     feature::zva | feature::mops | feature::fine_counter,
     "arm64-41-d83-0-0"},
    {"mops_and_zva_prohibited",
     {.hwcap2 = kMops, .dczid = 0x14},
     feature::mops,
     "arm64-00-000-0-0"},
    {"all_other_bits_of_hwcap2",
     {.hwcap = ~uint64_t{0}, .hwcap2 = ~kMops, .dczid = 0x14},
     0,
     "arm64-00-000-0-0"},
    {"bit_43_of_hwcap_is_not_mops", {.hwcap = kMops, .dczid = 0x14}, 0, "arm64-00-000-0-0"},
    {"counter_just_too_slow", {.dczid = 0x10, .cntfrq = 499'999'999}, 0, "arm64-00-000-0-0"},
    {"counter_just_fast_enough",
     {.dczid = 0x10, .cntfrq = 500'000'000},
     feature::fine_counter,
     "arm64-00-000-0-0"},
    {"everything_set",
     {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}},
     feature::mops | feature::fine_counter,
     "arm64-ff-fff-f-f"},
};

TEST(Detect, table) {
  for (const Case &c : kCases) {
    const Cpu cpu = arm64::detect(c.registers);
    // Registers that are all zero still say "4 bytes, permitted", which is no block of DC ZVA.
    EXPECT_EQ(cpu.features, c.features) << c.name;
    EXPECT_STREQ(cpu.identity, c.identity) << c.name;
    EXPECT_EQ(cpu.caches, CacheSizes{}) << c.name;
  }
}

// asm/hwcap.h of Linux 6.5 and later; the constant is our own because older headers lack it.
TEST(Detect, the_bit_of_linux) {
  EXPECT_EQ(arm64::kHwcap2Mops, 0x80000000000U);
  EXPECT_EQ(arm64::kHwcapCpuid, 0x800U);
}

}  // namespace
}  // namespace hpz::test
