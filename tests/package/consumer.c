/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A C program that uses libhpzero as a foreign program would: clears poisoned memory by every call
 * and every kernel this CPU has, and looks at each byte, those outside the range included. Prints
 * "consumer: ok" and what it did. C11, nothing but the C library. */
#include <errno.h>
#include <hpzero/hpzero.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 18, POISON = 0xA5 };

static unsigned char *buffer;
static size_t ranges;

static void fail(const char *what, size_t offset, size_t len) {
  fprintf(stderr, "consumer: %s: wrong at offset %zu, length %zu\n", what, offset, len);
  exit(1);
}

static void look(const char *what, size_t offset, size_t len) {
  for (size_t i = 0; i < BUFFER_BYTES; ++i) {
    const int inside = i >= offset && i - offset < len;
    if (buffer[i] != (inside ? 0 : POISON)) fail(what, offset, len);
  }
  if (!hpz_is_zero(buffer + offset, len)) fail("hpz_is_zero of zeroes", offset, len);
  if (len != 0) {
    buffer[offset + len - 1] = 1;
    if (hpz_is_zero(buffer + offset, len)) fail("hpz_is_zero of a one", offset, len);
  }
  ++ranges;
}

static void try_range(size_t offset, size_t len) {
  memset(buffer, POISON, BUFFER_BYTES);
  hpz_zero(buffer + offset, len);
  look("hpz_zero", offset, len);
  memset(buffer, POISON, BUFFER_BYTES);
  hpz_zero_cached(buffer + offset, len);
  look("hpz_zero_cached", offset, len);
  memset(buffer, POISON, BUFFER_BYTES);
  hpz_zero_stream(buffer + offset, len);
  look("hpz_zero_stream", offset, len);

  memset(buffer, POISON, BUFFER_BYTES);
  void *const halves[2] = {buffer + offset, buffer + offset + len / 2};
  hpz_zero_pages(halves, 2, len / 2);
  look("hpz_zero_pages", offset, len / 2 * 2);
}

int main(void) {
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", HPZ_VERSION_MAJOR, HPZ_VERSION_MINOR,
           HPZ_VERSION_PATCH);
  if (strcmp(version, hpz_version()) != 0) {
    fprintf(stderr, "consumer: header %s, library %s\n", version, hpz_version());
    return 1;
  }
  buffer = malloc(BUFFER_BYTES);
  if (buffer == NULL) return 1;

  static const size_t offsets[] = {0, 1, 63, 64, 4095};
  static const size_t lengths[] = {0, 1, 63, 64, 65, 4096, 5000, 65536, 200000};
  const size_t offset_count = sizeof offsets / sizeof *offsets;
  const size_t length_count = sizeof lengths / sizeof *lengths;
  hpz_zero(NULL, 0);
  for (size_t i = 0; i < offset_count; ++i) {
    for (size_t k = 0; k < length_count; ++k) try_range(offsets[i], lengths[k]);
  }

  const int started = hpz_init(NULL);
  if (started != 0) {
    fprintf(stderr, "consumer: hpz_init: %s\n", strerror(-started));
    return 1;
  }
  try_range(3, 150000);

  size_t usable = 0;
  for (size_t i = 0; i < hpz_kernel_count(); ++i) {
    struct hpz_kernel_info kernel = HPZ_KERNEL_INFO_INIT;
    if (hpz_kernel_info_get(i, &kernel) != 0) return 1;
    memset(buffer, POISON, BUFFER_BYTES);
    const int result = hpz_zero_with(kernel.id, buffer + 7, 100000);
    if (kernel.missing != NULL) {
      if (result != -EOPNOTSUPP) fail(kernel.id, 7, 0);
      look(kernel.id, 7, 0);
      continue;
    }
    if (result != 0) fail(kernel.id, 7, 100000);
    look(kernel.id, 7, 100000);
    ++usable;
  }
  if (hpz_zero_with("no_such_kernel", buffer, 1) != -ENOENT) fail("unknown kernel", 0, 1);
  struct hpz_plan_info plan = HPZ_PLAN_INFO_INIT;
  if (hpz_plan_info_get(HPZ_POLICY_STREAM, &plan) != 0 || plan.bands == 0) return 1;

  free(buffer);
  printf("consumer: ok: %zu ranges, %zu kernels, plan from %s\n", ranges, usable, plan.source);
  return usable == 0;
}
