// SPDX-License-Identifier: BSD-2-Clause
#include "lib/map/lazy_memory.h"

#include <stdlib.h>
#include <sys/mman.h>

namespace hpz {
namespace {

// From here on a mapping of its own: malloc would clear what it has had in use before, and a
// mapping's last page wastes little.
constexpr uint64_t kMappedFromBytes = 64 * 1024;

}  // namespace

bool LazyMemory::open(uint64_t bytes) noexcept {
  if (bytes < kMappedFromBytes) {
    begin_ = calloc(bytes, 1);
  } else {
    // NORESERVE: most of it is never written to.
    begin_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin_ == MAP_FAILED) begin_ = nullptr;
  }
  if (begin_ != nullptr) bytes_ = bytes;
  return begin_ != nullptr;
}

LazyMemory::~LazyMemory() {
  if (bytes_ < kMappedFromBytes) {
    free(begin_);
  } else {
    munmap(begin_, bytes_);
  }
}

}  // namespace hpz
