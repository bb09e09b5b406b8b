// SPDX-License-Identifier: BSD-2-Clause
//
// hpz_fault_claim.
#include "lib/team/fault.h"

#include <errno.h>
#include <hpzero/team.h>
#include <setjmp.h>
#include <signal.h>

#include <atomic>

#include "arch/arch.h"

namespace hpz {
namespace {

struct Scope {
  // What a host that leaves a job by siglongjmp, which it must not, leaves behind on the stack is
  // not looked at.
  static constexpr uint64_t kAlive = 0x68707a65726f2121;
  uint64_t is_alive;
  const MemorySpan *spans;
  size_t count;
  Fault fault;
  Scope *outer;
  jmp_buf resume;
};

// A fault that the kernel tells of because of what this thread just did. (BUS_MCEERR_AO, for one,
// is news about a page that nobody has touched yet: the host's.)
bool is_of_a_store(const siginfo_t &info) noexcept {
  if (info.si_signo == SIGBUS) {
    return info.si_code == BUS_ADRERR || info.si_code == BUS_OBJERR ||
           info.si_code == BUS_MCEERR_AR;
  }
  return info.si_signo == SIGSEGV && (info.si_code == SEGV_MAPERR || info.si_code == SEGV_ACCERR ||
                                      info.si_code == SEGV_PKUERR);
}

// initial-exec: the handler's first look at it, in any thread, must not allocate, which the
// general model of a shared library does.
constinit thread_local Scope *t_scope [[gnu::tls_model("initial-exec")]] = nullptr;

[[noreturn]] void leave_scope(void *scope) {
  _longjmp(static_cast<Scope *>(scope)->resume, 1);
}

bool touches(const Scope &scope, uintptr_t begin, uintptr_t bytes) noexcept {
  for (size_t i = 0; i < scope.count; ++i) {
    const auto span = reinterpret_cast<uintptr_t>(scope.spans[i].begin);
    // By differences: an end may wrap.
    if (begin - span < scope.spans[i].bytes || span - begin < bytes) return true;
  }
  return false;
}

}  // namespace

Fault run_claimable(const MemorySpan *spans, size_t count, void (*function)(void *),
                    void *argument) noexcept {
  Scope scope;
  scope.is_alive = Scope::kAlive;
  scope.spans = spans;
  scope.count = count;
  scope.fault = {};
  scope.outer = t_scope;
  Scope *volatile const self = &scope;  // volatile: read after the jump
  if (_setjmp(scope.resume) == 0) {
    t_scope = &scope;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    function(argument);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  t_scope = self->outer;
  self->is_alive = 0;
  return self->fault;
}

}  // namespace hpz

extern "C" int hpz_fault_claim(const void *info, void *ucontext) noexcept {
  using namespace hpz;
  const auto *const signal = static_cast<const siginfo_t *>(info);
  Scope *const scope = t_scope;
  if (signal == nullptr || ucontext == nullptr || scope == nullptr) return 0;
  if (scope->is_alive != Scope::kAlive || !is_of_a_store(*signal)) return 0;
  const bool is_poison = signal->si_signo == SIGBUS && signal->si_code == BUS_MCEERR_AR;
  auto address = reinterpret_cast<uintptr_t>(signal->si_addr);
  uintptr_t bytes = 1;
  if (is_poison) {
    // The kernel names the page, which may begin before the span.
    const unsigned bits = static_cast<unsigned>(signal->si_addr_lsb);
    if (bits > 0 && bits < 48) bytes = uintptr_t{1} << bits;
    address &= ~(bytes - 1);
  }
  if (!touches(*scope, address, bytes)) return 0;
  if (!resume_at(ucontext, leave_scope, scope)) return 0;
  scope->fault = {is_poison ? -EHWPOISON : -EFAULT, address};
  // A second fault on the way out is not ours.
  t_scope = scope->outer;
  return 1;
}
