/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A library on top of libhpzero. */
#include <hpzero/zero.h>

int vmm_clear(void *page, size_t len);

int vmm_clear(void *page, size_t len) {
  hpz_zero_stream(page, len);
  return hpz_is_zero(page, len);
}
