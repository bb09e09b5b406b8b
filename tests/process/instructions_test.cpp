// SPDX-License-Identifier: BSD-2-Clause
//
// What really ran, instruction by instruction: that a forced kernel was the one, that weakly
// ordered stores are fenced, and that a signal may come at any point of the first call.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/process/symbols.h"
#include "tests/process/tracee.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/machine.h"
#include "tests/support/program.h"

namespace hpz::test {
namespace {

const Symbols &library_symbols() {
  static const Symbols kSymbols(HPZERO_LIBRARY);
  return kSymbols;
}

// Of one REP STOS.
struct StringStore {
  uint64_t destination, bytes;
};

// One call of the subject's, between two marks.
struct Call {
  std::set<std::string> kernels;     // that ran
  size_t fences = 0;                 // SFENCE executed
  size_t fences_after_kernels = 0;   // ... each with instructions of kernels since the one before
  size_t fences_behind_kernels = 0;  // ... after the last instruction of the last kernel
  size_t amid = 0;  // instructions outside the library between the first and the last of kernels
  std::map<uint64_t, size_t> kernel_instructions;  // address -> how often
  std::vector<StringStore> strings;                // each REP STOS
};

class Watched {
 public:
  Watched(const std::vector<std::string> &environment, const std::vector<std::string> &commands)
      : tracee_(arguments(commands), environment) {
    tracee_.run_to_mark();
    base_ = tracee_.base_of(HPZERO_LIBRARY);
    subject_ = tracee_.base_of(HPZERO_SUBJECT);
    for (const Symbol &symbol : library_symbols().functions()) {
      constexpr const char kPrefix[] = "hpz::kernel::";
      if (symbol.name.rfind(kPrefix, 0) != 0) continue;
      kernels_.push_back(symbol);
      kernels_.back().name.erase(0, sizeof kPrefix - 1);
    }
    for (const Symbol &symbol : library_symbols().functions()) end_ = std::max(end_, symbol.end);
  }

  Call next_call() {
    Call call;
    size_t since_kernel = 0, outside = 0;
    bool is_fenced = true;
    const Symbol *last_kernel = nullptr;
    for (uint64_t at = tracee_.instruction_pointer();; at = tracee_.instruction_pointer()) {
      const uint64_t width = tracee_.code_is(at, {0xF3, 0xAA})         ? 1
                             : tracee_.code_is(at, {0xF3, 0x48, 0xAB}) ? 8
                                                                       : 0;
      const Tracee::StringRegisters registers =
          width != 0 ? tracee_.string_registers() : Tracee::StringRegisters{};
      const bool fence = tracee_.code_is(at, {0x0F, 0xAE, 0xF8});
      if (!tracee_.step()) break;
      if (const Symbol *const kernel = kernel_at(at - base_)) {
        if (kernel != last_kernel) call.kernels.insert(kernel->name);
        last_kernel = kernel;
        ++call.kernel_instructions[at];
        since_kernel = 0;
        is_fenced = false;
        call.amid = outside;
        if (width != 0) call.strings.push_back({registers.destination, registers.count * width});
      }
      if (fence) {
        ++call.fences;
        ++since_kernel;
        if (!is_fenced) ++call.fences_after_kernels;
        is_fenced = true;
      }
      const bool inside = at - base_ < end_ || at - subject_ < (uint64_t{1} << 20);
      if (!inside && last_kernel != nullptr) ++outside;
    }
    call.fences_behind_kernels = since_kernel;
    tracee_.pass_mark();
    return call;
  }

  int finish() { return tracee_.finish(); }

 private:
  static std::vector<std::string> arguments(const std::vector<std::string> &commands) {
    std::vector<std::string> result = {HPZERO_SUBJECT, "mark"};
    for (const std::string &command : commands) {
      result.push_back(command);
      result.push_back("mark");
    }
    return result;
  }
  const Symbol *kernel_at(uint64_t offset) const {
    for (const Symbol &kernel : kernels_) {
      if (offset >= kernel.begin && offset < kernel.end) return &kernel;
    }
    return nullptr;
  }

