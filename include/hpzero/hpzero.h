/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libhpzero: clears memory as fast as the machine can write. All of the public interface; the tour:
 *
 *   hpz_zero(p, n);            like memset(p, 0, n), by the best instructions of this CPU
 *   hpz_zero_cached(p, n);     ... a reader is near
 *   hpz_zero_stream(p, n);     ... a reader is far
 *   hpz_zero_pages(v, k, n);   k scattered pages, interleaved, one fence
 *   hpz_is_zero(p, n);         1 if all of it reads zero
 *   hpz_init(NULL);            optional: second opinion, profile; before a sandbox closes
 *   hpz_plan_info_get(...);    what was chosen, and why (kernels.h)
 *
 * Errors are negative errno values. Nothing prints, throws or aborts; nothing happens at load time.
 */
#ifndef HPZERO_HPZERO_H
#define HPZERO_HPZERO_H

#include <hpzero/kernels.h>
#include <hpzero/version.h>
#include <hpzero/zero.h>

#endif
