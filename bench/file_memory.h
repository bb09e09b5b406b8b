// SPDX-License-Identifier: BSD-2-Clause
//
// Memory behind a descriptor, as a virtual machine's is: mapped once for as long as it lives,
// resident before anything is timed, on the pages that were asked for or said not to be.
#ifndef HPZERO_BENCH_FILE_MEMORY_H
#define HPZERO_BENCH_FILE_MEMORY_H

#include <cstdint>
#include <functional>
#include <string>

#include "bench/pages.h"

namespace hpz::bench {

class FileMemory {
 public:
  // bytes: a multiple of the page size. progress is told the bytes that are resident so far. Throws
  // Refusal, for a shortage of memory; that there are no transparent huge pages is none.
  FileMemory(PageKind kind, uint64_t bytes, const std::function<void(uint64_t)> &progress);
  ~FileMemory();
  FileMemory(const FileMemory &) = delete;
  FileMemory &operator=(const FileMemory &) = delete;

  int fd() const { return fd_; }
  char *base() const { return base_; }
  uint64_t bytes() const { return bytes_; }

  // What it is, and how it came to its pages: "memfd, made huge by MADV_COLLAPSE,
  // 100 % mapped huge".
  std::string summary() const;
  // What of it is mapped as huge pages now, of 100. Of pool kinds: 100.
  unsigned huge_percent() const;

  // Makes [offset, offset + bytes) resident again, on pages of the same kind, after holes were
  // punched into it.
  void restore(uint64_t offset, uint64_t bytes);

 private:
  void open();
  void map();
  void populate(const std::function<void(uint64_t)> &progress);
  void collapse(uint64_t offset, uint64_t bytes);

  PageKind kind_;
  uint64_t bytes_ = 0;
  int fd_ = -1;
  char *base_ = nullptr;
  void *reserved_ = nullptr;  // address space, with what alignment took
  uint64_t reserved_bytes_ = 0;
  std::string source_;
  bool is_collapsed_ = false;
};

}  // namespace hpz::bench

#endif
