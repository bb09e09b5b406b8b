// SPDX-License-Identifier: BSD-2-Clause
//
// Transparent huge pages: whether they are to be had, and how many there are, by the kernel.
#ifndef HPZERO_TESTS_SUPPORT_TRANSPARENT_PAGES_H
#define HPZERO_TESTS_SUPPORT_TRANSPARENT_PAGES_H

#include <stddef.h>

#include <string>

namespace hpz::test {

// "", or why this process has none of 2 MiB, whatever it asks for: words for GTEST_SKIP. Where they
// are switched on there may be none together for the moment; the kernel makes some when it is asked
// again.
std::string why_no_transparent_pages();

// Of the mappings that are here in part: bytes by such pages, as the kernel counts them.
size_t transparent_bytes(const void *map, size_t map_bytes);

}  // namespace hpz::test

#endif