  Tracee tracee_;
  uint64_t base_ = 0, subject_ = 0, end_ = 0;
  std::vector<Symbol> kernels_;
};

void expect_fenced(const Call &call, const hpz_kernel_info &info) {
  if ((info.flags & HPZ_KERNEL_NEEDS_FENCE) != 0) {
    EXPECT_EQ(call.fences_behind_kernels, 1U) << "field_C1: not fenced before the return";
    EXPECT_EQ(call.fences, 1U) << "fenced more than once";
  } else {
    EXPECT_EQ(call.fences, 0U) << "fenced without need";
  }
}

class Kernels : public testing::TestWithParam<hpz_kernel_info> {
 protected:
  void SetUp() override {
    const hpz_kernel_info &info = GetParam();
    if (info.missing == nullptr) return;
    ASSERT_EQ(wrongly_unusable(info), "");
    GTEST_SKIP() << "NOT TESTED HERE: kernel " << info.id << ", this CPU lacks " << info.missing;
  }
  std::string id() const { return GetParam().id; }
};

TEST_P(Kernels, run_when_forced_and_are_fenced) {
  const std::vector<std::string> commands = {"zero=4096",   "zero=5001",    "cached=5001",
                                             "stream=5001", "pages=9:4096", "pages=3:1001"};
  Watched watched({"HPZ_KERNEL=" + id()}, commands);
  for (const std::string &command : commands) {
    SCOPED_TRACE(command);
    const Call call = watched.next_call();
    EXPECT_EQ(call.kernels, std::set<std::string>{id()});
    expect_fenced(call, GetParam());
  }
  EXPECT_EQ(watched.finish(), 0);
}

TEST_P(Kernels, run_when_named_and_are_fenced) {
  // 33000 bytes: as several lanes, for the kernels that want them.
  std::vector<std::string> commands;
  for (const char *const length : {"128", "4096", "5001", "33000"}) {
    commands.push_back("with=" + id() + ':' + length);
  }
  for (const char *const batch : {"9:4096", "3:1001", "70:128"}) {
    commands.push_back("pages-with=" + id() + ':' + batch);
  }
  Watched watched({}, commands);
  for (const std::string &command : commands) {
    SCOPED_TRACE(command);
    const Call call = watched.next_call();
    EXPECT_EQ(call.kernels, std::set<std::string>{id()});
    expect_fenced(call, GetParam());
    // Row A9: string instructions begin on a line and take whole lines, whatever the range.
    EXPECT_EQ(call.strings.empty(), id().rfind("rep_stos", 0) != 0);
    for (const StringStore &store : call.strings) {
      EXPECT_EQ(store.destination % 64, 0U);
      EXPECT_EQ(store.bytes % 64, 0U);
      EXPECT_GT(store.bytes, 0U);
    }
  }
  EXPECT_EQ(watched.finish(), 0);
}

// A chunk of a space that is cleared by the calling thread: once, behind its last kernel.
TEST_P(Kernels, of_a_space_are_fenced_once) {
  Watched watched({"HPZ_KERNEL=" + id()}, {"space=5001", "space=150001"});
  for (const char *const length : {"5001", "150001"}) {
    SCOPED_TRACE(length);
    const Call call = watched.next_call();
    EXPECT_EQ(call.kernels, std::set<std::string>{id()});
    EXPECT_LE(call.fences, 1U) << "fenced more than once";
    if ((GetParam().flags & HPZ_KERNEL_NEEDS_FENCE) != 0) {
      EXPECT_EQ(call.fences_behind_kernels, 1U) << "not fenced before the return";
    }
  }
  EXPECT_EQ(watched.finish(), 0);
}

std::string name_of(const testing::TestParamInfo<hpz_kernel_info> &parameter) {
  return parameter.param.id;
}
INSTANTIATE_TEST_SUITE_P(, Kernels, testing::ValuesIn(kernel_infos()), name_of);

// A kernel whose row says that it needs no fence has no store that needs one. Read from the
// instructions themselves.
TEST(Instructions, field_C1_weakly_ordered_stores_are_known_to_be) {
  const Outcome listing = run({"/usr/bin/objdump", "-d", "--no-show-raw-insn", HPZERO_LIBRARY});
  ASSERT_EQ(listing.status, 0) << listing.err;
  std::map<std::string, bool> weak;
  std::string kernel;
  for (const std::string &line : split(listing.out, '\n')) {
    if (line.back() == ':' && line.find('<') != std::string::npos) {
      kernel.clear();
      // _ZN3hpz6kernel7avx2_ntEPKPvmm
      const size_t at = line.find("<_ZN3hpz6kernel");
      if (at == std::string::npos) continue;
      const std::string mangled = line.substr(at + sizeof "<_ZN3hpz6kernel" - 1);
      size_t digits = 0;
      const size_t length = std::stoul(mangled, &digits);
      kernel = mangled.substr(digits, length);
      weak[kernel] = false;
      continue;
    }
    for (const char *const store : {"movnt", "clzero", "movdir", "maskmov"}) {
      if (!kernel.empty() && line.find(store) != std::string::npos &&
          line.find("movntdqa") == std::string::npos) {
        weak[kernel] = true;
      }
    }
  }
  for (const hpz_kernel_info &info : kernel_infos()) {
    ASSERT_EQ(weak.count(info.id), 1U) << info.id;
    EXPECT_EQ(weak[info.id], (info.flags & HPZ_KERNEL_NEEDS_FENCE) != 0) << info.id;
  }
}

// What the plan says is what runs, for hpz_zero below its probe and for the other two.
TEST(Instructions, the_plan_is_followed) {
  const Outcome told = run({HPZERO_SUBJECT, "plan"});
  ASSERT_EQ(told.status, 0);
  const auto planned = [&told](const std::string &policy, uint64_t len) {
    for (const std::string &band : split(told[policy], ',')) {
      const std::string upto = band.substr(0, band.find(':'));
      if (upto == "max" || std::stoull(upto) >= len) return band.substr(band.find(':') + 1);
    }
    return std::string();
  };
  std::map<std::string, hpz_kernel_info> infos;
  for (const hpz_kernel_info &info : kernel_infos()) infos[info.id] = info;
  std::vector<std::string> commands;
  for (const size_t len : Sizes{1025, 2048, 2049, 4096, 20000, 60000, 66000}) {
    for (const char *const policy : {"zero", "cached", "stream"}) {
      commands.push_back(std::string(policy) + '=' + std::to_string(len));
    }
  }
  Watched watched({}, commands);
  for (const std::string &command : commands) {
    SCOPED_TRACE(command);
    const size_t equals = command.find('=');
    const std::string verb = command.substr(0, equals);
    const std::string kernel =
        planned(verb == "zero" ? "auto" : verb, std::stoull(command.substr(equals + 1)));
    const Call call = watched.next_call();
    EXPECT_EQ(call.kernels, std::set<std::string>{kernel});
    expect_fenced(call, infos.at(kernel));
  }
  EXPECT_EQ(watched.finish(), 0);
}

// A chunk is of less than 4 MiB here: there are several, each done when its stores are ordered.
TEST(Instructions, each_chunk_of_a_space_is_fenced) {
  Watched watched({}, {"space=4300000"});
  const Call call = watched.next_call();
  EXPECT_GE(call.fences, 2U);
  EXPECT_EQ(call.fences_after_kernels, call.fences) << "a chunk was fenced more than once";
  EXPECT_EQ(call.fences_behind_kernels, 1U);
  EXPECT_EQ(watched.finish(), 0);
}

// Row B9: for device memory, aligned 8-byte stores alone, each word exactly once, and no store of
// the C library.
TEST(Instructions, field_B9_word64_makes_8_byte_stores_alone) {
  // The second call: the first one of all may pass through the dynamic linker.
  Watched watched({"LD_BIND_NOW=1"}, {"with=word64:4096", "with=word64:4096"});
  watched.next_call();
  const Call call = watched.next_call();
  EXPECT_EQ(call.amid, 0U) << "something of the C library, such as memset";
  EXPECT_TRUE(call.strings.empty());
  const auto most =
      std::max_element(call.kernel_instructions.begin(), call.kernel_instructions.end(),
                       [](const auto &a, const auto &b) { return a.second < b.second; });
  ASSERT_NE(most, call.kernel_instructions.end());
  EXPECT_EQ(most->second, 4096U / 8);
  EXPECT_EQ(watched.finish(), 0);
}

// A signal handler that clears memory may come at any instruction of the first call: everywhere
// between, and at each instruction of the window in which one thread has claimed the plan and not
// yet published it.
TEST(Instructions, a_signal_at_any_point_of_the_first_call) {
  const Symbols &symbols = library_symbols();
  const Symbol *const plan = symbols.named("hpz::g_plan");
  const Symbol *const claimed = symbols.named("hpz::g_first_plan_claimed");
  ASSERT_NE(plan, nullptr);
  ASSERT_NE(claimed, nullptr);
  const std::vector<std::string> arguments = {HPZERO_SUBJECT, "on-signal=5001", "mark",
                                              "zero=300001",  "mark",           "plan"};
  // Once to see where what is.
  size_t steps = 0;
  std::vector<size_t> points;
  {
    Tracee tracee(arguments);
    tracee.run_to_mark();
    const uint64_t base = tracee.base_of(HPZERO_LIBRARY);
    uint64_t trampolines = 0;
    tracee.read(base + plan->begin, &trampolines, sizeof trampolines);
    size_t window = 0, behind = 0;
    // A while beyond the window: the calibration of the probe comes behind it.
    for (; behind < 1500 && tracee.step(); ++steps) {
      bool is_claimed = false;
      uint64_t present = 0;
      tracee.read(base + claimed->begin, &is_claimed, sizeof is_claimed);
      tracee.read(base + plan->begin, &present, sizeof present);
      if (is_claimed && present == trampolines && ++window % 4 == 0) points.push_back(steps + 1);
      if (present != trampolines) ++behind;
    }
    ASSERT_GE(window, 3U) << "the window was not seen";
    ASSERT_EQ(behind, 1500U);
  }
  for (size_t point = 0; point < steps; point += steps / 40 + 1) points.push_back(point);
  for (const size_t point : points) {
    SCOPED_TRACE("interrupted after " + std::to_string(point) + " of " + std::to_string(steps));
    Tracee tracee(arguments);
    tracee.run_to_mark();
    for (size_t i = 0; i < point; ++i) ASSERT_TRUE(tracee.step());
    ASSERT_EQ(tracee.finish(SIGUSR1, 10), 0);
  }
}

}  // namespace
}  // namespace hpz::test
