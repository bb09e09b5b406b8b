// SPDX-License-Identifier: BSD-2-Clause
//
// mops_set on CPUs without SETP, SETM and SETE: a handler of SIGILL reads the instruction and does
// what the architecture says (Arm ARM C6.2, "SETP, SETM, SETE"), by either of its two algorithms.
// Where the CPU has them they run, and the handler is never called.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "arch/arm64/detect.h"
#include "tests/support/guarded_buffer.h"

namespace hpz::kernel {
void mops_set(void *const *lanes, size_t count, size_t len) noexcept;
}

namespace hpz::test {
namespace {

enum class Algorithm { kA, kB };
Algorithm g_algorithm;
// What the core does in the prologue and in the main part; the epilogue does the rest.
size_t g_prologue_bytes, g_main_bytes;
volatile sig_atomic_t g_instructions;
uint64_t g_next_pc;  // where the sequence goes on

constexpr uint64_t kCarry = uint64_t{1} << 29;

[[noreturn]] void not_mops(const char *why) {
  static_cast<void>(!write(STDERR_FILENO, why, strlen(why)));
  _exit(99);
}

void set(uint64_t at, uint64_t bytes, unsigned char value) {
  // Byte by byte: memset is among what is tested.
  for (auto *to = reinterpret_cast<volatile unsigned char *>(at); bytes != 0; --bytes)
    *to++ = value;
}

void perform(int, siginfo_t *, void *context) {
  mcontext_t &cpu = static_cast<ucontext_t *>(context)->uc_mcontext;
  uint32_t word;
  memcpy(&word, reinterpret_cast<const void *>(cpu.pc), sizeof word);
  // sz 011001 11 0 Rs op2 01 Rn Rd, sz 00; the two lowest bits of op2 are options.
  if ((word & 0xFFE00C00) != 0x19C00400 || (word >> 12 & 3) != 0) not_mops("no SET instruction\n");
  const unsigned stage = word >> 14 & 3, rs = word >> 16 & 31, rn = word >> 5 & 31, rd = word & 31;
  if (stage > 2 || rd == rn || rd == rs || rs == rn || rd == 31 || rn == 31)
    not_mops("undefined\n");
  if (stage != 0 && cpu.pc != g_next_pc) not_mops("SETM or SETE does not follow\n");
  g_next_pc = cpu.pc + 4;

  const auto value = static_cast<unsigned char>(rs == 31 ? 0 : cpu.regs[rs]);
  unsigned long long &to = cpu.regs[rd], &count = cpu.regs[rn];
  if (stage == 0) {
    const uint64_t done = g_prologue_bytes < count ? g_prologue_bytes : count;
    set(to, done, value);
    if (g_algorithm == Algorithm::kA) {  // Xd: the end, Xn: minus what is left
      to += count;
      count = -(count - done);
      cpu.pstate &= ~kCarry;
    } else {
      to += done;
      count -= done;
      cpu.pstate |= kCarry;
    }
  } else {
    const bool by_a = (cpu.pstate & kCarry) == 0;
    const uint64_t left = by_a ? -count : count;
    const uint64_t most = stage == 1 ? g_main_bytes : left, done = most < left ? most : left;
    set(by_a ? to + count : to, done, value);
    if (by_a) {
      count += done;
    } else {
      to += done;
      count -= done;
    }
  }
  g_instructions = g_instructions + 1;
  cpu.pc += 4;
}

class Mops : public testing::Test {
 protected:
  void SetUp() override {
    struct sigaction action = {};
    action.sa_sigaction = perform;
    action.sa_flags = SA_SIGINFO;
    ASSERT_EQ(sigaction(SIGILL, &action, &before_), 0);
  }
  void TearDown() override { sigaction(SIGILL, &before_, nullptr); }

  void expect_cleared(const GuardedBuffer &buffer, const std::vector<void *> &lanes, size_t len) {
    g_instructions = 0;
    kernel::mops_set(lanes.data(), lanes.size(), len);
    const bool cpu_has_it = (getauxval(AT_HWCAP2) & arm64::kHwcap2Mops) != 0;
    ASSERT_EQ(g_instructions, cpu_has_it ? 0 : static_cast<int>(3 * lanes.size()));
    ASSERT_TRUE(buffer.only_cleared(lanes, len)) << len;
    buffer.poison();
  }

  struct sigaction before_;
};

// Where a run is told (tests/support/machine.h) that its CPU executes SET instructions, they are
// not emulated by this file instead.
TEST_F(Mops, has_the_cpu_that_it_is_told) {
  const char *const told = getenv("HPZERO_TEST_CPU_FLAGS");
  const std::string flags = ',' + std::string(told != nullptr ? told : "") + ',';
  if (flags.find(",mops,") != std::string::npos) {
    EXPECT_NE(getauxval(AT_HWCAP2) & arm64::kHwcap2Mops, 0U);
  }
}

TEST_F(Mops, clears_exactly_its_lanes) {
  const GuardedBuffer buffer(1 << 17);
  for (const Algorithm algorithm : {Algorithm::kA, Algorithm::kB}) {
    g_algorithm = algorithm;
    for (const size_t prologue : Sizes{0, 16, 100, 1 << 20}) {
      for (const size_t main : Sizes{0, 64, 4095, 1 << 20}) {
        g_prologue_bytes = prologue;
        g_main_bytes = main;
        for (const size_t len : Sizes{64, 128, 192, 4096, 4160, 65536}) {
          SCOPED_TRACE(len);
          ASSERT_NO_FATAL_FAILURE(expect_cleared(buffer, {buffer.begin()}, len));
          ASSERT_NO_FATAL_FAILURE(expect_cleared(buffer, {buffer.end() - len}, len));
          ASSERT_NO_FATAL_FAILURE(expect_cleared(buffer, {buffer.begin() + 64}, len));
        }
        std::vector<void *> lanes;
        for (size_t i = 0; i < 9; ++i) lanes.push_back(buffer.begin() + i * 8192 + i * 64);
        ASSERT_NO_FATAL_FAILURE(expect_cleared(buffer, lanes, 4096));
      }
    }
  }
}

// The handler would tell: what it does, memory shows.
TEST_F(Mops, the_handler_does_not_take_anything_for_a_set_instruction) {
  EXPECT_EXIT(asm volatile("udf #0"), testing::ExitedWithCode(99), "no SET instruction");
}

}  // namespace
}  // namespace hpz::test
