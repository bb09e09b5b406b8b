// SPDX-License-Identifier: BSD-2-Clause
#include "bench/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <stdexcept>

#include "bench/nodes.h"
#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/text_file.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE \
  23  // Linux 5.14; the headers of Debian 12 have it, those of musl do not
#endif

namespace hpz::bench {
namespace {

// Bytes populated between two reports of progress. Larger: a progress line that seems to hang on
// memory that the host backs at 0.4 GB/s. Smaller: more system calls.
constexpr uint64_t kPopulateStep = 64 * kMiB;

// Stores all over a set that was just populated. The first ones take up to 70 us each under some
// hypervisors, without a page fault in here. Less: the first round is slower than the others.
constexpr int kSettlingStores = 16'384;

constexpr uint64_t kSmallestPage = 4 * kKiB;

int hugetlb_flags(PageKind kind) {
  constexpr int kShift = 26;  // MAP_HUGE_SHIFT: the page size's logarithm from this bit on
  if (kind == PageKind::k2m) return MAP_HUGETLB | (21 << kShift);
  if (kind == PageKind::k1g) return MAP_HUGETLB | (30 << kShift);
  return 0;
}

std::string how_to_reserve(PageKind kind, uint64_t pages) {
  return "echo " + std::to_string(pages) + " > /sys/kernel/mm/hugepages/hugepages-" +
         std::to_string(page_bytes(kind) / kKiB) + "kB/nr_hugepages";
}

// The kilobytes that smaps gives for the mappings inside [base, base + bytes), summed.
uint64_t smaps_kib(const char *base, uint64_t bytes, std::string_view key) {
  const auto smaps = read_text_file("/proc/self/smaps");
  if (!smaps) return 0;
  const auto from = reinterpret_cast<uintptr_t>(base);
  uint64_t sum = 0;
  bool inside = false;
  std::string_view text = *smaps;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const size_t blank = line.find(' ');
    const size_t dash = line.find('-');
    if (dash != std::string_view::npos && blank != std::string_view::npos && dash < blank) {
      const uintptr_t start = std::stoull(std::string(line.substr(0, dash)), nullptr, 16);
      inside = start >= from && start < from + bytes;
    } else if (inside) {
      sum += number_of(line, key).value_or(0);
    }
  }
  return sum;
}

}  // namespace

Mapping::Mapping(PageKind kind, uint64_t bytes) : bytes_(bytes) {
  // Transparent huge pages want alignment, which an ordinary mapping does not promise.
  const uint64_t alignment = page_bytes(kind);
  mapped_bytes_ = is_pool_kind(kind) ? bytes : bytes + alignment;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | hugetlb_flags(kind);
  mapped_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (mapped_ == MAP_FAILED) {
    const int error = errno;
    mapped_ = nullptr;
    throw Refusal("cannot map " + format_size(bytes) + " on " + std::string(page_kind_title(kind)) +
                  " (" + std::strerror(error) +
                  "): use a smaller --set or --size, or other --pages");
  }
  const uint64_t address = reinterpret_cast<uintptr_t>(mapped_);
  base_ = static_cast<char *>(mapped_) + (round_up(address, alignment) - address);
  if (kind == PageKind::k4k) madvise(base_, bytes, MADV_NOHUGEPAGE);
  if (kind == PageKind::kThp) madvise(base_, bytes, MADV_HUGEPAGE);
}

Mapping::~Mapping() {
  if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
}

uint64_t resident_bytes(const char *base, uint64_t bytes) {
  return (smaps_kib(base, bytes, "Rss") + smaps_kib(base, bytes, "Private_Hugetlb")) * kKiB;
}
uint64_t huge_bytes(const char *base, uint64_t bytes) {
  return (smaps_kib(base, bytes, "AnonHugePages") + smaps_kib(base, bytes, "ShmemPmdMapped")) *
         kKiB;
}

bool populate(char *base, uint64_t bytes) {
  int attempts = 0;
  while (madvise(base, bytes, MADV_POPULATE_WRITE) != 0) {
    if (errno == EINVAL) {
      // Linux before 5.14: there a shortage is a signal.
      touch(base, bytes, kSmallestPage);
      return true;
    }
    if ((errno != EINTR && errno != EAGAIN) || ++attempts > 1000) return false;
  }
  return true;
}

void populate_or_throw(char *base, uint64_t bytes) {
  if (bytes == 0 || populate(base, bytes)) return;
  throw Refusal(std::string("memory that was there a moment ago cannot be had (") +
                std::strerror(errno) + "): stop its other users or use a smaller --size");
}

void touch(char *base, uint64_t bytes, uint64_t step) {
  for (uint64_t at = 0; at < bytes; at += step) *const_cast<volatile char *>(base + at) = 0;
}

void release(char *base, uint64_t bytes) {
  if (madvise(base, bytes, MADV_DONTNEED) == 0) return;
  throw std::runtime_error(std::string("the kernel does not release these pages: ") +
                           std::strerror(errno));
}

void release_and_populate(char *base, uint64_t bytes) {
  release(base, bytes);
  if (populate(base, bytes)) return;
  throw Refusal(std::string("pages that were released for a moment are gone (") +
                std::strerror(errno) + "): stop the other users of memory and run again");
}

