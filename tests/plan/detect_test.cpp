// SPDX-License-Identifier: BSD-2-Clause
//
// Detection and the plan that follows from it, on real CPUs retold and on impossible ones.
#include <gtest/gtest.h>
#include <string.h>

#include "tests/plan/invented_cpu.h"
#include "tests/plan/invented_kernel.h"

namespace hpz::test {
namespace {

constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB;

Selection built_in(const Cpu &cpu) {
  return built_in_bands(x86_kernels(), cpu.features, cpu.caches, x86::tuning(cpu.features));
}

struct KnownCpu {
  const char *name;
  InventedCpu cpu;
  const char *features, *identity;
  const char *cached, *stream;
  uint64_t probe_from, probe_upto;
};

// Bands by hand from the policy of lib/plan/bands.cpp: where measurements move it, these follow.
const KnownCpu kKnownCpus[] = {
    {"Zen5_Turin",
     InventedCpu("AuthenticAMD", 0x1A, 0x02, 1)
         .cpuid_bits("avx2,avx512f,erms,fsrm,clzero,tsc")
         .everything_saved()
         .caches(48 * kKiB, 1 * kMiB, 32 * kMiB),
     "avx2,avx512f,erms,fsrm,clzero,tsc,zen", "AuthenticAMD-26-2-1",
     "917504:avx512_st,25165824:rep_stosb,max:clzero", "1024:memset,max:clzero", 262144, 25165824},
    {"Zen4_Genoa",
     InventedCpu("AuthenticAMD", 0x19, 0x11, 1)
         .cpuid_bits("avx2,avx512f,erms,fsrm,clzero,tsc")
         .everything_saved()
         .caches(32 * kKiB, 1 * kMiB, 32 * kMiB),
     "avx2,avx512f,erms,fsrm,clzero,tsc,zen", "AuthenticAMD-25-17-1",
     "917504:avx512_st,25165824:rep_stosb,max:clzero", "1024:memset,max:clzero", 262144, 25165824},
    {"Zen5_whose_hypervisor_hides_clzero_and_the_counter",
     InventedCpu("AuthenticAMD", 0x1A, 0x02, 1)
         .cpuid_bits("avx2,avx512f,erms,fsrm")
         .everything_saved()
         .caches(48 * kKiB, 1 * kMiB, 32 * kMiB),
     "avx2,avx512f,erms,fsrm,zen", "AuthenticAMD-26-2-1",
     "917504:avx512_st,25165824:rep_stosb,max:avx512_nt", "1024:memset,max:avx512_nt", 262144,
     25165824},
    {"Zen1_without_ERMS",
     InventedCpu("AuthenticAMD", 0x17, 0x01, 2)
         .cpuid_bits("avx2,clzero,tsc")
         .os_saves(0x7)
         .caches(32 * kKiB, 512 * kKiB, 8 * kMiB),
     "avx2,clzero,tsc,zen", "AuthenticAMD-23-1-2", "6291456:avx2_st,max:clzero",
     "1024:memset,max:clzero", 262144, 6291456},
    {"Hygon_Dhyana",
     InventedCpu("HygonGenuine", 0x18, 0x00, 1)
         .cpuid_bits("avx2,clzero,tsc")
         .os_saves(0x7)
         .caches(32 * kKiB, 512 * kKiB, 8 * kMiB),
     "avx2,clzero,tsc,zen", "HygonGenuine-24-0-1", "6291456:avx2_st,max:clzero",
     "1024:memset,max:clzero", 262144, 6291456},
    {"AMD_Excavator_before_Zen",
     InventedCpu("AuthenticAMD", 0x15, 0x65, 1)
         .cpuid_bits("avx2,tsc")
         .os_saves(0x7)
         .caches(32 * kKiB, 1 * kMiB, 0),
     "avx2,tsc", "AuthenticAMD-21-101-1", "max:memset", "65536:memset,max:avx2_nt", 262144,
     // The leaf cannot say "no cache": one byte, below the floor of 2 MiB.
     1572864},
    {"Skylake_SP",
     InventedCpu("GenuineIntel", 6, 0x55, 4)
         .cpuid_bits("avx2,avx512f,erms,tsc")
         .everything_saved()
         .caches(32 * kKiB, 1 * kMiB, 24 * kMiB),
     "avx2,avx512f,erms,tsc,slow_nt,slow_zmm", "GenuineIntel-6-85-4", "max:memset",
     "65536:memset,max:rep_stosb", 262144, 18874368},
    {"Skylake_client",
     InventedCpu("GenuineIntel", 6, 0x5E, 3)
         .cpuid_bits("avx2,erms,tsc")
         .os_saves(0x1F)
         .caches(32 * kKiB, 256 * kKiB, 8 * kMiB),
     "avx2,erms,tsc,slow_nt", "GenuineIntel-6-94-3", "max:memset", "65536:memset,max:rep_stosb",
     262144, 6291456},
    {"Haswell",
     InventedCpu("GenuineIntel", 6, 0x3C, 3)
         .cpuid_bits("avx2,erms,tsc")
         .os_saves(0x7)
         .caches(32 * kKiB, 256 * kKiB, 8 * kMiB),
     "avx2,erms,tsc", "GenuineIntel-6-60-3", "max:memset", "65536:memset,max:avx2_nt", 262144,
     6291456},
    {"Nehalem",
     InventedCpu("GenuineIntel", 6, 0x1A, 5)
         .cpuid_bits("ssse3,tsc")
         .max_basic(0xB)
         .max_extended(0x80000008)
         .caches(32 * kKiB, 256 * kKiB, 8 * kMiB),
     "ssse3,tsc", "GenuineIntel-6-26-5", "max:memset", "65536:memset,max:sse2_nt", 262144, 6291456},
    {"Ice_Lake_SP",
     InventedCpu("GenuineIntel", 6, 0x6A, 6)
         .cpuid_bits("avx2,avx512f,erms,fsrm,tsc")
         .os_saves(0x2E7)
         .caches(48 * kKiB, 1280 * kKiB, 48 * kMiB),
     "avx2,avx512f,erms,fsrm,tsc,stosb_past_l1", "GenuineIntel-6-106-6",
     "36864:avx512_st,37748736:rep_stosb,max:avx512_nt", "1024:memset,max:avx512_nt", 262144,
     37748736},
    // As the machine that this was written on shows itself: Granite Rapids under the model number
    // of Rocket Lake, 480 MiB of last-level cache.
    {"Granite_Rapids_under_model_167",
     InventedCpu("GenuineIntel", 6, 167, 1)
         .cpuid_bits("avx2,avx512f,erms,fsrm,movdir64b,tsc")
         .os_saves(0x602E7)
         .caches(48 * kKiB, 2 * kMiB, 480 * kMiB),
     "avx2,avx512f,erms,fsrm,movdir64b,tsc,stosb_past_l1", "GenuineIntel-6-167-1",
     "36864:avx512_st,50331648:rep_stosb,max:avx512_nt", "1024:memset,max:avx512_nt", 262144,
     50331648},
    {"Alder_Lake_without_AVX_512",
     InventedCpu("GenuineIntel", 6, 0x97, 2)
         .cpuid_bits("avx2,erms,fsrm,movdir64b,tsc")
         .os_saves(0x207)
         .caches(48 * kKiB, 1280 * kKiB, 30 * kMiB),
     "avx2,erms,fsrm,movdir64b,tsc,stosb_past_l1", "GenuineIntel-6-151-2",
     "36864:avx2_st,23592960:rep_stosb,max:avx2_nt", "1024:memset,max:avx2_nt", 262144, 23592960},
    // Flags alone choose no REP STOSB and no plain stores (row A9): nobody has measured them here.
    {"field_A9_unknown_vendor",
     InventedCpu("CentaurHauls", 7, 0xB, 0)
         .cpuid_bits("avx2,avx512f,erms,fsrm,movdir64b,tsc")
         .everything_saved()
         .caches(32 * kKiB, 256 * kKiB, 16 * kMiB),
     "avx2,avx512f,erms,fsrm,movdir64b,tsc", "CentaurHauls-7-11-0", "max:memset",
     "65536:memset,max:avx512_nt", 262144, 12582912},
    {"Intel_of_another_family_with_the_model_of_Skylake",
     InventedCpu("GenuineIntel", 19, 0x55, 0).cpuid_bits("avx2,erms").os_saves(0x7), "avx2,erms",
     "GenuineIntel-19-85-0", "max:memset", "65536:memset,max:avx2_nt", 262144, 6291456},
    {"no_AVX_but_ERMS", InventedCpu("GenuineIntel", 6, 0x37, 8).cpuid_bits("erms,tsc"), "erms,tsc",
     "GenuineIntel-6-55-8", "max:memset", "65536:memset,max:sse2_nt", 262144, 6291456},
};

void PrintTo(const KnownCpu &known, std::ostream *out) {
  *out << known.name;
}

class KnownCpus : public testing::TestWithParam<KnownCpu> {};

TEST_P(KnownCpus, are_detected_and_served) {
  const KnownCpu &known = GetParam();
  const Cpu cpu = known.cpu.detect();
  EXPECT_EQ(list_of(cpu.features), known.features);
  EXPECT_STREQ(cpu.identity, known.identity);
  const Selection selection = built_in(cpu);
  EXPECT_EQ(text_of(selection.cached), known.cached);
  EXPECT_EQ(text_of(selection.stream), known.stream);
  EXPECT_EQ(selection.probe_from, known.probe_from);
  EXPECT_EQ(selection.probe_upto, known.probe_upto);
}

INSTANTIATE_TEST_SUITE_P(, KnownCpus, testing::ValuesIn(kKnownCpus),
                         [](const auto &parameter) { return std::string(parameter.param.name); });

// --- Row A1: what the OS does not save may not run ----------------------------------------------

TEST(Detect, field_A1_vectors_need_the_operating_system) {
  struct Case {
    uint64_t xcr0;
    const char *features;
  };
  constexpr Case kCases[] = {
      {0x0, ""},
      {0x1, ""},
      {0x3, ""},  // AVX off as a mitigation
      {0x5, ""},
      {0xE1, ""},
      {0xE3, ""},
      {0xE5, ""},
      {0x7, "avx2"},
      {0x6, "avx2"},
      {0x27, "avx2"},
      {0x47, "avx2"},
      {0x87, "avx2"},
      {0x67, "avx2"},
      {0xA7, "avx2"},
      {0xC7, "avx2"},
      {0xE7, "avx2,avx512f"},
      {0x602E7, "avx2,avx512f"},
      {UINT64_MAX, "avx2,avx512f"},
      {UINT64_MAX << 8, ""},
  };
  for (const Case &c : kCases) {
    SCOPED_TRACE(c.xcr0);
    const InventedCpu cpu =
        InventedCpu("GenuineIntel", 6, 0x8F, 8).cpuid_bits("avx2,avx512f").os_saves(c.xcr0);
    EXPECT_EQ(list_of(cpu.detect().features), c.features);
    EXPECT_EQ(cpu.xgetbv_calls(), 1);
    // The next lower kernel takes over.
    const Kernel *const stream = best_of_role(x86_kernels(), cpu.detect().features, kStream);
    ASSERT_NE(stream, nullptr);
    EXPECT_STREQ(stream->id, c.features[0] == '\0'             ? "sse2_nt"
                             : strcmp(c.features, "avx2") == 0 ? "avx2_nt"
                                                               : "avx512_nt");
  }
}

TEST(Detect, field_A1_XGETBV_only_where_the_operating_system_allows_it) {
  const InventedCpu cpu =
      InventedCpu("GenuineIntel", 6, 0x8F, 8).cpuid_bits("avx2,avx512f,erms,movdir64b");
  EXPECT_EQ(list_of(cpu.detect().features), "erms,movdir64b");
  EXPECT_EQ(cpu.xgetbv_calls(), 0);
}

TEST(Detect, field_A1_AVX2_without_AVX_is_none) {
  InventedCpu cpu = InventedCpu("GenuineIntel", 6, 0x8F, 8).everything_saved();
  cpu.set(7, 0, {0, 1U << 5 | 1U << 16, 0, 0});  // AVX2 and AVX-512 Foundation
  EXPECT_EQ(list_of(cpu.detect().features), "");
}

// Row A5: no AVX at all, as under a translator.
TEST(Detect, field_A5_baseline_only) {
  const Cpu cpu = InventedCpu("GenuineTMx86", 6, 2, 3).max_basic(1).max_extended(0).detect();
  EXPECT_EQ(cpu.features, 0U);
  EXPECT_EQ(cpu.caches, CacheSizes{});
  const Selection selection = built_in(cpu);
  EXPECT_EQ(text_of(selection.cached), "max:memset");
  EXPECT_EQ(text_of(selection.stream), "65536:memset,max:sse2_nt");
}

// --- Leaves that are not there -------------------------------------------------------------------

TEST(Detect, asks_no_leaf_beyond_the_highest) {
  const auto make = [](const char *vendor) {
    return InventedCpu(vendor, 6, 0xF, 8)
        .cpuid_bits("ssse3,avx2,avx512f,erms,fsrm,movdir64b,tsc,clzero")
        .everything_saved()
        .caches(48 * kKiB, 2 * kMiB, 32 * kMiB);
  };
  // Without leaf 7, 4 and 1, in this order; what is left must be unharmed.
  const CacheSizes sizes = {48 * kKiB, 2 * kMiB, 32 * kMiB};
  EXPECT_EQ(list_of(make("CentaurHauls").max_basic(6).detect().features), "ssse3,clzero,tsc");
  EXPECT_EQ(make("CentaurHauls").max_basic(4).detect().caches, sizes);
  EXPECT_EQ(make("CentaurHauls").max_basic(3).detect().caches, CacheSizes{});
  EXPECT_EQ(list_of(make("CentaurHauls").max_basic(0).detect().features), "clzero");
  EXPECT_STREQ(make("CentaurHauls").max_basic(0).detect().identity, "CentaurHauls-0-0-0");
  // Extended leaves: none, fewer, or the answer of a CPU that has never heard of them.
  const std::string basic = "ssse3,avx2,avx512f,erms,fsrm,movdir64b,tsc";
  for (const char *const vendor : {"CentaurHauls", "AuthenticAMD", "GenuineIntel"}) {
    const bool is_intel = std::string(vendor) == "GenuineIntel";
    for (const uint32_t highest :
         {0U, 0x16U, 0x7FFFFFFFU, 0x80000000U, 0x80000007U, 0x80010000U, 0xFFFFFFFFU}) {
      SCOPED_TRACE(vendor + std::to_string(highest));
      EXPECT_EQ(list_of(make(vendor).max_extended(highest).detect().features),
                is_intel ? basic + ",stosb_past_l1" : basic);
    }
  }
}

// Under a hypervisor each question costs a first call some 10 us.
TEST(Detect, asks_no_leaf_twice) {
  for (const char *const vendor : {"GenuineIntel", "AuthenticAMD", "CentaurHauls"}) {
    const InventedCpu cpu = InventedCpu(vendor, 6, 0xF, 8)
                                .cpuid_bits("avx2,clzero")
                                .everything_saved()
                                .caches(48 * kKiB, 2 * kMiB, 32 * kMiB);
    cpu.detect();
    size_t questions = 0;
    for (const auto &[leaf, times] : cpu.asked()) {
      EXPECT_EQ(times, 1) << vendor << " leaf " << leaf.first << '.' << leaf.second;
      questions += static_cast<size_t>(times);
    }
    EXPECT_LE(questions, 13U) << vendor;
  }
}

TEST(Detect, caches_of_AMD_by_the_old_leaves) {
  const auto make = [] {
    return InventedCpu("AuthenticAMD", 0x17, 0x31, 0)
        .set(0x80000005, 0, {0, 0, 32U << 24 | 0x080140, 0})
        .set(0x80000006, 0, {0, 0, 512U << 16 | 0x6140, 32U << 18 | 0x9140});
  };
  const CacheSizes sizes = {32 * kKiB, 512 * kKiB, 16 * kMiB};
  // Neither the leaf nor the bit; the bit without anything in the leaf; the leaf out of reach.
  EXPECT_EQ(make().set(0x80000001, 0, {}).detect().caches, sizes);
  EXPECT_EQ(make().detect().caches, sizes);
  EXPECT_EQ(make().max_extended(0x80000008).detect().caches, sizes);
  EXPECT_EQ(make().max_extended(0x80000005).detect().caches, (CacheSizes{32 * kKiB, 0, 0}));
  EXPECT_EQ(make().max_extended(0).detect().caches, CacheSizes{});
  // The new leaf, where it is there, has the last word.
  EXPECT_EQ(make().caches(48 * kKiB, 1 * kMiB, 96 * kMiB).detect().caches,
            (CacheSizes{48 * kKiB, 1 * kMiB, 96 * kMiB}));
}

TEST(Detect, caches_that_never_end) {
  for (const char *const vendor : {"GenuineIntel", "AuthenticAMD", "CentaurHauls"}) {
    const Cpu cpu =
        InventedCpu(vendor, 6, 0x8F, 8).cache(1, 32 * kKiB).endless_caches(16 * kMiB).detect();
    EXPECT_EQ(cpu.caches, (CacheSizes{32 * kKiB, 0, 16 * kMiB})) << vendor;
  }
}

TEST(Detect, caches_of_absurd_size) {
  // The largest that the leaf can say is 2^64; a bit less in one factor is just below. Thresholds
  // have a ceiling, and a size that does not fit counts as unknown.
  for (const uint32_t sets : {~0U, ~0U - 1}) {
    const Cpu cpu = InventedCpu("GenuineIntel", 6, 0x8F, 8)
                        .cpuid_bits("erms,fsrm")
                        .set(4, 0, {1U << 5 | 1, ~0U, sets, 0})
                        .set(4, 1, {2U << 5 | 3, ~0U, sets, 0})
                        .set(4, 2, {3U << 5 | 3, ~0U, sets, 0})
                        .set(4, 3, {7U << 5 | 3, ~0U, sets, 0})
                        .detect();
    EXPECT_EQ(text_of(built_in(cpu).cached), sets == ~0U
                                                 ? "24576:xsimd_st,6291456:rep_stosb,max:sse2_nt"
                                                 : "98304:xsimd_st,50331648:rep_stosb,max:sse2_nt");
  }
}

// --- Identity: one printable word, whatever the vendor field says --------------------------------

TEST(Detect, identity_is_one_printable_word) {
  struct Case {
    std::string vendor;
    const char *identity;
  };
  const Case cases[] = {
      {"GenuineIntel", "GenuineIntel-6-167-1"},
      {" Shanghai  ", "_Shanghai__-6-167-1"},
      {std::string(12, '\0'), "unknown-6-167-1"},
      {std::string("VIA VIA\n\x01\xFF-\t", 12), "VIA_VIA_____-6-167-1"},
      {"short", "short-6-167-1"},
      {"TwelveChars1", "TwelveChars1-6-167-1"},
  };
  for (const Case &c : cases) {
    EXPECT_STREQ(InventedCpu(c.vendor, 6, 167, 1).detect().identity, c.identity);
  }
  EXPECT_STREQ(InventedCpu("TwelveChars1", 0xF + 0xFF, 0xFF, 0xF).detect().identity,
               "TwelveChars1-270-255-15");
}

}  // namespace
}  // namespace hpz::test
