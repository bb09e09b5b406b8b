// SPDX-License-Identifier: BSD-2-Clause
#include "lib/pool/filler.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/team/clock.h"
#include "lib/team/thread.h"

namespace hpz {
namespace {

// By number: the C library's function may be one that refuses (musl).
int set_scheduler(pid_t thread, int policy) noexcept {
  const sched_param parameter = {};
  return syscall(SYS_sched_setscheduler, thread, policy, &parameter) == 0 ? 0 : -errno;
}

}  // namespace

int Filler::start(void *(*main)(void *), void *argument, const CpuSet &cpus) noexcept {
  const ThreadStart start = start_thread(main, argument, cpus);
  if (start.error != 0) return start.error;
  thread_ = start.thread;
  is_pinned = start.is_pinned;
  is_there_.store(true, std::memory_order_release);
  return 0;
}

void Filler::close() noexcept {
  is_closing.store(true, std::memory_order_relaxed);
  __atomic_store_n(&cancel, 1u, __ATOMIC_RELAXED);
}

void Filler::join() noexcept {
  if (is_there()) pthread_join(thread_, nullptr);
  is_there_.store(false, std::memory_order_relaxed);
}

uint64_t Filler::cpu_ns() const noexcept {
  clockid_t clock;
  return is_there() && pthread_getcpuclockid(thread_, &clock) == 0 ? clock_ns(clock) : 0;
}

void Filler::enter() noexcept {
  block_host_signals();
  prctl(PR_SET_NAME, "hpzero-fill");
  id_.store(static_cast<pid_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
  // Created by a thread of a real-time class it would be one: nothing waits for it so urgently.
  const long policy = syscall(SYS_sched_getscheduler, 0);
  if (policy == SCHED_FIFO || policy == SCHED_RR) (void)set_scheduler(0, SCHED_OTHER);
  if (!wants_idle) return;
  // Tried now, while nobody can be kept waiting: whether there is a way back.
  if (set_scheduler(0, SCHED_IDLE) != 0) {
    cannot_sink.store(true, std::memory_order_relaxed);
  } else if (set_scheduler(0, SCHED_OTHER) != 0) {
    cannot_lift.store(true, std::memory_order_relaxed);
  }
}

void Filler::sink() noexcept {
  if (!wants_idle || cannot_sink.load(std::memory_order_relaxed)) return;
  if (class_.load(std::memory_order_acquire) != Class::kOrdinary) return;
  if (!cannot_lift.load(std::memory_order_relaxed) && set_scheduler(0, SCHED_IDLE) != 0) return;
  // Only now: lifted in between it would sink afterwards, with nobody knowing.
  class_.store(Class::kIdle, std::memory_order_release);
}

void Filler::lift() noexcept {
  if (cannot_lift.load(std::memory_order_relaxed)) return;
  Class idle = Class::kIdle;
  if (!class_.compare_exchange_strong(idle, Class::kBeingLifted, std::memory_order_acq_rel)) return;
  const pid_t id = id_.load(std::memory_order_relaxed);
  if (set_scheduler(id, SCHED_OTHER) != 0) cannot_lift.store(true, std::memory_order_relaxed);
  class_.store(Class::kOrdinary, std::memory_order_release);
}

}  // namespace hpz
