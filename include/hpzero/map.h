/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A map: what of a space is known to be zero, so that nothing is cleared twice.
 *
 *   state    what is known                  who makes it so
 *   dirty    nothing: the default for all   hpz_map_set, hpz_map_set_dirty_bitmap
 *   zero     reads zero                     hpz_map_zero, hpz_map_populate, hpz_map_set
 *   fresh    reads zero, not resident       hpz_map_release, hpz_map_set
 *
 * The map remembers; it does not watch. Whoever writes to memory that the map calls zero or fresh
 * must say so (HPZ_PAGE_DIRTY), after the write and before anybody relies on the map: a mark covers
 * the writes that happened before it. The writes of a guest are in KVM's dirty log; those by the
 * VMM itself, by vhost or by a device (VFIO) are not in it, and are the caller's to say.
 *
 * There is one byte of state for each page, and for the bitmaps a table of 8 bytes for each page,
 * which is not touched before the first page is partly dirty; while a page is, a bitmap of its
 * subpages. Nothing of it is initialised, whatever the length.
 *
 * Rules for all calls here:
 *  - Thread rule: any thread, several at once, also on the same pages; not async-signal-safe. A
 *    page that is marked while it is being cleared ends dirty. Of two calls that want the same
 *    bytes cleared one clears and the other waits; neither returns success before they are zero.
 *  - -ECHILD: the map was created in another process, and nothing was done, or this is a child that
 *    a progress callback has forked. (hpz_map_destroy frees it.)
 *
 * System calls, of the verbs besides those of space.h and team.h. Here too brk, mmap, mprotect and
 * munmap are malloc's, but for the tables of large maps.
 *   hpz_map_create: brk getpid mmap munmap
 *   hpz_map_destroy: brk munmap
 *   a change of a map: brk getpid mmap mprotect munmap sched_yield
 *   hpz_map_counts_get: getpid sched_yield
 *   a map's verb: brk clock_gettime futex getpid mmap mprotect munmap sched_yield
 */
#ifndef HPZERO_MAP_H
#define HPZERO_MAP_H

#include <hpzero/space.h>
#include <hpzero/version.h>

HPZ_EXTERN_C_BEGIN

struct hpz_map; /* opaque */

/* Since 0.1.0. */
enum hpz_page_state HPZ_ENUM_BASE {
  HPZ_PAGE_DIRTY = 0,
  HPZ_PAGE_ZERO = 1,
  HPZ_PAGE_FRESH = 2 /* reads zero, not resident */
};

/* Any field but size and len that is 0 means its default. Since 0.1.0. */
struct hpz_map_options {
  size_t size;            /* of this struct, filled by HPZ_MAP_OPTIONS_INIT */
  uint64_t len;           /* bytes that the map is about, up to 2^63; the last page may be short */
  uint64_t page_bytes;    /* a power of two of at least subpage_bytes, and best a multiple of the
                             pages of the memory: what hpz_map_release covers of a larger one in
                             part is cleared, stays resident, is called fresh, and is not given
                             back later. 0: 2 MiB. At most 2^40 pages */
  uint64_t subpage_bytes; /* a power of two of at least 64: what is remembered of a page that is
                             partly dirty, and a bit of a dirty bitmap. 0: 4 KiB, or page_bytes if
                             that is less */
  int32_t initial_state;  /* enum hpz_page_state, of all pages */
  uint32_t flags;         /* none yet: 0 */
};

#define HPZ_MAP_OPTIONS_INIT \
  { sizeof(struct hpz_map_options), 0, 0, 0, HPZ_PAGE_DIRTY, 0 }

/* Bytes in each state: the first three add up to the length of the map. What is being cleared
 * or released counts as dirty, but for whole pages that were zero: they count as zero. Exact when
 * nobody changes the map meanwhile; otherwise each page is counted once, in a state that it had
 * during the call. Since 0.1.0. */
struct hpz_map_counts {
  size_t size; /* of this struct, filled by HPZ_MAP_COUNTS_INIT */
  uint64_t dirty_bytes;
  uint64_t zero_bytes;
  uint64_t fresh_bytes;
  uint64_t detail_bytes; /* memory in use for bitmaps of subpages */
  uint64_t memory_bytes; /* memory of the map with these; of large maps this is address space, and
                            as much of it resident as was ever written to: nothing at first */
};

#define HPZ_MAP_COUNTS_INIT \
  { sizeof(struct hpz_map_counts), 0, 0, 0, 0, 0 }

/* Result: 0; -EINVAL: options or out NULL, a struct, flags or state that this version does not
 * know, a length of 0 or above 2^63, or sizes of pages as they must not be; -ENOMEM. Since 0.1.0.
 */
