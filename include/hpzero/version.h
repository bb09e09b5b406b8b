/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The version of libhpzero and the linkage macros that every public header needs. This file is the
 * one home of the version: the build, the packages and the tests read it from here. */
#ifndef HPZERO_VERSION_H
#define HPZERO_VERSION_H

#include <stddef.h>
#include <stdint.h>

#if UINTPTR_MAX != UINT64_MAX
#error "libhpzero supports 64-bit targets only"
#endif

#define HPZ_VERSION_MAJOR 0
#define HPZ_VERSION_MINOR 1
#define HPZ_VERSION_PATCH 0

/* Orders as the versions do: HPZ_VERSION_NUMBER >= HPZ_VERSION_ENCODE(0, 1, 0). */
#define HPZ_VERSION_ENCODE(major, minor, patch) (((major)*1000 + (minor)) * 1000 + (patch))
#define HPZ_VERSION_NUMBER \
  HPZ_VERSION_ENCODE(HPZ_VERSION_MAJOR, HPZ_VERSION_MINOR, HPZ_VERSION_PATCH)

#if defined(__cplusplus)
#define HPZ_NOEXCEPT noexcept
#define HPZ_EXTERN_C_BEGIN extern "C" {
#define HPZ_EXTERN_C_END }
/* What C makes of an enum: in C++ any number is then a value of it, which a C caller may pass. */
#define HPZ_ENUM_BASE : unsigned int
#else
#define HPZ_NOEXCEPT
#define HPZ_EXTERN_C_BEGIN
#define HPZ_EXTERN_C_END
#define HPZ_ENUM_BASE
#endif

#define HPZ_API __attribute__((visibility("default")))

HPZ_EXTERN_C_BEGIN

/* The version of the library that runs, "major.minor.patch", which may be newer than the header's.
 *
 * Result: a string that lives as long as the process. Thread rule: any thread, any time,
 * async-signal-safe. Since 0.1.0. */
HPZ_API const char *hpz_version(void) HPZ_NOEXCEPT;

HPZ_EXTERN_C_END

#endif
