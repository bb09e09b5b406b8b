// SPDX-License-Identifier: BSD-2-Clause
#include "bench/peers.h"

#include <dlfcn.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "bench/file_memory.h"
#include "bench/limits.h"
#include "bench/memory.h"
#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/tuned_memset.h"

namespace hpz::bench {
namespace {

class FillRow : public Row {
 public:
  FillRow() : Row("std_fill", "std::fill", RowKind::kBaseline) {}

  void clear(const std::vector<void *> &ranges, uint64_t size) override {
    for (void *const range : ranges) {
      auto *const bytes = static_cast<unsigned char *>(range);
      std::fill(bytes, bytes + size, static_cast<unsigned char>(0));
    }
  }
};

// libpmem, which is for persistent memory, told not to leave anything in the caches.
class PmemRow : public Row {
 public:
  using Memset = void *(void *, int, size_t, unsigned);
  explicit PmemRow(Memset *memset)
      : Row("pmem_memset", "libpmem pmem_memset", RowKind::kBaseline), memset_(memset) {}

  void clear(const std::vector<void *> &ranges, uint64_t size) override {
    constexpr unsigned kNonTemporal = 1u << 1;  // PMEM_F_MEM_NONTEMPORAL
    for (void *const range : ranges) memset_(range, 0, size, kNonTemporal);
  }

 private:
  Memset *memset_;
};

// What the kernel clears needs pages beside the table's own: no more than this, and not those of
// 1 GiB, of which nobody has any to spare.
constexpr uint64_t kMostOwnBytes = 64 * kMiB;

class KernelClearsRow : public Row {
 public:
  KernelClearsRow(const char *id, const char *title) : Row(id, title, RowKind::kBaseline) {}

  bool suits(const Cell &cell) const override {
    return cell.state == MemoryState::kCold && cell.pages != PageKind::k1g &&
           cell.size % page_bytes(cell.pages) == 0 && cell.size <= kMostOwnBytes &&
           kernel_populates();
  }
  size_t ranges(const Cell &cell, size_t usual) const override {
    // A page fault per 4 KiB is slow and its rate does not depend on how many there are.
    constexpr uint64_t kEnoughBytes = 4 * kMiB;
    return std::clamp<size_t>(kEnoughBytes / cell.size, 1, usual);
  }
  bool ready(const Cell &cell) override {
    if (kind_ == cell.pages) return !reserved_bytes_ || *reserved_bytes_ > 0;
    kind_ = cell.pages;
    reserved_bytes_ = 0;
    drop();
    reservation_.reset();
    const std::string what = title() + " on " + std::string(page_kind_title(cell.pages));
    if (const std::string lack = lacks(cell.pages, kMostOwnBytes); !lack.empty()) {
      trouble(what + ", for " + lack);
      return false;
    }
    try {
      reservation_ = reserve_pages(cell.pages, kMostOwnBytes);
      take(cell.pages, kMostOwnBytes);
    } catch (const Refusal &refusal) {
      trouble(what + ", for " + refusal.what());
      return false;
    }
    reserved_bytes_ = kMostOwnBytes;
    return true;
  }

 protected:
  virtual void take(PageKind kind, uint64_t bytes) = 0;
  virtual void drop() = 0;
  PageKind kind() const { return *kind_; }

 private:
  std::unique_ptr<PageReservation> reservation_;
  std::optional<PageKind> kind_;
  std::optional<uint64_t> reserved_bytes_;
};

class FreshMappingRow : public KernelClearsRow {
 public:
  FreshMappingRow() : KernelClearsRow("map_populate", "kernel mmap+populate") {}

  void prepare(const std::vector<void *> &, uint64_t) override { mappings_.clear(); }
  void clear(const std::vector<void *> &ranges, uint64_t size) override {
    for (size_t i = 0; i < ranges.size(); ++i) {
      mappings_.push_back(std::make_unique<Mapping>(kind(), size));
      populate_or_throw(mappings_.back()->base(), size);
    }
  }

 private:
  void take(PageKind, uint64_t) override {}
  void drop() override { mappings_.clear(); }

  std::vector<std::unique_ptr<Mapping>> mappings_;
};

class PunchRow : public KernelClearsRow {
 public:
  PunchRow() : KernelClearsRow("punch_populate", "kernel punch+populate") {}

  void clear(const std::vector<void *> &ranges, uint64_t size) override {
    for (size_t i = 0; i < ranges.size(); ++i) {
      if (at_ + size > memory_->bytes()) at_ = 0;
      if (fallocate(memory_->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(at_), static_cast<off_t>(size)) != 0) {
        throw std::runtime_error(std::string("the kernel punches no hole: ") +
                                 std::strerror(errno));
      }
      populate_or_throw(memory_->base() + at_, size);
      at_ += size;
    }
  }

 private:
  void take(PageKind kind, uint64_t bytes) override {
    at_ = 0;
    memory_ = std::make_unique<FileMemory>(kind, bytes, [](uint64_t) {});
  }
  void drop() override { memory_.reset(); }

  std::unique_ptr<FileMemory> memory_;
  uint64_t at_ = 0;
};

}  // namespace

Peers make_peers() {
  Peers peers;
  peers.rows.push_back(std::make_unique<FillRow>());
  // Stays loaded: its threads and handlers, if it had any, would outlive it.
  void *const pmem = dlopen("libpmem.so.1", RTLD_NOW | RTLD_LOCAL);
  void *const pmem_memset = pmem == nullptr ? nullptr : dlsym(pmem, "pmem_memset");
  if (pmem_memset != nullptr) {
    peers.rows.push_back(
        std::make_unique<PmemRow>(reinterpret_cast<PmemRow::Memset *>(pmem_memset)));
  } else {
    peers.notes.push_back(
        "not measured: pmem_memset of libpmem, which is not installed: install Debian's package "
        "libpmem1, or the equivalent");
  }
  TunedMemsets tuned = make_tuned_memsets();
  std::move(tuned.rows.begin(), tuned.rows.end(), std::back_inserter(peers.rows));
  std::move(tuned.notes.begin(), tuned.notes.end(), std::back_inserter(peers.notes));
  // In this order: the one keeps its pages, and what the other finds free then is its own.
  peers.rows.push_back(std::make_unique<PunchRow>());
  peers.rows.push_back(std::make_unique<FreshMappingRow>());
  if (!kernel_populates()) {
    peers.notes.push_back(
        "not measured: the kernel's clearing, which takes MADV_POPULATE_WRITE: "
        "use Linux 5.14 or newer");
  }
  return peers;
}

}  // namespace hpz::bench
