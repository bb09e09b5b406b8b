// SPDX-License-Identifier: BSD-2-Clause
#include "lib/space/touch.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "lib/space/mappings.h"
#include "lib/space/pages.h"
#include "lib/space/residency.h"
#include "lib/space/retry.h"

namespace hpz {
namespace {

constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE: musl 1.2.3 does not have it

int advise_populate(uintptr_t begin, uintptr_t end) noexcept {
  return retry(
      [&] { return madvise(reinterpret_cast<void *>(begin), end - begin, kPopulateWrite); });
}

// Adds 0 to a word by an operation of the kernel, which faults the page in for writing and returns
// what a store of ours would get as a signal. The waiters that it may wake, at that word, wake for
// nothing once more: futexes permit that.
int touch_word(uintptr_t at) noexcept {
  uint32_t nobody = 0;
  constexpr unsigned long kAddZero = FUTEX_OP(FUTEX_OP_ADD, 0u, FUTEX_OP_CMP_EQ, 0u);
  return retry(
      [&] { return syscall(SYS_futex, &nobody, FUTEX_WAKE_OP_PRIVATE, 0, 0ul, at, kAddZero); });
}

enum Answer : int { kUnknown, kNo, kYes };
constinit std::atomic<Answer> g_has_populate{kUnknown};

// kUnknown: it cannot be found out now, which says nothing about later.
Answer try_populate() noexcept {
  const size_t page = base_page_bytes();
  void *const probe =
      mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED) return kUnknown;
  Answer answer = kYes;
  unsigned char is_resident = 0;
  if (madvise(probe, page, kPopulateWrite) != 0) {
    answer = errno == EINVAL || errno == ENOSYS ? kNo : kUnknown;
  } else if (mincore(probe, page, &is_resident) == 0 && (is_resident & 1) == 0) {
    answer = kNo;  // emulators take unknown advice, and do nothing
  }
  munmap(probe, page);
  return answer;
}

// Whether the file behind the mapping is known to hold this address's byte.
bool is_within_file(const Mapping &mapping, uintptr_t at) noexcept {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/thread-self/map_files/%lx-%lx",
                 static_cast<long>(mapping.begin), static_cast<long>(mapping.end));
  struct stat file;
  if (stat(path, &file) != 0) return false;  // wants a capability
  return mapping.file_offset + (at - mapping.begin) < static_cast<uint64_t>(file.st_size);
}

// Why the kernel refused the page at this address.
int explain(int error, uintptr_t at) noexcept {
  if (error == -EHWPOISON || error == -EAGAIN || error == -EINTR) return error;
  Array<Mapping> mappings;
  const bool is_known = read_mappings(at, at + 1, mappings) == 0;
  const Mapping *const mapping = find_mapping(mappings, at);
  if (is_known && mapping == nullptr) return -EFAULT;
  if (mapping != nullptr && !mapping->is_writable) return -EACCES;
  if (error == -EINVAL) return mapping != nullptr && mapping->is_special ? -EFAULT : -EACCES;
  if (error != -EFAULT) return error;
  // A shortage of huge pages, or a place where there is nothing to fault in.
  if (mapping == nullptr || mapping->is_special || Residency().is_guard(at)) return -EFAULT;
  return mapping->is_anonymous || is_within_file(*mapping, at) ? -ENOMEM : -EFAULT;
}

}  // namespace

bool has_populate() noexcept {
  Answer answer = g_has_populate.load(std::memory_order_relaxed);
  if (answer == kUnknown) {
    answer = try_populate();
    if (answer != kUnknown) g_has_populate.store(answer, std::memory_order_relaxed);
  }
  return answer == kYes;
}

TouchResult touch_pages(const char *at, uint64_t bytes) noexcept {
  const uintptr_t base = base_page_bytes();
  const auto begin = reinterpret_cast<uintptr_t>(at);
  const uintptr_t first = begin & ~(base - 1);
  const uintptr_t last = (begin + (bytes - 1)) | (base - 1);  // the end itself may wrap
  const bool advises = has_populate();
  if (advises && advise_populate(first, last + 1) == 0) return {bytes, 0};

  // To tell exactly how far it goes: by larger blocks, and in the one that fails page by page. By
  // the system's pages, whatever the mapping's: within a huge one all but the first cost little.
  constexpr uintptr_t kBlock = uintptr_t{2} << 20;
  for (uintptr_t here = first;;) {
    const uintptr_t block_last = (here | (kBlock - 1)) < last ? here | (kBlock - 1) : last;
    if (!advises || advise_populate(here, block_last + 1) != 0) {
      for (uintptr_t page = here;; page += base) {
        int error = advises ? advise_populate(page, page + base) : touch_word(page);
        // Some memory that can be stored to takes no advice (memfd_secret).
        if (error == -EINVAL && advises) error = touch_word(page) == 0 ? 0 : -EINVAL;
        if (error != 0) {
          const uintptr_t bad = page > begin ? page : begin;
          return {bad - begin, explain(error, bad)};
        }
        if (page + (base - 1) == block_last) break;
      }
    }
    if (block_last == last) return {bytes, 0};
    here = block_last + 1;
  }
}

}  // namespace hpz
