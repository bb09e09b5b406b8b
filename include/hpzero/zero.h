/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Clearing memory in the calling thread.
 *
 * Rules for all calls here, where a declaration says nothing else:
 *  - [dst, dst + len) is written, nothing outside it; afterwards every byte of it reads zero.
 *  - Length 0 does nothing and succeeds for any pointer, NULL included.
 *  - All stores are ordered before the return, as after memset: a flag that the caller sets
 *    afterwards is not seen before the zeroes are (kernels with weakly ordered stores are followed
 *    by a fence).
 *  - Thread rule: any thread, any time; lock-free and async-signal-safe. The first call in the
 *    process asks the CPU what it can do, by its own instructions, and reads the environment: no
 *    file is opened, no memory allocated, no lock taken; it wants 4 KiB of stack more than memset.
 *    hpz_init is not needed before it.
 *  - A fault (unmapped, read-only, truncated) is a signal, as with memset. A range that wraps
 *    around the address space is -EINVAL where there is a result, and undefined where there is
 *    none.
 *  - Ordinary write-back memory only. On device, write-combining or uncached mappings use
 *    hpz_zero_with("word64", ...), which makes aligned 8-byte ordinary stores alone when dst and
 *    len are multiples of 64.
 *  - MemorySanitizer is told of what was written. */
#ifndef HPZERO_ZERO_H
#define HPZERO_ZERO_H

#include <hpzero/version.h>

HPZ_EXTERN_C_BEGIN

/* hpz_zero never times a memory access. For threads that forbid RDTSC after the start
 * (PR_SET_TSC, strict seccomp), where the cache probe of hpz_zero would be fatal. Must be given
 * before the first call of hpz_zero in such a thread. Since 0.1.0. */
#define HPZ_INIT_NO_PROBE UINT32_C(0x1)

/* Compares the CPUs of the calling thread's affinity mask in what kernels rely on (arm64: the block
 * size of DC ZVA), each read on that CPU by a thread that lives for this, and does without the
 * kernels concerned where they differ or where that cannot be found out. Linux checks the same at
 * boot and taints the kernel otherwise, hence not by default. Since 0.1.0. */
#define HPZ_INIT_CHECK_CPUS UINT32_C(0x2)

/* Any field but size that is 0 or NULL means its default. Since 0.1.0. */
struct hpz_init_options {
  size_t size;         /* of this struct, filled by HPZ_INIT_OPTIONS_INIT */
  uint32_t flags;      /* HPZ_INIT_*, or 0 */
  const char *profile; /* path of a profile written by "hpzero-bench tune"; NULL: HPZ_PROFILE of the
                          environment, else none */
};

#define HPZ_INIT_OPTIONS_INIT \
  { sizeof(struct hpz_init_options), 0, NULL }

/* Detects the CPU again with a second opinion (libcpuinfo, where the library was built with it),
 * reads the profile, calibrates the cache probe and publishes the resulting plan. Optional: without
 * it the plan of the first call stays. Call it before a sandbox closes: it opens files and
 * allocates memory, and nothing else in this header ever does. May be called again, with other
 * options; what each distinct outcome takes, under 1 KiB, is never freed, since readers may hold
 * it.
 *
 * options: NULL means defaults.
 * Result: 0; -EINVAL for a struct or flags that this version does not know, -ENOMEM: nothing
 * changed. If options->profile names a file that cannot be used: -errno of opening or reading it,
 * -EFBIG above 64 KiB, -EBADMSG for what is no profile, -ENODEV for a profile of another CPU; the
 * automatic plan is then in force, and hpz_plan_info_get says why. A bad file named by HPZ_PROFILE
 * is not an error: the automatic plan is in force, and hpz_plan_info_get says why.
 * Thread rule: any thread; not async-signal-safe. Since 0.1.0. */
HPZ_API int hpz_init(const struct hpz_init_options *options) HPZ_NOEXCEPT;

/* Clears like memset(dst, 0, len), by the kernel that suits the length and, between
 * probe_from_bytes and probe_upto_bytes of hpz_plan_info, the present place of the memory: one or
 * two timed read-modify-writes inside the range tell cached memory from memory that is not. Since
 * 0.1.0. */
HPZ_API void hpz_zero(void *dst, size_t len) HPZ_NOEXCEPT;

/* Clears memory that will be read soon: leaves as much of it in cache as fits. Since 0.1.0. */
HPZ_API void hpz_zero_cached(void *dst, size_t len) HPZ_NOEXCEPT;

/* Clears memory that nobody will read soon: goes past the caches where the CPU can, so that others
 * keep their lines. Since 0.1.0. */
HPZ_API void hpz_zero_stream(void *dst, size_t len) HPZ_NOEXCEPT;

/* Clears count pages of page_bytes each, like hpz_zero_stream for each of them, faster: the pages
 * are interleaved, which hides page walks and memory latency, and fenced once. Any page_bytes and
 * any alignment; multiples of 64 bytes at 64-byte boundaries are fastest. Pages may repeat.
 * count 0 or page_bytes 0 does nothing. Since 0.1.0. */
HPZ_API void hpz_zero_pages(void *const *pages, size_t count, size_t page_bytes) HPZ_NOEXCEPT;

/* Clears by the named kernel of hpz_kernel_info_get, whatever the plan says. The kernel clears
 * whole 64-byte lines; memset clears what is left at the edges.
 *
 * Result: 0; -ENOENT no such kernel (NULL included), -EOPNOTSUPP this CPU or HPZ_CPU_DISABLE lacks
 * it, -EINVAL the range wraps around the address space. On error nothing is written. Since 0.1.0.
 */
HPZ_API int hpz_zero_with(const char *kernel, void *dst, size_t len) HPZ_NOEXCEPT;

/* As hpz_zero_pages, by the named kernel. A kernel with one lane (rep_stosb) clears page after
 * page, one instruction each. Result: as hpz_zero_with; a page that wraps is -EINVAL, and nothing
 * is written to any page. Since 0.1.0. */
HPZ_API int hpz_zero_pages_with(const char *kernel, void *const *pages, size_t count,
                                size_t page_bytes) HPZ_NOEXCEPT;

/* Tells whether every byte of [src, src + len) is zero, at the speed of reading memory, stopping
 * soon after the first byte that is not. Result: 1 or 0; 1 for length 0. Since 0.1.0. */
HPZ_API int hpz_is_zero(const void *src, size_t len) HPZ_NOEXCEPT;

HPZ_EXTERN_C_END

#endif
