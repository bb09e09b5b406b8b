// SPDX-License-Identifier: BSD-2-Clause
//
// Memory to measure on: mapped on exactly the kind of pages asked for, populated before anything is
// timed (memory that the host has not backed yet is slower by a factor of fifty), kept until the
// last measurement. What the memory's history is when it is cleared is walk.h's.
#ifndef HPZERO_BENCH_MEMORY_H
#define HPZERO_BENCH_MEMORY_H

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "bench/pages.h"

namespace hpz::bench {

// One mapping. Destroying it unmaps it.
class Mapping {
 public:
  // Maps without populating. bytes: a multiple of the page size. Throws Refusal.
  Mapping(PageKind kind, uint64_t bytes);
  ~Mapping();
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;

  char *base() const { return base_; }
  uint64_t bytes() const { return bytes_; }

 private:
  char *base_ = nullptr;
  uint64_t bytes_ = 0;
  void *mapped_ = nullptr;  // with what alignment took
  uint64_t mapped_bytes_ = 0;
};

// Of the mappings that begin inside [base, base + bytes): what lies in memory, and what of it is
// mapped as transparent huge pages, of tmpfs too. 0 without /proc.
uint64_t resident_bytes(const char *base, uint64_t bytes);
uint64_t huge_bytes(const char *base, uint64_t bytes);

// Less than this part of transparent huge pages is said, or refused.
inline constexpr unsigned kEnoughHugePercent = 90;

// Makes [base, base + bytes) resident, reporting a shortage as false instead of by SIGBUS.
bool populate(char *base, uint64_t bytes);
// For memory that was there before: throws Refusal for a shortage.
void populate_or_throw(char *base, uint64_t bytes);

// A zero stored in every step.
void touch(char *base, uint64_t bytes, uint64_t step);

// Gives pages back, and takes them again; both throw where the kernel does not.
void release(char *base, uint64_t bytes);
void release_and_populate(char *base, uint64_t bytes);

// Whether this kernel gives back pages of that kind at all (hugetlb ones from Linux 5.18 on), and
// populates by itself (5.14). Both try, on memory that nobody has touched: no page is needed.
bool can_release(PageKind kind);
bool kernel_populates();

// Pages for mappings that come and go, until it is destroyed; nullptr for kinds without a pool.
// Throws Refusal.
std::unique_ptr<PageReservation> reserve_pages(PageKind kind, uint64_t bytes, int node = kAnyNode);

struct ArenaRequest {
  PageKind kind = PageKind::k4k;
  uint64_t set_bytes = 0;     // wanted for the set
  uint64_t least_bytes = 0;   // less than this is a refusal
  uint64_t fresh_bytes = 0;   // for mappings that come and go while measuring
  int node = kAnyNode;        // of the pool; for where pages lie see NodeBinding
  bool is_asked_for = false;  // by name: what cannot be had is then a refusal, with the remedy
};

// A set of populated memory, with the reservation of pages behind it.
class Arena {
 public:
  // progress is told the bytes populated so far. Throws Refusal.
  Arena(const ArenaRequest &request, const std::function<void(uint64_t)> &progress);

  PageKind kind() const { return kind_; }
  int node() const { return node_; }
  char *base() const { return mapping_->base(); }
  uint64_t bytes() const { return mapping_->bytes(); }
  uint64_t fresh_bytes() const { return fresh_bytes_; }

  // What was got, checked in /proc/self/smaps: "4GiB on 2 MiB pages (hugetlb), " and one of these.
  static constexpr std::string_view kFreeAlready = "all of them free already";
  static constexpr std::string_view kReserved = " of them reserved for this run";  // 2048 of them
  const std::string &summary() const { return summary_; }
  // The kernel did not give the pages that were asked for; empty if it did.
  const std::string &shortfall() const { return shortfall_; }

 private:
  void settle();
  void describe(const ArenaRequest &request);

  PageKind kind_;
  int node_ = kAnyNode;
  uint64_t fresh_bytes_ = 0;
  std::unique_ptr<PageReservation> reservation_;  // outlives the mapping: declared before it
  std::unique_ptr<Mapping> mapping_;
  std::string summary_, shortfall_;
};

}  // namespace hpz::bench

#endif
