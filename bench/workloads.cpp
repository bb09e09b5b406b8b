// SPDX-License-Identifier: BSD-2-Clause
#include "bench/workloads.h"

#include <hpzero/hpzero.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "bench/memory.h"
#include "bench/plan.h"
#include "bench/refusal.h"
#include "bench/sizes.h"

namespace hpz::bench {
namespace {

void check(int result, const char *kernel) {
  if (result != 0) {
    throw std::runtime_error("kernel " + std::string(kernel) + ": " + std::strerror(-result));
  }
}

class PolicyRow : public Row {
 public:
  using Call = void (*)(void *, size_t);
  PolicyRow(const char *id, Call call) : Row(id, id, RowKind::kPolicy), call_(call) {}

  void clear(const std::vector<void *> &ranges, uint64_t size) override {
    for (void *const range : ranges) call_(range, size);
  }

 private:
  Call call_;
};

// A kernel is called by name, which costs some 10 ns more than a policy's call: half of what 4 KiB
// take in cache. So kernels with one lane and no fence, memset among them, clear short ranges page
// after page in one call of hpz_zero_pages_with, which is the same loop. For the others, whose
// fence takes 100 ns and more, it is nothing.
class KernelRow : public Row {
 public:
  explicit KernelRow(const hpz_kernel_info &info)
      : Row(info.id, info.id, RowKind::kKernel),
        kernel_(info.id),
        is_plain_(info.lanes <= 1 && (info.flags & HPZ_KERNEL_NEEDS_FENCE) == 0) {}

  void clear(const std::vector<void *> &ranges, uint64_t size) override {
    if (is_plain_ && size < kCallIsNothingBytes) {
      zero_pages_with(kernel_, ranges.data(), ranges.size(), size);
      return;
    }
    for (void *const range : ranges) zero_with(kernel_, range, size);
  }

 private:
  static constexpr uint64_t kCallIsNothingBytes = 64 * kKiB;

  const char *kernel_;
  bool is_plain_;
};

// Scattered pages, a batch at a time. kernel: NULL means hpz_zero_pages.
class BatchRow : public Row {
 public:
  explicit BatchRow(const char *kernel)
      : Row(name(kernel), name(kernel), RowKind::kBatch), kernel_(kernel) {}

  bool suits(const Cell &cell) const override {
    // Larger pages hide their latencies alone, and batches of them would be most of the run.
    constexpr uint64_t kLargestPage = 256 * kKiB;
    return cell.state == MemoryState::kCold && cell.size >= 4 * kKiB && cell.size <= kLargestPage;
  }
  size_t ranges(const Cell &, size_t usual) const override {
    return std::max(usual / kBatchPages * kBatchPages, kBatchPages);
  }
  void clear(const std::vector<void *> &ranges, uint64_t size) override {
    for (size_t at = 0; at < ranges.size(); at += kBatchPages) {
      const size_t count = std::min(kBatchPages, ranges.size() - at);
      if (kernel_ == nullptr) {
        hpz_zero_pages(ranges.data() + at, count, size);
      } else {
        zero_pages_with(kernel_, ranges.data() + at, count, size);
      }
    }
  }

 private:
  static std::string name(const char *kernel) {
    return std::string(kernel == nullptr ? "hpz_zero_pages" : kernel) + "_x" +
           std::to_string(kBatchPages);
  }
  const char *kernel_;
};

// One instruction per 4 KiB: how operating system kernels clear huge pages.
class PerPageRow : public Row {
 public:
  explicit PerPageRow(const char *kernel)
      : Row(std::string(kernel) + "_per_4KiB", std::string(kernel) + " per 4 KiB",
            RowKind::kBaseline),
        kernel_(kernel) {}

  bool suits(const Cell &cell) const override {
    return cell.size > kPiece && cell.size % kPiece == 0 && cell.state != MemoryState::kFresh;
  }
  void prepare(const std::vector<void *> &ranges, uint64_t size) override {
    pieces_.clear();
    for (void *const range : ranges) {
      for (uint64_t at = 0; at < size; at += kPiece) {
        pieces_.push_back(static_cast<char *>(range) + at);
      }
    }
  }
  void clear(const std::vector<void *> &, uint64_t) override {
    for (size_t at = 0; at < pieces_.size(); at += kPiecesPerCall) {
      const size_t count = std::min(kPiecesPerCall, pieces_.size() - at);
      zero_pages_with(kernel_, pieces_.data() + at, count, kPiece);
    }
  }

