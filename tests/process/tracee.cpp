// SPDX-License-Identifier: BSD-2-Clause
//
// ptrace(2) of x86-64 Linux.
#include "tests/process/tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/support/program.h"

namespace hpz::test {
namespace {

constexpr long kMark = SYS_getppid;
constexpr int kSyscallStop = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD

std::vector<char *> pointers(std::vector<std::string> &words) {
  std::vector<char *> result;
  for (std::string &word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

void Tracee::require(bool ok, const char *what) const {
  if (!ok) throw std::runtime_error(std::string(what) + ": " + strerror(errno));
}

Tracee::Tracee(const std::vector<std::string> &arguments,
               const std::vector<std::string> &environment) {
  std::vector<std::string> words = arguments, settings = environment_with(environment);
  const std::vector<char *> argv = pointers(words), envp = pointers(settings);
  require(sched_getaffinity(0, sizeof callers_cpus_, &callers_cpus_) == 0, "sched_getaffinity");
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(static_cast<size_t>(sched_getcpu()), &here);
  sched_setaffinity(0, sizeof here, &here);
  pid_ = fork();
  require(pid_ >= 0, "fork");
  if (pid_ == 0) {
    const int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    execve(argv[0], argv.data(), envp.data());
    _exit(126);
  }
  require(wait_for_stop() == SIGTRAP, "stop at execve");
  require(ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) == 0,
          "PTRACE_SETOPTIONS");
}

Tracee::~Tracee() {
  sched_setaffinity(0, sizeof callers_cpus_, &callers_cpus_);
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

int Tracee::wait_for_stop() {
  int status = 0;
  require(waitpid(pid_, &status, 0) == pid_, "waitpid");
  if (WIFSTOPPED(status)) return WSTOPSIG(status);
  pid_ = -1;
  throw std::runtime_error("the program ended before its next mark, status " +
                           std::to_string(status));
}

std::vector<long> Tracee::run_to_mark() {
  std::vector<long> calls;
  knows_at_ = false;
  for (int signal = 0;;) {
    require(ptrace(PTRACE_SYSCALL, pid_, nullptr, signal) == 0, "PTRACE_SYSCALL");
    const int stop = wait_for_stop();
    signal = stop == kSyscallStop ? 0 : stop;
    if (stop != kSyscallStop) continue;
    // PTRACE_GET_SYSCALL_INFO would tell entry from exit; before an entry, rax is -ENOSYS.
    user_regs_struct registers;
    require(ptrace(PTRACE_GETREGS, pid_, nullptr, &registers) == 0, "PTRACE_GETREGS");
    const bool entry = static_cast<long>(registers.rax) == -ENOSYS;
    const long number = static_cast<long>(registers.orig_rax);
    if (number == kMark && !entry) return calls;
    if (number != kMark && entry) calls.push_back(number);
  }
}

uint64_t Tracee::instruction_pointer() {
  if (knows_at_) return at_;
  errno = 0;
  at_ = static_cast<uint64_t>(
      ptrace(PTRACE_PEEKUSER, pid_, offsetof(user_regs_struct, rip), nullptr));
  require(errno == 0, "PTRACE_PEEKUSER");
  knows_at_ = true;
  return at_;
}

Tracee::StringRegisters Tracee::string_registers() const {
  user_regs_struct registers;
  require(ptrace(PTRACE_GETREGS, pid_, nullptr, &registers) == 0, "PTRACE_GETREGS");
  return {registers.rdi, registers.rcx};
}

void Tracee::read(uint64_t address, void *to, size_t size) const {
  const iovec local = {to, size}, remote = {reinterpret_cast<void *>(address), size};
  require(process_vm_readv(pid_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size),
          "process_vm_readv");
}

bool Tracee::code_is(uint64_t address, std::initializer_list<uint8_t> bytes) {
  for (const uint8_t byte : bytes) {
    const uint64_t page = address & ~uint64_t{4095};
    if (page != last_page_) {
      auto found = code_.find(page);
      if (found == code_.end()) {
        found = code_.emplace(page, std::array<uint8_t, 4096>{}).first;
        read(page, found->second.data(), 4096);
      }
      last_page_ = page;
      last_code_ = found->second.data();
    }
    if (last_code_[address - page] != byte) return false;
    ++address;
  }
  return true;
}

bool Tracee::step() {
  if (code_is(instruction_pointer(), {0x0F, 0x05})) {  // SYSCALL
    user_regs_struct registers;
    require(ptrace(PTRACE_GETREGS, pid_, nullptr, &registers) == 0, "PTRACE_GETREGS");
    if (static_cast<long>(registers.rax) == kMark) return false;
  }
  // A single step of REP STOS is one iteration, of thousands.
  const uint64_t at = instruction_pointer();
  for (const std::initializer_list<uint8_t> string :
       {std::initializer_list<uint8_t>{0xF3, 0xAA}, {0xF3, 0x48, 0xAB}}) {
    if (!code_is(at, string)) continue;
    run_to(at + string.size());
    return true;
  }
  knows_at_ = false;
  require(ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr) == 0, "PTRACE_SINGLESTEP");
  const int stop = wait_for_stop();
  if (stop != SIGTRAP) {
    throw std::runtime_error("stopped by signal " + std::to_string(stop));
  }
  return true;
}

void Tracee::run_to(uint64_t address) {
  errno = 0;
  const long code = ptrace(PTRACE_PEEKTEXT, pid_, address, nullptr);
  require(errno == 0, "PTRACE_PEEKTEXT");
  constexpr unsigned long kBreakpoint = 0xCC;  // INT3
  const unsigned long patched = (static_cast<unsigned long>(code) & ~0xFFUL) | kBreakpoint;
  require(ptrace(PTRACE_POKETEXT, pid_, address, patched) == 0, "PTRACE_POKETEXT");
  require(ptrace(PTRACE_CONT, pid_, nullptr, nullptr) == 0, "PTRACE_CONT");
  require(wait_for_stop() == SIGTRAP, "breakpoint");
  require(ptrace(PTRACE_POKETEXT, pid_, address, code) == 0, "PTRACE_POKETEXT");
  require(ptrace(PTRACE_POKEUSER, pid_, offsetof(user_regs_struct, rip), address) == 0,
          "PTRACE_POKEUSER");
  at_ = address;
  knows_at_ = true;
}

uint64_t Tracee::base_of(const std::string &path) const {
  const std::string real = std::filesystem::canonical(path).string();
  std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string range, mode, offset, device, inode, file;
    words >> range >> mode >> offset >> device >> inode >> file;
    if (file == real && offset.find_first_not_of('0') == std::string::npos) {
      return std::stoull(range, nullptr, 16);
    }
  }
  throw std::runtime_error(real + " is not mapped");
}

int Tracee::finish(int signal, unsigned timeout_s) {
  require(ptrace(PTRACE_DETACH, pid_, nullptr, signal) == 0, "PTRACE_DETACH");
  int status = 0;
  for (unsigned waited_ms = 0;; ++waited_ms) {
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    require(ended >= 0, "waitpid");
    if (ended == pid_) break;
    if (waited_ms == timeout_s * 1000) kill(pid_, SIGKILL);
    constexpr timespec kOneMillisecond = {0, 1000000};
    nanosleep(&kOneMillisecond, nullptr);
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace hpz::test
