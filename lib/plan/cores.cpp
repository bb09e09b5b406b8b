// SPDX-License-Identifier: BSD-2-Clause
#include "lib/plan/cores.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "lib/plan/signals.h"

namespace hpz {
namespace {

constexpr unsigned kWordBits = 8 * sizeof(unsigned long);
// 64 Ki CPUs; Linux is built for 8 Ki at most.
constexpr size_t kMaskWords = 1024;

struct Visit {
  unsigned long allowed[kMaskWords];
  unsigned long one[kMaskWords];
  size_t bytes;
  CoreCheck result;
};

bool go_to(void *context, unsigned cpu) noexcept {
  auto &visit = *static_cast<Visit *>(context);
  memset(visit.one, 0, visit.bytes);
  visit.one[cpu / kWordBits] = 1ul << cpu % kWordBits;
  return sched_setaffinity(0, visit.bytes, reinterpret_cast<cpu_set_t *>(visit.one)) == 0;
}

uint64_t read_here(void *) noexcept {
  return core_signature();
}

void *visit_all(void *argument) noexcept {
  auto &visit = *static_cast<Visit *>(argument);
  visit.result = compare_cores(visit.allowed, static_cast<unsigned>(8 * visit.bytes),
                               {go_to, read_here, &visit});
  return nullptr;
}

}  // namespace

CoreCheck compare_cores(const unsigned long *mask, unsigned bits,
                        const CoreReader &reader) noexcept {
  bool any = false;
  uint64_t first = 0;
  for (unsigned cpu = 0; cpu < bits; ++cpu) {
    if ((mask[cpu / kWordBits] >> cpu % kWordBits & 1) == 0) continue;
    if (!reader.visit(reader.context, cpu)) continue;
    const uint64_t here = reader.read(reader.context);
    if (any && here != first) return CoreCheck::kDiffer;
    first = here;
    any = true;
  }
  return any ? CoreCheck::kAlike : CoreCheck::kFailed;
}

CoreCheck compare_cores() noexcept {
  auto *const visit = static_cast<Visit *>(calloc(1, sizeof(Visit)));
  if (visit == nullptr) return CoreCheck::kFailed;
  visit->result = CoreCheck::kFailed;
  visit->bytes = sizeof(visit->allowed);
  const sigset_t blocked = host_signals();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  pthread_t thread;
  const bool runs =
      sched_getaffinity(0, visit->bytes, reinterpret_cast<cpu_set_t *>(visit->allowed)) == 0 &&
      pthread_create(&thread, nullptr, visit_all, visit) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (runs) pthread_join(thread, nullptr);
  const CoreCheck result = visit->result;
  free(visit);
  return result;
}

}  // namespace hpz
