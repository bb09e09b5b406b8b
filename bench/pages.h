// SPDX-License-Identifier: BSD-2-Clause
//
// The kinds of pages that memory can be measured on, and huge pages of the kernel's pools: how many
// are free, reserving more, putting them back. Mapping them is memory.h's.
#ifndef HPZERO_BENCH_PAGES_H
#define HPZERO_BENCH_PAGES_H

#include <cstdint>
#include <string>
#include <string_view>

namespace hpz::bench {

enum class PageKind { k4k, kThp, k2m, k1g };

inline constexpr PageKind kAllPageKinds[] = {PageKind::k1g, PageKind::k2m, PageKind::kThp,
                                             PageKind::k4k};

std::string_view page_kind_id(PageKind kind);     // as in --pages
std::string_view page_kind_title(PageKind kind);  // as in a heading
PageKind parse_page_kind(std::string_view id);    // throws Refusal

uint64_t page_bytes(PageKind kind);  // what the kernel hands out at a time
constexpr bool is_pool_kind(PageKind kind) {
  return kind == PageKind::k2m || kind == PageKind::k1g;
}

// Where there are several memory nodes, each has its part of a pool; this is the whole pool.
inline constexpr int kAnyNode = -1;

struct PagePool {
  bool exists = false;
  uint64_t total = 0, free = 0;  // pages; free: nobody has reserved them either
};
PagePool page_pool(PageKind kind, int node = kAnyNode);

// Sees to it that so many pages are free in the pool, reserving what is missing where that is
// permitted. May get fewer: ask page_pool. What was added is taken away again by the destructor,
// and on any signal that ends the process but SIGKILL (cleanup.h).
class PageReservation {
 public:
  PageReservation(PageKind kind, uint64_t pages, int node = kAnyNode);
  ~PageReservation();
  PageReservation(const PageReservation &) = delete;
  PageReservation &operator=(const PageReservation &) = delete;

  uint64_t added() const { return added_; }
  const std::string &trouble() const { return trouble_; }  // why fewer, if so

 private:
  int note_ = -1;
  uint64_t added_ = 0;
  std::string trouble_;
};

}  // namespace hpz::bench

#endif
