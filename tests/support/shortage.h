// SPDX-License-Identifier: BSD-2-Clause
//
// Memory that is not to be had, for the objects that a program is linked of (what is in shared
// libraries allocates as ever). Of one thread.
#ifndef HPZERO_TESTS_SUPPORT_SHORTAGE_H
#define HPZERO_TESTS_SUPPORT_SHORTAGE_H

#include <stdint.h>

namespace hpz::test {

// The next that many allocations work, and the one after them does not; negative: all work. Whether
// one failed. (A compiler may make malloc of Array's realloc.)
void fail_allocation_after(int64_t allocations);
// ... and none after them does.
void fail_allocations_after(int64_t allocations);
bool allocation_failed();

// The next allocation of the calling thread calls this first.
void call_before_next_allocation(void (*call)());

}  // namespace hpz::test

#endif
