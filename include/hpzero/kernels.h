/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the library can do on this CPU, and what it has chosen: the table of clearing kernels and
 * the plan. Everything here is for people, tests and tools; clearing needs none of it.
 *
 * Output structs: the caller sets size (the _INIT macros do); the library writes min(size, its own)
 * bytes, zeroes the rest and leaves size as it was. Strings live as long as the process. Thread
 * rule for all calls: any thread; not async-signal-safe. All of it since 0.1.0. */
#ifndef HPZERO_KERNELS_H
#define HPZERO_KERNELS_H

#include <hpzero/version.h>

HPZ_EXTERN_C_BEGIN

/* What a kernel is for: hpz_kernel_info.roles. */
#define HPZ_ROLE_CACHED UINT32_C(0x1) /* ordinary stores: the lines stay in cache */
#define HPZ_ROLE_BULK UINT32_C(0x2)   /* long extents that fit a cache */
#define HPZ_ROLE_STREAM UINT32_C(0x4) /* past the caches */
#define HPZ_ROLE_LIBC UINT32_C(0x8)   /* the C library's own */

/* hpz_kernel_info.flags: weakly ordered stores; the library adds the fence. */
#define HPZ_KERNEL_NEEDS_FENCE UINT32_C(0x1)

struct hpz_kernel_info {
  size_t size;          /* of this struct, filled by HPZ_KERNEL_INFO_INIT */
  const char *id;       /* for hpz_zero_with and HPZ_KERNEL */
  const char *summary;  /* one line */
  const char *missing;  /* features that this CPU lacks, comma-separated; NULL if usable */
  uint32_t roles;       /* HPZ_ROLE_* */
  uint32_t flags;       /* HPZ_KERNEL_* */
  uint32_t block_bytes; /* what one step clears, on this CPU */
  uint32_t lanes;       /* slices that one long range is cut into, to be cleared interleaved */
  const char *avoided;  /* quirks of this CPU for which the plan passes it over; NULL if none */
  uint64_t lanes_from_bytes; /* shorter ranges are cleared as one slice */
};

#define HPZ_KERNEL_INFO_INIT \
  { sizeof(struct hpz_kernel_info), NULL, NULL, NULL, 0, 0, 0, 0, NULL, 0 }

enum hpz_policy HPZ_ENUM_BASE {
  HPZ_POLICY_AUTO = 0,   /* hpz_zero */
  HPZ_POLICY_CACHED = 1, /* hpz_zero_cached */
  HPZ_POLICY_STREAM = 2  /* hpz_zero_stream, hpz_zero_pages */
};

struct hpz_plan_info {
  size_t size;    /* of this struct, filled by HPZ_PLAN_INFO_INIT */
  uint32_t bands; /* entries of band in use */
  struct {
    uint64_t upto_bytes; /* lengths up to this, the last one UINT64_MAX */
    const char *kernel;  /* id */
  } band[8];             /* HPZ_POLICY_AUTO: what runs when the probe finds the memory cached */
  const char *source;    /* where the bands come from, and why not from elsewhere */
  uint64_t l1_bytes;     /* caches as the CPU reports them, 0 if it does not */
  uint64_t l2_bytes;
  uint64_t llc_bytes;
  uint64_t probe_from_bytes; /* HPZ_POLICY_AUTO: lengths for which the memory's place decides, */
  uint64_t probe_upto_bytes; /* both inclusive; both 0: no probe */
  uint64_t probe_ticks;      /* an access that takes longer missed the caches; 0: not calibrated
                                yet, UINT64_MAX: the counter tells nothing here, no probe */
  const char *features;      /* what was detected (and not disabled), comma-separated */
  const char *cpu;           /* identity that a profile must carry: vendor-family-model-stepping */
};

#define HPZ_PLAN_INFO_INIT \
  { sizeof(struct hpz_plan_info), 0, {{0, NULL}}, NULL, 0, 0, 0, 0, 0, 0, NULL, NULL }

/* Number of kernels in this build, usable here or not. Since 0.1.0. */
HPZ_API size_t hpz_kernel_count(void) HPZ_NOEXCEPT;

/* Describes kernel index (0 to hpz_kernel_count() - 1), in order of preference within a role.
 * Result: 0; -EINVAL index out of range, out NULL or out->size too small to hold size itself or
 * more than 4 KiB; -ENOMEM. Since 0.1.0. */
HPZ_API int hpz_kernel_info_get(size_t index, struct hpz_kernel_info *out) HPZ_NOEXCEPT;

/* Describes the plan in force for a policy; the first call makes it, as the first hpz_zero would.
 * Result: 0; -EINVAL unknown policy, out NULL or out->size too small to hold size itself or more
 * than 4 KiB; -ENOMEM. Since 0.1.0. */
HPZ_API int hpz_plan_info_get(enum hpz_policy policy, struct hpz_plan_info *out) HPZ_NOEXCEPT;

HPZ_EXTERN_C_END

#endif
