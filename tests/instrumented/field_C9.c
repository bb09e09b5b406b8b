/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Clears memory of malloc by every kernel, every call of zero.h and, where HAS_SPACES says that the
 * library has them, those of space.h that write, and branches on its content, which MemorySanitizer
 * reports where it was not told that it is initialised now: field_C9 everything|nothing. Exit
 * status 0, 1 not zero, 2 a result, 3 told too much. */
#include <hpzero/hpzero.h>
#include <sanitizer/msan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMargin = 128 };

/* Memory that nobody has initialised, with margins that nobody will. */
static unsigned char *fresh(size_t len, size_t offset) {
  unsigned char *const memory = malloc(len + 2 * kMargin + 64);
  unsigned char *at;
  if (memory == NULL) exit(2);
  __msan_poison(memory, len + 2 * kMargin + 64);
  at = memory + kMargin;
  at += (64 - (size_t)at % 64) % 64 + offset;
  return at;
}

static void check(const unsigned char *at, size_t len, const char *what) {
  size_t i;
  for (i = 0; i < len; ++i) {
    if (at[i] != 0) {
      fprintf(stderr, "%s: byte %zu of %zu is not zero\n", what, i, len);
      exit(1);
    }
  }
  /* -1: all of it is initialised. The bytes beside the range are not: */
  if (__msan_test_shadow(at, len) != -1 || __msan_test_shadow(at - 1, 1) != 0 ||
      __msan_test_shadow(at + len, 1) != 0) {
    fprintf(stderr, "%s: MemorySanitizer was told something else than what was written\n", what);
    exit(3);
  }
}

static void pages(const char *kernel, size_t offset, size_t page_bytes) {
  unsigned char *at[9];
  void *list[9];
  size_t i;
  for (i = 0; i < 9; ++i) list[i] = at[i] = fresh(page_bytes, offset);
  if (kernel == NULL) {
    hpz_zero_pages(list, 9, page_bytes);
  } else if (hpz_zero_pages_with(kernel, list, 9, page_bytes) != 0) {
    exit(2);
  }
  for (i = 0; i < 9; ++i) check(at[i], page_bytes, "pages");
}

#ifdef HAS_SPACES
/* By the calling thread. An extent in the middle: what is beside it is nobody's. Touched before, so
 * that reset has something to write: of what it leaves alone, zeroes as well, nobody is told. */
static void spaces(size_t len) {
  int resets;
  for (resets = 0; resets < 2; ++resets) {
    unsigned char *const at = fresh(len + 2, 1);
    const struct hpz_range range = {at, len + 2};
    const struct hpz_extent extent = {1, len};
    struct hpz_space *space = NULL;
    int result;
    memset(at, 0xA5, len + 2);
    __msan_poison(at, len + 2);
    if (hpz_space_direct(&range, 1, NULL, &space) != 0) exit(2);
    __msan_unpoison(&space, sizeof space);
    result = resets ? hpz_space_reset(space, NULL, &extent, 1, NULL, NULL)
                    : hpz_space_zero(space, NULL, &extent, 1, NULL, NULL);
    if (result != 0) exit(2);
    check(at + 1, len, resets ? "hpz_space_reset" : "hpz_space_zero");
    hpz_space_destroy(space);
  }
}
#else
static void spaces(size_t len) {
  (void)len;
}
#endif

static void everything(void) {
  static const size_t lengths[] = {1, 63, 64, 127, 128, 1000, 1025, 4096, 5001, 40000, 300001};
  static void (*const policies[])(void *, size_t) = {hpz_zero, hpz_zero_cached, hpz_zero_stream};
  size_t i, j, offset;
  for (i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
    const size_t len = lengths[i];
    spaces(len);
    for (offset = 0; offset < 64; offset += 21) {
      for (j = 0; j < 3; ++j) {
        unsigned char *const at = fresh(len, offset);
        policies[j](at, len);
        check(at, len, "policy");
        if (hpz_is_zero(at, len) != 1) exit(1);
      }
      for (j = 0; j < hpz_kernel_count(); ++j) {
        struct hpz_kernel_info info = HPZ_KERNEL_INFO_INIT;
        unsigned char *const at = fresh(len, offset);
        if (hpz_kernel_info_get(j, &info) != 0) exit(2);
        /* What an uninstrumented library writes into our struct, we know only from it. */
        __msan_unpoison(&info, sizeof info);
        if (info.missing != NULL) continue;
        if (hpz_zero_with(info.id, at, len) != 0) exit(2);
        check(at, len, info.id);
        if (len <= 5001) pages(info.id, offset, len);
      }
      if (len <= 5001) pages(NULL, offset, len);
    }
  }
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "nothing") == 0) {
    check(fresh(5001, 1), 5001, "nothing");
    return 0;
  }
  if (argc != 2 || strcmp(argv[1], "everything") != 0) return 2;
  everything();
  puts("field_C9: ok");
  return 0;
}
