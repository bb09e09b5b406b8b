// SPDX-License-Identifier: BSD-2-Clause
#include "lib/team/process.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

namespace hpz {
namespace {

using Mark = std::atomic<uint64_t>;

// One page for the process and its descendants, never unmapped. Null: not asked for yet.
constinit std::atomic<Mark *> g_page{nullptr};
// How many marks were set on the way from the first ancestor: what makes each its own.
constinit std::atomic<uint64_t> g_marks{0};

Mark *wiped_page() noexcept {
  Mark *page = g_page.load(std::memory_order_acquire);
  if (page != nullptr) return page;
  const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void *const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  // Linux 4.14; without it the process id alone tells.
  if (madvise(memory, bytes, MADV_WIPEONFORK) != 0) {
    munmap(memory, bytes);
    return nullptr;
  }
  if (g_page.compare_exchange_strong(page, static_cast<Mark *>(memory))) {
    return static_cast<Mark *>(memory);
  }
  munmap(memory, bytes);
  return page;
}

}  // namespace

ProcessId::ProcessId() noexcept : pid_(getpid()), mark_(0) {
  Mark *const page = wiped_page();
  if (page == nullptr) return;
  uint64_t present = page->load(std::memory_order_acquire);
  if (present == 0) {  // the first here, or the first since a fork
    const uint64_t next = g_marks.fetch_add(1, std::memory_order_relaxed) + 1;
    if (page->compare_exchange_strong(present, next)) present = next;
  }
  mark_ = present;
}

bool ProcessId::is_marked() const noexcept {
  const Mark *const page = g_page.load(std::memory_order_acquire);
  return mark_ != 0 && page != nullptr && page->load(std::memory_order_acquire) == mark_;
}

bool ProcessId::is_current() const noexcept {
  if (pid_ != getpid()) return false;
  const Mark *const page = g_page.load(std::memory_order_acquire);
  return mark_ == 0 || page == nullptr || page->load(std::memory_order_acquire) == mark_;
}

}  // namespace hpz
