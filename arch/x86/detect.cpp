// SPDX-License-Identifier: BSD-2-Clause
//
// What this CPU and its OS offer, by CPUID and XGETBV alone: no file, no lock, no allocation. The
// model decides nothing about what may run; it is looked at for quirks only, in one table.
#include "arch/x86/detect.h"

#include <string.h>

#include "arch/x86/features.h"

namespace hpz::x86 {
namespace {

constexpr bool bit(uint32_t value, unsigned position) {
  return (value >> position & 1) != 0;
}

// XCR0: the OS saves XMM and YMM; and opmask, ZMM_Hi256, Hi16_ZMM on top.
constexpr uint64_t kXcr0Avx = 0x6;
constexpr uint64_t kXcr0Avx512 = 0xE6;

enum class Vendor : uint8_t { kOther, kIntel, kAmd };

struct Signature {
  char vendor[13] = {};
  Vendor kind = Vendor::kOther;
  uint32_t family = 0, model = 0, stepping = 0;
};

// Under a hypervisor each CPUID leaves the guest, which takes 7 to 20 us on the machine where the
// first call was measured: no leaf is asked twice, and none without need.
class Detector {
 public:
  explicit Detector(const CpuidSource &source) noexcept
      : source_(source),
        vendor_(ask(0)),
        basic_(ask_if_there(1)),
        structured_(ask_if_there(7)),
        who_(signature()) {
    // Intel has nothing there that is asked for here.
    if (who_.kind != Vendor::kIntel) max_extended_ = ask(0x80000000).eax;
    // A CPU without extended leaves answers with the highest basic leaf's content.
    if (max_extended_ < 0x80000000 || max_extended_ > 0x8000FFFF) max_extended_ = 0;
  }

  const Signature &who() const noexcept { return who_; }
  FeatureSet features() const noexcept;
  CacheSizes caches() const noexcept;

 private:
  CpuidRegisters ask(uint32_t leaf, uint32_t subleaf = 0) const noexcept {
    return source_.cpuid(source_.context, leaf, subleaf);
  }
  CpuidRegisters ask_if_there(uint32_t leaf, uint32_t subleaf = 0) const noexcept {
    const uint32_t highest = leaf >= 0x80000000 ? max_extended_ : vendor_.eax;
    return leaf <= highest ? ask(leaf, subleaf) : CpuidRegisters{};
  }
  Signature signature() const noexcept;
  bool enumerate_caches(uint32_t leaf, CacheSizes &out) const noexcept;

