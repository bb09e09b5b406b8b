// SPDX-License-Identifier: BSD-2-Clause
//
// A program under ptrace: every system call it makes and, where asked for, every instruction. What
// is of interest lies between marks, system calls that nothing else makes (getppid; see
// tests/subject).
#ifndef HPZERO_TESTS_PROCESS_TRACEE_H
#define HPZERO_TESTS_PROCESS_TRACEE_H

#include <sched.h>
#include <stdint.h>
#include <sys/types.h>

#include <array>
#include <map>
#include <string>
#include <vector>

namespace hpz::test {

class Tracee {
 public:
  // Started and stopped before its first instruction. Its output is dropped. While it lives, it and
  // the calling thread share one CPU: a step takes a quarter of the time it takes across two.
  explicit Tracee(const std::vector<std::string> &arguments,
                  const std::vector<std::string> &environment = {});
  ~Tracee();
  Tracee(const Tracee &) = delete;
  Tracee &operator=(const Tracee &) = delete;

  // Runs it until a mark is passed; the numbers of the system calls on the way, the mark left out.
  std::vector<long> run_to_mark();

  // Executes one instruction, a REP STOS as one, too. False: it would be a mark.
  bool step();
  // Behind a mark that step() stands before.
  void pass_mark() { run_to_mark(); }

  uint64_t instruction_pointer();
  struct StringRegisters {
    uint64_t destination, count;
  };
  StringRegisters string_registers() const;  // rdi, rcx

  // Whether an instruction begins with these bytes.
  bool code_is(uint64_t address, std::initializer_list<uint8_t> bytes);
  void read(uint64_t address, void *to, size_t size) const;
  // Where a file is mapped: what has to be added to addresses of its symbols.
  uint64_t base_of(const std::string &path) const;

  // Delivers a signal if one is given, lets it run to its end, and tells its exit status, or minus
  // the number of the signal that ended it (-9 after the time given).
  int finish(int signal = 0, unsigned timeout_s = 20);

 private:
  void run_to(uint64_t address);  // at full speed, by a breakpoint
  int wait_for_stop();            // the signal that stopped it; throws where it has ended
  void require(bool ok, const char *what) const;

  pid_t pid_ = -1;
  cpu_set_t callers_cpus_;
  bool knows_at_ = false;
  uint64_t at_ = 0;  // the instruction pointer, where it is known
  std::map<uint64_t, std::array<uint8_t, 4096>> code_;
  uint64_t last_page_ = 1;  // of code_, looked up last
  const uint8_t *last_code_ = nullptr;
};

}  // namespace hpz::test

#endif
