// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/shortage.h"

#include <stddef.h>

namespace {

int64_t allocations_left = -1;
bool is_for_good = false;
bool has_failed = false;
thread_local void (*t_call)() = nullptr;

bool fails_now() {
  if (t_call != nullptr) {
    void (*const call)() = t_call;
    t_call = nullptr;
    call();
  }
  if (allocations_left < 0) return false;
  if (allocations_left > 0) {
    --allocations_left;
    return false;
  }
  if (!is_for_good) allocations_left = -1;
  has_failed = true;
  return true;
}

}  // namespace

// The linker makes these of the names that the library's objects use (--wrap).
extern "C" {
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) {
  return fails_now() ? nullptr : __real_malloc(size);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) {
  return fails_now() ? nullptr : __real_calloc(count, size);
}

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size) {
  return fails_now() ? nullptr : __real_realloc(memory, size);
}
}

namespace hpz::test {

void fail_allocation_after(int64_t allocations) {
  allocations_left = allocations;
  is_for_good = has_failed = false;
}

void fail_allocations_after(int64_t allocations) {
  fail_allocation_after(allocations);
  is_for_good = true;
}

bool allocation_failed() {
  return has_failed;
}

void call_before_next_allocation(void (*call)()) {
  t_call = call;
}

}  // namespace hpz::test
