/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Clears a buffer through another library. */
#include <stdio.h>
#include <string.h>

int vmm_clear(void *page, size_t len);

int main(void) {
  static char buffer[20000];
  memset(buffer, 1, sizeof buffer);
  if (!vmm_clear(buffer, sizeof buffer)) return 1;
  puts("consumer: ok");
  return 0;
}
