// SPDX-License-Identifier: BSD-2-Clause
//
// What others have published of the same things, before and after: experiments print it beside
// their own figures, the report draws it beside them.
#ifndef HPZERO_BENCH_PUBLISHED_H
#define HPZERO_BENCH_PUBLISHED_H

namespace hpz::bench {

struct Published {
  const char *source;          // of whom, and what
  const char *before, *after;  // what was compared
  double before_ns, after_ns;
  const char *words;  // the figures as they were written, and what they come to
};

// Of an arm64 kernel that no longer maps each page in order to clear it: 2 MiB cleared, 100 MB
// allocated and touched.
inline constexpr Published kPublishedClear = {"an arm64 kernel, 2 MiB",
                                              "a mapping for each 4 KiB",
                                              "the whole extent at its address",
                                              349'500,
                                              131'000,
                                              "349.5 us -> 131 us, 62 % less"};
inline constexpr Published kPublishedAllocate = {"an arm64 kernel, 100 MB",
                                                 "a mapping for each 4 KiB",
                                                 "the whole extent at its address",
                                                 31'831'000,
                                                 18'193'000,
                                                 "31831 us -> 18193 us, 42 % less"};

// Of the Linux patches that avoid clearing hugetlb pages twice under init_on_alloc, of 64 GiB of
// 2 MiB pages: cleared by the kernel when it reserved and again when it handed them out, and from
// pages that were known to be zero.
inline constexpr Published kPublishedTwice = {"Linux, 64 GiB of 2 MiB pages",
                                              "cleared twice",
                                              "known to be zero",
                                              24'189'000'000,
                                              209'000'000,
                                              "24.189 s -> 0.209 s, 0.0086 of it"};

// Of the Linux patch series "mm: hugetlb: skip initialization of gigantic tail struct pages if
// freed by HVO" (2023), of 500 pages of 1 GiB: descriptors of all subpages initialised, and of
// those in use alone.
inline constexpr Published kPublishedOpen = {"Linux, 500 pages of 1 GiB",
                                             "descriptors of all subpages",
                                             "descriptors of those in use",
                                             3'900'000'000,
                                             1'320'000'000,
                                             "3.90 s -> 1.32 s, 0.34 of it"};

}  // namespace hpz::bench

#endif
