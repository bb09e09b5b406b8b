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
 *   hpz_team_create(...);      pinned workers (team.h), for
 *   hpz_space_direct(...);     memory as one run of offsets (space.h), and its verbs
 *   hpz_space_zero(...);       clear it, by all threads that help
 *   hpz_space_populate(...);   make it resident, with errors instead of SIGBUS
 *   hpz_space_reset(...);      clear what was touched
 *   hpz_space_release(...);    give it back
 *   hpz_map_create(...);       what is known to be zero (map.h), and the verbs minus that
 *   hpz_pool_take(...);        pages that are zero before you ask (pool.h)
 *
 * Errors are negative errno values. Nothing throws or aborts, nothing prints (but see
 * hpz_team_create); nothing happens at load time.
 */
#ifndef HPZERO_HPZERO_H
#define HPZERO_HPZERO_H

#include <hpzero/kernels.h>
#include <hpzero/map.h>
#include <hpzero/pool.h>
#include <hpzero/space.h>
#include <hpzero/team.h>
#include <hpzero/version.h>
#include <hpzero/zero.h>

#endif