bool can_release(PageKind kind) {
  const uint64_t bytes = page_bytes(kind);
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | hugetlb_flags(kind);
  void *const page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (page == MAP_FAILED) return false;
  const bool is_released = madvise(page, bytes, MADV_DONTNEED) == 0;
  munmap(page, bytes);
  return is_released;
}

bool kernel_populates() {
  // Of no bytes: the kernel looks whether it knows the advice, and is done.
  return madvise(nullptr, 0, MADV_POPULATE_WRITE) == 0;
}

std::unique_ptr<PageReservation> reserve_pages(PageKind kind, uint64_t bytes, int node) {
  if (!is_pool_kind(kind)) return nullptr;
  const uint64_t wanted = bytes / page_bytes(kind);
  auto reservation = std::make_unique<PageReservation>(kind, wanted, node);
  const uint64_t free = page_pool(kind, node).free;
  if (free < wanted) {
    throw Refusal("only " + std::to_string(free) + " of " + std::to_string(wanted) + " free " +
                  std::string(page_kind_title(kind)) + node_title(node) + " can be had (" +
                  reservation->trouble() +
                  "): reserve them soon after booting, use a smaller --size, or other --pages");
  }
  return reservation;
}

Arena::Arena(const ArenaRequest &request, const std::function<void(uint64_t)> &progress)
    : kind_(request.kind), node_(request.node) {
  const uint64_t page = page_bytes(kind_);
  uint64_t set = std::max(round_down(request.set_bytes, page), page);
  const uint64_t least = std::max(round_up(request.least_bytes, page), page);
  set = std::max(set, least);
  fresh_bytes_ = round_up(request.fresh_bytes, page);
  const std::string title(page_kind_title(kind_));

  if (is_pool_kind(kind_)) {
    const uint64_t wanted = (set + fresh_bytes_) / page;
    reservation_ = std::make_unique<PageReservation>(kind_, wanted, request.node);
    const uint64_t free = page_pool(kind_, request.node).free;
    if (free < wanted) {
      const uint64_t needed = (least + fresh_bytes_) / page;
      if (free < needed) {
        throw Refusal("only " + std::to_string(free) + " of " + std::to_string(needed) + " free " +
                      title + " can be had (" + reservation_->trouble() + "): reserve them with '" +
                      how_to_reserve(kind_, needed) +
                      "', after a reboot if need be, or use other --pages");
      }
      set = free * page - fresh_bytes_;
      shortfall_ = title + ": " + format_size(set) + " instead of " +
                   format_size(round_down(request.set_bytes, page)) + ", because " +
                   reservation_->trouble() + "; reserve them with '" +
                   how_to_reserve(kind_, wanted) + "' soon after booting";
    }
  }

  mapping_ = std::make_unique<Mapping>(kind_, set);
  for (uint64_t at = 0; at < set; at += kPopulateStep) {
    const uint64_t step = std::min(kPopulateStep, set - at);
    if (!populate(mapping_->base() + at, step)) {
      throw Refusal(
          "cannot make " + format_size(set) + " on " + title + " resident (" +
          std::strerror(errno) +
          "): somebody else took the memory, or a hugetlb cgroup limits it; use a smaller "
          "--set or --size, or other --pages");
    }
    progress(at + step);
  }
  settle();
  describe(request);
}

void Arena::settle() {
  std::mt19937_64 random(1);
  for (int i = 0; i < kSettlingStores; ++i) {
    const uint64_t at = random() % (bytes() / kSmallestPage) * kSmallestPage;
    *const_cast<volatile char *>(base() + at) = 0;
  }
}

void Arena::describe(const ArenaRequest &request) {
  const std::string title(page_kind_title(kind_));
  summary_ = format_size(bytes()) + " on " + title;
  if (is_pool_kind(kind_)) {
    const uint64_t added = reservation_->added();
    summary_ += ", ";
    summary_ +=
        added == 0 ? std::string(kFreeAlready) : std::to_string(added) + std::string(kReserved);
    return;
  }
  const uint64_t huge = huge_bytes(base(), bytes());
  if (kind_ == PageKind::k4k) {
    if (huge > 0)
      shortfall_ = "4 KiB pages: " + format_size(huge) +
                   " lie on huge pages all the "
                   "same; set /sys/kernel/mm/transparent_hugepage/enabled to madvise";
    return;
  }
  const uint64_t percent = huge * 100 / bytes();
  summary_ += ", " + std::to_string(percent) + " % of it huge";
  if (percent >= kEnoughHugePercent) return;
  const std::string mode =
      read_text_file("/sys/kernel/mm/transparent_hugepage/enabled").value_or("not there");
  const std::string remedy = mode.find("[never]") != std::string::npos || mode == "not there"
                                 ? "write madvise to /sys/kernel/mm/transparent_hugepage/enabled"
                                 : "write 1 to /proc/sys/vm/compact_memory and try again";
  shortfall_ = "transparent huge pages: the kernel gave " + format_size_rounded(huge) + " of " +
               format_size_rounded(bytes()) + " (mode " + mode + "): " + remedy;
  if (request.is_asked_for || huge == 0) throw Refusal(shortfall_);
}

}  // namespace hpz::bench
