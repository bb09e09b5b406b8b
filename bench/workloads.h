// SPDX-License-Identifier: BSD-2-Clause
//
// The rows of a table: each is one way of clearing ranges, all called through the library. A row
// knows nothing of where the ranges come from, nor of clocks.
#ifndef HPZERO_BENCH_WORKLOADS_H
#define HPZERO_BENCH_WORKLOADS_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/pages.h"
#include "bench/states.h"
#include "bench/statistics.h"

namespace hpz::bench {

struct Cell {
  PageKind pages = PageKind::k4k;
  MemoryState state = MemoryState::kCold;
  uint64_t size = 0;
};

enum class RowKind {
  kPolicy,    // hpz_zero and its two siblings: judged against the kernels
  kKernel,    // one row of the library's table
  kBatch,     // many scattered pages at once
  kBaseline,  // what is done elsewhere
};

class Row {
 public:
  Row(std::string id, std::string title, RowKind kind)
      : id_(std::move(id)), title_(std::move(title)), kind_(kind) {}
  virtual ~Row() = default;

  const std::string &id() const { return id_; }        // for --kernel, --reference and JSON
  const std::string &title() const { return title_; }  // for tables
  RowKind kind() const { return kind_; }

  virtual bool suits(const Cell &) const { return true; }
  // Untimed, before a cell that suits: takes what the row needs beside the ranges. False: cannot be
  // had, trouble() says why, and the row is left out.
  virtual bool ready(const Cell &) { return true; }
  const std::string &trouble() const { return trouble_; }
  // Ranges that one section should have, given what the others have.
  virtual size_t ranges(const Cell &, size_t usual) const { return usual; }
  // Untimed, before each clear.
  virtual void prepare(const std::vector<void *> &, uint64_t) {}
  virtual void clear(const std::vector<void *> &ranges, uint64_t size) = 0;

  // A row that is another process clears ranges of its own, and times them.
  virtual bool takes_own_samples() const { return false; }
  virtual Sample take_own(const Cell &) { return {}; }

 protected:
  void trouble(std::string why) { trouble_ = std::move(why); }

 private:
  std::string id_, title_, trouble_;
  RowKind kind_;
};

using Rows = std::vector<std::unique_ptr<Row>>;

inline constexpr size_t kBatchPages = 256;

// One instruction per piece, in calls of so many (2 MiB), for which finding the kernel's name is
// nothing.
inline constexpr const char *kPerPieceKernel = "rep_stosb";
inline constexpr uint64_t kPiece = 4 << 10;
inline constexpr size_t kPiecesPerCall = 512;

bool has_kernel(const char *id);  // and this CPU can run it

// The library's calls by a kernel's name; they throw where the library refuses.
void zero_with(const char *kernel, void *base, uint64_t bytes);
void zero_pages_with(const char *kernel, void *const *pages, size_t count, uint64_t bytes);

// One instruction per piece, of any number of them.
void zero_per_piece(const char *kernel, char *base, uint64_t bytes, uint64_t piece = kPiece);

// All rows that can run on this CPU, in the order of the table.
Rows make_rows();

// Those named, in the order of the table. Throws Refusal for an id that does not exist or that this
// CPU cannot run.
Rows make_rows(const std::vector<std::string> &ids);

// That they are kernels, and no other rows: throws Refusal, also as make_rows does. what: what they
// are to be, in the sentence.
void check_kernels(const std::vector<std::string> &ids, const std::string &what);

}  // namespace hpz::bench

#endif
