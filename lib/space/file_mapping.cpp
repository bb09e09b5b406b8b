// SPDX-License-Identifier: BSD-2-Clause
#include "lib/space/file_mapping.h"

#include <errno.h>
#include <sys/mman.h>

namespace hpz {
namespace {

// A refusal of this much address space, or of memory for its page tables: less may be had.
bool is_shortage(int error) noexcept {
  return error == -ENOMEM || error == -EAGAIN || error == -EOVERFLOW;
}

int try_pages(int fd, uint64_t at, uint64_t bytes, uint64_t page, bool wants_lasting,
              FileMapping &out) noexcept {
  const uint64_t first = at & ~(page - 1);
  const uint64_t behind = (at + bytes + (page - 1)) & ~(page - 1);
  int error = wants_lasting ? map_file(fd, first, behind - first, &out.lasting) : -ENOMEM;
  if (is_shortage(error)) {
    char *probe = nullptr;
    error = map_file(fd, first, page, &probe);
    if (error == 0) unmap_file(probe, page);
  } else if (error == 0) {
    // What somebody else has in memory, too, belongs into nobody's core dump a second time.
    madvise(out.lasting, behind - first, MADV_DONTDUMP);
  }
  out.is_possible = error == 0;
  out.page_bytes = page;
  return error;
}

}  // namespace

int map_file(int fd, uint64_t at, uint64_t bytes, char **out) noexcept {
  void *const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                            static_cast<off_t>(at));
  if (mapped == MAP_FAILED) return -errno;
  *out = static_cast<char *>(mapped);
  return 0;
}

void unmap_file(char *at, uint64_t bytes) noexcept {
  munmap(at, bytes);
}

int try_mapping(int fd, uint64_t at, uint64_t bytes, uint64_t page_bytes, bool wants_lasting,
                FileMapping &out) noexcept {
  // DAX wants the alignment of its pages, and not every kernel says of which size they are.
  constexpr uint64_t kHugeSizes[] = {uint64_t{2} << 20, uint64_t{1} << 30};
  out = FileMapping();
  int error = try_pages(fd, at, bytes, page_bytes, wants_lasting, out);
  for (const uint64_t page : kHugeSizes) {
    if (error != -EINVAL) break;
    if (page > page_bytes) error = try_pages(fd, at, bytes, page, wants_lasting, out);
  }
  if (out.is_possible) return 0;
  out.page_bytes = page_bytes;
  return is_shortage(error) ? -ENOMEM : 0;
}

}  // namespace hpz
