// SPDX-License-Identifier: BSD-2-Clause
//
// Stores that may fault, and the host's handler that asks whether a fault was theirs.
#ifndef HPZERO_LIB_TEAM_FAULT_H
#define HPZERO_LIB_TEAM_FAULT_H

#include <stddef.h>
#include <stdint.h>

namespace hpz {

struct MemorySpan {
  char *begin;
  size_t bytes;
};

struct Fault {
  int error = 0;          // 0: none was claimed; -EFAULT, -EHWPOISON
  uintptr_t address = 0;  // as the kernel told it
};

// Runs function(argument). A fault of this thread at an address of the spans that the host's
// handler gives to hpz_fault_claim ends it there, as by longjmp: function holds nothing that needs
// a destructor.
Fault run_claimable(const MemorySpan *spans, size_t count, void (*function)(void *),
                    void *argument) noexcept;

}  // namespace hpz

#endif
