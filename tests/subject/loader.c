/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Uses the library by dlopen alone, as a plug-in would: loader PATH. Loads, clears, unloads and
 * loads again. Exit status 0, or the number of the step that failed. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static unsigned char memory[3 * 4096];

static int use(const char *path, int flags) {
  void *const library = dlopen(path, flags | RTLD_LOCAL);
  void (*zero)(void *, size_t);
  int (*is_zero)(const void *, size_t);
  int (*init)(const void *);
  size_t i;
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  /* The cast that POSIX asks for and ISO C has no form of. */
  *(void **)&zero = dlsym(library, "hpz_zero");
  *(void **)&is_zero = dlsym(library, "hpz_is_zero");
  *(void **)&init = dlsym(library, "hpz_init");
  if (zero == NULL || is_zero == NULL || init == NULL) return 2;
  memset(memory, 0xA5, sizeof memory);
  zero(memory + 5, sizeof memory - 10);
  if (!is_zero(memory + 5, sizeof memory - 10) || is_zero(memory, sizeof memory)) return 3;
  if (init(NULL) != 0) return 4;
  memset(memory, 0xA5, sizeof memory);
  zero(memory, sizeof memory);
  for (i = 0; i < sizeof memory; ++i) {
    if (memory[i] != 0) return 5;
  }
  return dlclose(library) == 0 ? 0 : 6;
}

int main(int argc, char **argv) {
  int failed = 0;
  if (argc != 2) return 7;
  failed = use(argv[1], RTLD_NOW);
  if (failed == 0) failed = use(argv[1], RTLD_LAZY);
  if (failed == 0) failed = use(argv[1], RTLD_NOW);
  return failed;
}
