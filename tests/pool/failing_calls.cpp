// SPDX-License-Identifier: BSD-2-Clause
#include "tests/pool/failing_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <utility>

namespace hpz::test {

FailingCalls failing_calls;

namespace {

bool fails_now() {
  FailingCalls &calls = failing_calls;
  if (calls.left.load() < 0) return false;
  if (calls.left.fetch_sub(1) != 0) return false;
  calls.has_failed = true;
  if (calls.before_failing != nullptr) std::exchange(calls.before_failing, nullptr)();
  return true;
}

// As a system call says it.
bool fails_now(int error) {
  if (!fails_now()) return false;
  errno = error;
  return true;
}

}  // namespace
}  // namespace hpz::test

using namespace hpz::test;

extern "C" {
#define HPZERO_WRAP(result, name, parameters) \
  result __real_##name parameters;            \
  result __wrap_##name parameters;            \
  result __wrap_##name parameters

HPZERO_WRAP(void *, malloc, (size_t size)) {
  return fails_now() ? nullptr : __real_malloc(size);
}
HPZERO_WRAP(void *, calloc, (size_t count, size_t size)) {
  return fails_now() ? nullptr : __real_calloc(count, size);
}
HPZERO_WRAP(void *, realloc, (void *memory, size_t size)) {
  return fails_now() ? nullptr : __real_realloc(memory, size);
}
HPZERO_WRAP(void *, aligned_alloc, (size_t alignment, size_t size)) {
  return fails_now() ? nullptr : __real_aligned_alloc(alignment, size);
}
HPZERO_WRAP(char *, strdup, (const char *text)) {
  return fails_now() ? nullptr : __real_strdup(text);
}

// --- Memory --------------------------------------------------------------------------------------

HPZERO_WRAP(void *, mmap, (void *at, size_t len, int access, int flags, int fd, off_t offset)) {
  if (fails_now(failing_calls.no_memory)) return MAP_FAILED;
  void *const memory = __real_mmap(at, len, access, flags, fd, offset);
  // In the place of another mapping it is no more than before.
  if (memory != MAP_FAILED && (flags & MAP_FIXED) == 0) {
    failing_calls.mapped_bytes += static_cast<int64_t>(len);
  }
  return memory;
}
HPZERO_WRAP(int, munmap, (void *at, size_t len)) {
  const int result = __real_munmap(at, len);
  if (result == 0) failing_calls.mapped_bytes -= static_cast<int64_t>(len);
  return result;
}
HPZERO_WRAP(int, madvise, (void *at, size_t len, int advice)) {
  return fails_now(failing_calls.no_memory) ? -1 : __real_madvise(at, len, advice);
}
HPZERO_WRAP(int, mincore, (void *at, size_t len, unsigned char *pages)) {
  return fails_now(EAGAIN) ? -1 : __real_mincore(at, len, pages);
}

// --- Descriptors ---------------------------------------------------------------------------------

// These two have an argument that not all calls have; it is one register, whatever is in it.
HPZERO_WRAP(int, open, (const char *path, int flags, mode_t mode)) {
  if ((flags & O_TMPFILE) == O_TMPFILE && failing_calls.is_without_tmpfile) {
    errno = EOPNOTSUPP;
    return -1;
  }
  return fails_now(EMFILE) ? -1 : __real_open(path, flags, mode);
}
HPZERO_WRAP(int, fcntl, (int fd, int command, long argument)) {
  return fails_now(EMFILE) ? -1 : __real_fcntl(fd, command, argument);
}
HPZERO_WRAP(int, mkostemp, (char *path, int flags)) {
  return fails_now(EMFILE) ? -1 : __real_mkostemp(path, flags);
}
HPZERO_WRAP(int, ftruncate, (int fd, off_t size)) {
  return fails_now(ENOSPC) ? -1 : __real_ftruncate(fd, size);
}
HPZERO_WRAP(ssize_t, read, (int fd, void *to, size_t len)) {
  return fails_now(EIO) ? -1 : __real_read(fd, to, len);
}
HPZERO_WRAP(int, ioctl, (int fd, unsigned long request, void *argument)) {
  return fails_now(ENOTTY) ? -1 : __real_ioctl(fd, request, argument);
}
HPZERO_WRAP(int, statfs, (const char *path, struct statfs *out)) {
  return fails_now(ENOMEM) ? -1 : __real_statfs(path, out);
}
HPZERO_WRAP(int, fstatfs, (int fd, struct statfs *out)) {
  return fails_now(ENOMEM) ? -1 : __real_fstatfs(fd, out);
}
HPZERO_WRAP(int, eventfd, (unsigned value, int flags)) {
  return fails_now(EMFILE) ? -1 : __real_eventfd(value, flags);
}

// --- Threads -------------------------------------------------------------------------------------

HPZERO_WRAP(int, pthread_create,
            (pthread_t * thread, const pthread_attr_t *attributes, void *(*entry)(void *),
             void *argument)) {
  return fails_now() ? EAGAIN : __real_pthread_create(thread, attributes, entry, argument);
}
HPZERO_WRAP(long, syscall, (long number, long a, long b, long c, long d, long e, long f)) {
  while (number == SYS_sched_setscheduler && a != 0 && failing_calls.lifters_stop) {
    failing_calls.has_stopped = true;
    usleep(200);
  }
  if (number == SYS_memfd_create && fails_now(EMFILE)) return -1;
  return __real_syscall(number, a, b, c, d, e, f);
}
}