  const CpuidSource &source_;
  uint32_t max_extended_ = 0;
  CpuidRegisters vendor_, basic_, structured_;
  Signature who_;
};

Signature Detector::signature() const noexcept {
  Signature who;
  memcpy(who.vendor + 0, &vendor_.ebx, 4);
  memcpy(who.vendor + 4, &vendor_.edx, 4);
  memcpy(who.vendor + 8, &vendor_.ecx, 4);
  // The vendor becomes part of a profile's identity line: one printable word, whatever it says.
  for (char &c : who.vendor) {
    if (c != '\0' && (c <= ' ' || c > '~' || c == '-')) c = '_';
  }
  if (memcmp(who.vendor, "GenuineIntel", 13) == 0) who.kind = Vendor::kIntel;
  // Hygon's cores are Zen under licence.
  if (memcmp(who.vendor, "AuthenticAMD", 13) == 0 || memcmp(who.vendor, "HygonGenuine", 13) == 0) {
    who.kind = Vendor::kAmd;
  }
  const uint32_t eax = basic_.eax;
  who.family = eax >> 8 & 0xF;
  who.model = eax >> 4 & 0xF;
  who.stepping = eax & 0xF;
  if (who.family == 0xF || who.family == 6) who.model |= eax >> 12 & 0xF0;
  if (who.family == 0xF) who.family += eax >> 20 & 0xFF;
  return who;
}

// The one place where a product decides anything: speed, never what may run.
FeatureSet quirks(const Signature &who, FeatureSet features) {
  FeatureSet found = 0;
  if (who.kind == Vendor::kAmd && who.family >= 0x17) found |= feature::zen;
  if (who.kind == Vendor::kIntel && who.family == 6) {
    switch (who.model) {
      case 0x4E:
      case 0x5E:  // Skylake client
      case 0x55:  // Skylake-SP, Cascade Lake, Cooper Lake
      case 0x8E:
      case 0x9E:  // Kaby Lake, Coffee Lake, Whiskey Lake
      case 0xA5:
      case 0xA6:  // Comet Lake
        // 4 GiB: MOVNT 6.3 GB/s, REP STOSB 6.5 GB/s on Skylake (published).
        found |= feature::slow_nt;
        break;
      default:
        break;
    }
    if (who.model == 0x55) found |= feature::slow_zmm;  // licence-based clock of AVX-512
    // Ice Lake and later, told by FSRM, which came with it and survives the model numbers that
    // hypervisors invent: REP STOSB 1.1x of vector stores in L2 (Granite Rapids).
    if ((features & feature::fsrm) != 0) found |= feature::stosb_past_l1;
  }
  return found;
}

FeatureSet Detector::features() const noexcept {
  FeatureSet found = 0;
  // XGETBV is itself an illegal instruction where the OS has not set OSXSAVE.
  const uint64_t xcr0 = bit(basic_.ecx, 27) ? source_.xgetbv(source_.context) : 0;
  if (bit(basic_.ecx, 28) && (xcr0 & kXcr0Avx) == kXcr0Avx) {
    if (bit(structured_.ebx, 5)) found |= feature::avx2;
    if (bit(structured_.ebx, 16) && (xcr0 & kXcr0Avx512) == kXcr0Avx512) found |= feature::avx512f;
  }
  if (bit(basic_.ecx, 9)) found |= feature::ssse3;
  if (bit(structured_.ebx, 9)) found |= feature::erms;
  if (bit(structured_.edx, 4)) found |= feature::fsrm;
  if (bit(structured_.ecx, 28)) found |= feature::movdir64b;
  if (bit(ask_if_there(0x80000008).ebx, 0)) found |= feature::clzero;
  // Invariant or not does not matter to the cache probe, and hypervisors hide that it is.
  if (bit(basic_.edx, 4)) found |= feature::tsc;
  return found | quirks(who_, found);
}

// Leaf 4 (Intel) and leaf 0x8000001D (AMD) have one layout.
bool Detector::enumerate_caches(uint32_t leaf, CacheSizes &out) const noexcept {
  bool any = false;
  for (uint32_t i = 0; i < 16; ++i) {  // a hypervisor that never says "no more" must not hang us
    const CpuidRegisters r = ask_if_there(leaf, i);
    const uint32_t type = r.eax & 0x1F;
    if (type == 0) break;
    if (type == 2) continue;  // instructions only
    const uint64_t ways = (r.ebx >> 22) + uint64_t{1};
    const uint64_t partitions = (r.ebx >> 12 & 0x3FF) + uint64_t{1};
    const uint64_t line = (r.ebx & 0xFFF) + uint64_t{1};
    const uint64_t bytes = ways * partitions * line * (r.ecx + uint64_t{1});
    switch (r.eax >> 5 & 7) {
      case 1:
        out.l1 = bytes;
        break;
      case 2:
        out.l2 = bytes;
        break;
      case 3:  // the last one that matters: a fourth level, where there is one, is memory-side
        out.llc = bytes;
        return true;
      default:
        break;
    }
    any = true;
  }
  return any;
}

CacheSizes Detector::caches() const noexcept {
  CacheSizes sizes;
  if (who_.kind == Vendor::kAmd) {
    const bool has_topology = bit(ask_if_there(0x80000001).ecx, 22);
    if (has_topology && enumerate_caches(0x8000001D, sizes)) return sizes;
    sizes.l1 = uint64_t{ask_if_there(0x80000005).ecx >> 24} * 1024;
    const CpuidRegisters r = ask_if_there(0x80000006);
    sizes.l2 = uint64_t{r.ecx >> 16} * 1024;
    sizes.llc = uint64_t{r.edx >> 18} * 512 * 1024;
    return sizes;
  }
  enumerate_caches(4, sizes);
  return sizes;
}

void append_word(char *&at, const char *word) {
  while (*word != '\0') *at++ = *word++;
}

void append_number(char *&at, uint32_t value) {
  char digits[10];
  int count = 0;
  do digits[count++] = static_cast<char>('0' + value % 10);
  while ((value /= 10) != 0);
  while (count > 0) *at++ = digits[--count];
}

}  // namespace

Cpu detect(const CpuidSource &source) noexcept {
  const Detector detector(source);
  const Signature &who = detector.who();
  Cpu cpu;
  cpu.features = detector.features();
  cpu.caches = detector.caches();
  // At most 12 + 3 * (1 + 10) characters. No snprintf: the first call may run in a signal handler.
  static_assert(sizeof(cpu.identity) > 12 + 3 * 11);
  char *at = cpu.identity;
  append_word(at, who.vendor[0] != '\0' ? who.vendor : "unknown");
  for (const uint32_t part : {who.family, who.model, who.stepping}) {
    *at++ = '-';
    append_number(at, part);
  }
  return cpu;
}

Tuning tuning(FeatureSet features) noexcept {
  if ((features & feature::zen) != 0) return {Tuning::Plain::kUpToL2, "AMD Zen"};
  if ((features & feature::stosb_past_l1) != 0) {
    return {Tuning::Plain::kUpToL1, "Intel, Ice Lake or later"};
  }
  return {};
}

}  // namespace hpz::x86
