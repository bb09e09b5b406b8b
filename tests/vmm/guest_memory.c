// SPDX-License-Identifier: BSD-2-Clause
//
// Runs in a guest: guest_memory FROM BYTES. Looks at all of that physical memory, which the guest's
// kernel has been told to leave alone, says how many pages it looked at and what in them was not
// zero, and leaves a secret there, as guests do.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kPageBytes = 4096, kSecret = 0x5A };

static int fail(const char *what) {
  printf("GUEST: %s: %s\n", what, strerror(errno));
  return 1;
}

static size_t bytes_not_zero(const unsigned char *page) {
  size_t count = 0;
  for (size_t i = 0; i < kPageBytes; ++i) count += page[i] != 0;
  return count;
}

// By words: every instruction is emulated.
static int is_zero(const unsigned char *page) {
  uint64_t words[kPageBytes / sizeof(uint64_t)], any = 0;
  memcpy(words, page, sizeof words);
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) any |= words[i];
  return any == 0;
}

int main(int count, char **words) {
  if (count != 3) return 2;
  const uint64_t from = strtoull(words[1], NULL, 0), bytes = strtoull(words[2], NULL, 0);
  const int memory = open("/dev/mem", O_RDWR | O_CLOEXEC);
  if (memory < 0) return fail("open /dev/mem");
  unsigned char *const begin =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, (off_t)from);
  if (begin == MAP_FAILED) return fail("mmap /dev/mem");
  uint64_t pages = 0, spoiled_pages = 0, spoiled_bytes = 0;
  for (uint64_t at = 0; at + kPageBytes <= bytes; at += kPageBytes, ++pages) {
    if (is_zero(begin + at)) continue;
    ++spoiled_pages;
    spoiled_bytes += bytes_not_zero(begin + at);
  }
  printf("GUEST: checked %llu pages, %llu bytes not zero, in %llu pages\n",
         (unsigned long long)pages, (unsigned long long)spoiled_bytes,
         (unsigned long long)spoiled_pages);
  if (spoiled_bytes == 0) printf("GUEST: MEMORY READS ZERO\n");
  memset(begin, kSecret, bytes);
  return 0;
}