 private:
  const char *kernel_;
  std::vector<void *> pieces_;
};

// The way without a library: give the pages back, take them again, the kernel clears them.
class ReleasePopulateRow : public Row {
 public:
  ReleasePopulateRow() : Row("release_populate", "kernel release+populate", RowKind::kBaseline) {}

  bool suits(const Cell &cell) const override {
    return cell.state == MemoryState::kCold && cell.size % page_bytes(cell.pages) == 0 &&
           kernel_populates() && can_release(cell.pages);
  }
  size_t ranges(const Cell &cell, size_t usual) const override {
    // A page fault per 4 KiB is slow and its rate does not depend on how many there are.
    constexpr uint64_t kEnoughBytes = 4 * kMiB;
    return std::clamp<size_t>(kEnoughBytes / cell.size, 1, usual);
  }
  void clear(const std::vector<void *> &ranges, uint64_t size) override {
    for (void *const range : ranges) release_and_populate(static_cast<char *>(range), size);
  }
};

}  // namespace

bool has_kernel(const char *id) {
  const std::vector<hpz_kernel_info> all = all_kernels();
  return std::any_of(all.begin(), all.end(), [&](const hpz_kernel_info &kernel) {
    return std::strcmp(kernel.id, id) == 0 && kernel.missing == nullptr;
  });
}

void zero_with(const char *kernel, void *base, uint64_t bytes) {
  check(hpz_zero_with(kernel, base, bytes), kernel);
}
void zero_pages_with(const char *kernel, void *const *pages, size_t count, uint64_t bytes) {
  check(hpz_zero_pages_with(kernel, pages, count, bytes), kernel);
}

void zero_per_piece(const char *kernel, char *base, uint64_t bytes, uint64_t piece) {
  void *pieces[kPiecesPerCall];
  for (uint64_t at = 0; at < bytes;) {
    size_t count = 0;
    for (; count < kPiecesPerCall && at < bytes; at += piece) pieces[count++] = base + at;
    zero_pages_with(kernel, pieces, count, piece);
  }
}

Rows make_rows() {
  Rows rows;
  rows.push_back(std::make_unique<PolicyRow>("hpz_zero", hpz_zero));
  rows.push_back(std::make_unique<PolicyRow>("hpz_zero_cached", hpz_zero_cached));
  rows.push_back(std::make_unique<PolicyRow>("hpz_zero_stream", hpz_zero_stream));
  const std::vector<hpz_kernel_info> kernels = all_kernels();
  for (const hpz_kernel_info &kernel : kernels) {
    if (kernel.missing == nullptr) rows.push_back(std::make_unique<KernelRow>(kernel));
  }
  rows.push_back(std::make_unique<BatchRow>(nullptr));
  for (const hpz_kernel_info &kernel : kernels) {
    if (kernel.missing == nullptr && (kernel.flags & HPZ_KERNEL_NEEDS_FENCE) != 0) {
      rows.push_back(std::make_unique<BatchRow>(kernel.id));
    }
  }
  if (has_kernel(kPerPieceKernel)) rows.push_back(std::make_unique<PerPageRow>(kPerPieceKernel));
  rows.push_back(std::make_unique<ReleasePopulateRow>());
  return rows;
}

Rows make_rows(const std::vector<std::string> &ids) {
  for (const hpz_kernel_info &kernel : all_kernels()) {
    if (kernel.missing != nullptr && std::find(ids.begin(), ids.end(), kernel.id) != ids.end()) {
      throw Refusal("kernel " + std::string(kernel.id) +
                    " cannot run here because this CPU lacks " + kernel.missing +
                    ": choose one that 'hpzero-bench list' calls usable");
    }
  }
  Rows all = make_rows();
  for (const std::string &id : ids) {
    if (std::none_of(all.begin(), all.end(), [&](const auto &row) { return row->id() == id; })) {
      throw Refusal("unknown kernel '" + id +
                    "': choose one of those that 'hpzero-bench list' shows");
    }
  }
  Rows chosen;
  for (auto &row : all) {
    if (std::find(ids.begin(), ids.end(), row->id()) != ids.end()) chosen.push_back(std::move(row));
  }
  return chosen;
}

void check_kernels(const std::vector<std::string> &ids, const std::string &what) {
  make_rows(ids);  // refuses what this CPU lacks
  const std::vector<hpz_kernel_info> all = all_kernels();
  for (const std::string &id : ids) {
    if (std::none_of(all.begin(), all.end(), [&](const auto &k) { return id == k.id; })) {
      throw Refusal("'" + id + "' is no " + what +
                    ": choose one of those that 'hpzero-bench list' calls usable");
    }
  }
}

}  // namespace hpz::bench