HPZ_API int hpz_map_create(const struct hpz_map_options *options,
                           struct hpz_map **out) HPZ_NOEXCEPT;

/* Frees the map; the memory that it is about is untouched. NULL does nothing. No other call may be
 * at work on it. Since 0.1.0. */
HPZ_API void hpz_map_destroy(struct hpz_map *map) HPZ_NOEXCEPT;

/* Says what [offset, offset + len) is. Dirty is rounded outwards to whole subpages, zero and fresh
 * inwards, and parts of pages that are said to be fresh are zero. What is being cleared at the time
 * ends dirty if it is marked dirty, and is left to who clears it otherwise. (Where there is no
 * memory for a bitmap the whole page is dirty: no error.)
 *
 * Result: 0; -EINVAL: map NULL, a range that wraps or ends beyond the map, no such state; -ECHILD.
 * Since 0.1.0. */
HPZ_API int hpz_map_set(struct hpz_map *map, uint64_t offset, uint64_t len,
                        enum hpz_page_state state) HPZ_NOEXCEPT;

/* Marks as dirty the subpages whose bits are set. The subpage at offset + i * subpage_bytes has bit
 * i % 8 of byte i / 8 (where the CPU is little-endian that is bit i % 64 of words[i / 64]), as in
 * KVM's dirty log on every CPU (KVM_GET_DIRTY_LOG; Linux, Documentation/virt/kvm/api.rst), where
 * subpages are the host's pages. Clear bits change nothing, also those beyond the end of the map,
 * for KVM pads its bitmaps.
 *
 * Result: 0; -EINVAL: map NULL, words NULL with bits, an offset that is no multiple of
 * subpage_bytes or beyond the map, a set bit beyond it: nothing was marked then; -ECHILD. Since
 * 0.1.0. */
HPZ_API int hpz_map_set_dirty_bitmap(struct hpz_map *map, uint64_t offset, const uint64_t *words,
                                     size_t bits) HPZ_NOEXCEPT;

/* Result: 0; -EINVAL: a pointer is NULL, or size that of no such struct; -ECHILD. Since 0.1.0. */
HPZ_API int hpz_map_counts_get(const struct hpz_map *map, struct hpz_map_counts *out) HPZ_NOEXCEPT;

/* The verbs: those of space.h on [offset, offset + len) of a space, which the map describes offset
 * by offset, minus what is known. Team, options, report and results are those of space.h, and
 *  - the report is of all the jobs that it takes together; skipped_bytes has what the map knew
 *    (populate: it is in populated_bytes), and what another call has cleared while this one waited
 *    for it.
 *  - What is done is recorded when it is done. After an error, a cancel or a deadline the rest is
 *    dirty as before, and so are pages or subpages of which only a part was done.
 *  - -EINVAL also: map NULL, a range that wraps or ends beyond the map or the space.
 *  - -EDEADLK: a progress callback of a call on this map has called, and would have to wait for
 *    what a call has in hands. What it has done so far is recorded.
 *  - What is marked dirty during the call may be dirty after it. */

/* Clears what is not known to be zero, neighbours as one extent; zero afterwards, and what is fresh
 * stays so. Exactly the range: of a subpage that it covers in part the rest stays as it is, and the
 * subpage as dirty as it was. Since 0.1.0. */
HPZ_API int hpz_map_zero(struct hpz_map *map, struct hpz_space *space, struct hpz_team *team,
                         uint64_t offset, uint64_t len, const struct hpz_job_options *options,
                         struct hpz_job_report *report) HPZ_NOEXCEPT;

/* Makes all of it resident, by hpz_space_populate, and then clears what is dirty, by
 * hpz_space_zero; zero afterwards, also as a whole a fresh page of which this was a part. Since
 * 0.1.0. */
HPZ_API int hpz_map_populate(struct hpz_map *map, struct hpz_space *space, struct hpz_team *team,
                             uint64_t offset, uint64_t len, const struct hpz_job_options *options,
                             struct hpz_job_report *report) HPZ_NOEXCEPT;

/* Gives back what is not fresh, by hpz_space_release; fresh afterwards, or zero what the range has
 * of a page in part. After an error pages that were zero still are, unless something of them was
 * marked meanwhile: these are dirty as a whole. Of a page that was partly dirty what the range has
 * may be dirty. Since 0.1.0. */
HPZ_API int hpz_map_release(struct hpz_map *map, struct hpz_space *space, struct hpz_team *team,
                            uint64_t offset, uint64_t len, const struct hpz_job_options *options,
                            struct hpz_job_report *report) HPZ_NOEXCEPT;

HPZ_EXTERN_C_END

#endif
