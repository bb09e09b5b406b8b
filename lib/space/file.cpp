// SPDX-License-Identifier: BSD-2-Clause
//
// A range of a file as a backing: through one mapping that lasts, through windows, by the file
// system, or where nothing else is possible by writes.
#include "lib/space/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "lib/space/file_blocks.h"
#include "lib/space/file_facts.h"
#include "lib/space/file_mapping.h"
#include "lib/space/pages.h"
#include "lib/space/touch.h"

namespace hpz {
namespace {

// Positions count from the first page of the range.
class FileBacking {
 public:
  FileBacking() noexcept = default;
  ~FileBacking();
  FileBacking(const FileBacking &) = delete;
  FileBacking &operator=(const FileBacking &) = delete;

  int open(int fd, uint64_t offset, uint64_t len, const hpz_space_options &options,
           const char *root) noexcept;
  void describe(Backing &out) noexcept;

 private:
  static FileBacking &of(void *self) noexcept { return *static_cast<FileBacking *>(self); }
  static int check(void *self, uint64_t position, uint64_t bytes, uint64_t *bad_at) noexcept;
  static int map(void *self, uint64_t position, uint64_t bytes, char **at) noexcept;
  static void unmap(void *self, uint64_t position, uint64_t bytes, char *at) noexcept;
  static int clear(void *self, uint64_t position, uint64_t bytes, uint64_t *done_bytes) noexcept;
  static int allocate(void *self, uint64_t position, uint64_t bytes) noexcept;
  static int begin_release(void *self) noexcept;
  static int release(void *self, uint64_t position, uint64_t bytes) noexcept;
  static int find_used(void *self, uint64_t position, uint64_t end, uint64_t *used_begin,
                       uint64_t *used_end) noexcept;
  static void destroy(void *self) noexcept;

  int clear_pages(uint64_t position, uint64_t bytes) noexcept;
  bool find_absent(uint64_t position, uint64_t end, uint64_t &absent) const noexcept;
  uint64_t page() const noexcept { return mapping_.page_bytes; }
  bool is_whole_pages(uint64_t position, uint64_t bytes) const noexcept {
    return ((position | bytes) & (page() - 1)) == 0;
  }
  uint64_t mapped_bytes() const noexcept { return (skew_ + len_ + (page() - 1)) & ~(page() - 1); }

  int fd_ = -1;
  FileFacts facts_;
  FileMapping mapping_;
  FileBlocks blocks_;
  uint64_t first_ = 0;  // the file's position of position 0
  uint64_t skew_ = 0, len_ = 0, window_bytes_ = 0;
  bool fills_holes_ = false;
  BackingOps ops_ = {};  // what this file can do
};

FileBacking::~FileBacking() {
  if (mapping_.lasting != nullptr) unmap_file(mapping_.lasting, mapped_bytes());
  if (fd_ >= 0) close(fd_);
}

int FileBacking::open(int fd, uint64_t offset, uint64_t len, const hpz_space_options &options,
                      const char *root) noexcept {
  int error = inspect_file(fd, root, facts_);
  if (error != 0) return error;
  uint64_t end;
  if (__builtin_add_overflow(offset, len, &end) || end > facts_.bytes) return -EINVAL;
  fd_ = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (fd_ < 0) return -errno;

  mapping_.page_bytes = facts_.page_bytes;
  const bool is_lasting = options.window_bytes == 0;
  if (len != 0) {
    error = try_mapping(fd_, offset, len, facts_.page_bytes, is_lasting, mapping_);
    if (error != 0) return error;
    if (!mapping_.is_possible && !facts_.takes_writes) return -ENODEV;
  }
  skew_ = offset & (page() - 1);
  first_ = offset - skew_;
  len_ = len;
  const uint64_t window = is_lasting ? kUsualWindowBytes : options.window_bytes;
  window_bytes_ =
      window > mapped_bytes() ? mapped_bytes() : (window + (page() - 1)) & ~(page() - 1);
  window_bytes_ = std::max(window_bytes_, page());
  fills_holes_ = (options.flags & HPZ_SPACE_ALLOCATE) != 0;
  facts_.page_bytes = page();
  blocks_.open(fd_, facts_, (options.flags & HPZ_SPACE_PUNCH) != 0);
  return 0;
}

void FileBacking::describe(Backing &out) noexcept {
  if (facts_.can_shrink) ops_.check = check;
  if (mapping_.is_possible) {
    ops_.map = map;
    ops_.unmap = unmap;
  } else {
    ops_.populate = allocate;
  }
  if (!mapping_.is_possible || blocks_.can_zero()) ops_.clear = clear;
  ops_.begin_release = begin_release;
  ops_.release = release;
  if (blocks_.can_find_data()) ops_.find_used = find_used;
  ops_.destroy = destroy;

  out = Backing();
  out.ops = &ops_;
  out.self = this;
  out.skew = skew_;
  out.page_bytes = page();
  out.window_bytes = window_bytes_;
  out.lasting = mapping_.lasting;
  out.zero_skips = !fills_holes_ && blocks_.can_find_data();
  // A store to a page may want memory or, on a disk, blocks: copy-on-write file systems want new
  // ones for each. Where tmpfs has data it wants neither, and touching what is mapped would take 40
  // ms for each GiB of 4 KiB pages, clearing it 90 to 240 (Granite Rapids). (In windows nothing is
  // mapped: touching all of it takes 160 ms there, and the faults of stores to it would take 530.)
  out.is_touched_first = !(mapping_.lasting != nullptr && out.zero_skips && facts_.is_memory);
}

int FileBacking::check(void *self, uint64_t position, uint64_t bytes, uint64_t *bad_at) noexcept {
  const FileBacking &file = of(self);
  struct stat status = {};
  if (fstat(file.fd_, &status) != 0) return -errno;
  const auto end = static_cast<uint64_t>(status.st_size);
  // The pages may reach beyond the end, the bytes of the range do not.
  const uint64_t behind = std::min(position + bytes, file.skew_ + file.len_);
  if (file.first_ + behind <= end) return 0;
  *bad_at = std::max(position, end > file.first_ ? end - file.first_ : 0);
  return -EFAULT;
}

int FileBacking::map(void *self, uint64_t position, uint64_t bytes, char **at) noexcept {
  const FileBacking &file = of(self);
  return map_file(file.fd_, file.first_ + position, bytes, at);
}

void FileBacking::unmap(void *, uint64_t, uint64_t bytes, char *at) noexcept {
  unmap_file(at, bytes);
}

// Of pages in part the rest is somebody's: by stores, which are exact on every kernel.
int FileBacking::clear(void *self, uint64_t position, uint64_t bytes,
                       uint64_t *done_bytes) noexcept {
  FileBacking &file = of(self);
  if (file.is_whole_pages(position, bytes)) {
    const int error = file.blocks_.zero(file.first_ + position, bytes);
    if (error == 0) *done_bytes = bytes;
    if (error != -EOPNOTSUPP) return error;
  }
  if (file.mapping_.is_possible) return 0;
  return file.blocks_.write(file.first_ + position, bytes, *done_bytes);
}

int FileBacking::allocate(void *self, uint64_t position, uint64_t bytes) noexcept {
  FileBacking &file = of(self);
  return file.blocks_.allocate(file.first_ + position, bytes);
}

int FileBacking::begin_release(void *self) noexcept {
  return of(self).blocks_.try_punch();
}

int FileBacking::release(void *self, uint64_t position, uint64_t bytes) noexcept {
  FileBacking &file = of(self);
  const int error = file.blocks_.punch(file.first_ + position, bytes);
  if (error != FileBlocks::kNotProven) return error;
  // Not given back, then, but zero all the same.
  return file.clear_pages(position, bytes);
}

// For the rare kernel that needs it, so by the C library.
int FileBacking::clear_pages(uint64_t position, uint64_t bytes) noexcept {
  if (!mapping_.is_possible) {
    uint64_t done;
    return blocks_.write(first_ + position, bytes, done);
  }
  while (bytes != 0) {
    const uint64_t part = std::min(bytes, window_bytes_);
    char *at = nullptr;
    int error = map_file(fd_, first_ + position, part, &at);
    if (error != 0) return error;
    error = touch_pages(at, part).error;
    if (error == 0) memset(at, 0, part);
    unmap_file(at, part);
    if (error != 0) return error;
    position += part;
    bytes -= part;
  }
  return 0;
}

// Where from here on, and before end, the first page is that has no data. SEEK_HOLE of a tmpfs file
// without holes would look at all of its pages for each chunk; mincore looks at those that it is
// asked for, and SEEK_DATA only at those that are not in memory: holes, and pages that are swapped.
// False: it cannot be told so.
bool FileBacking::find_absent(uint64_t position, uint64_t end, uint64_t &absent) const noexcept {
  constexpr uint64_t kMostPages = 1024;
  const uint64_t base = base_page_bytes();
  if (!facts_.is_memory || !mapping_.is_possible || page() != base) return false;
  if (!is_told_what_is_in_memory(fd_)) return false;
  for (; position < end;) {
    unsigned char present[kMostPages] = {};
    const uint64_t most = mapping_.lasting != nullptr ? kMostPages * base
                                                      : std::min(kMostPages * base, window_bytes_);
    const uint64_t bytes = std::min((end - position + (base - 1)) & ~(base - 1), most);
    char *at = nullptr;
    if (mapping_.lasting != nullptr) {
      at = mapping_.lasting + position;
    } else if (map_file(fd_, first_ + position, bytes, &at) != 0) {
      return false;
    }
    const bool is_told = mincore(at, bytes, present) == 0;
    if (mapping_.lasting == nullptr) unmap_file(at, bytes);
    if (!is_told) return false;
    for (uint64_t i = 0; i < bytes / base; ++i, position += base) {
      if ((present[i] & 1) != 0) continue;
      const uint64_t here = first_ + position;
      if (blocks_.find_data(here, here + base) != here) {
        absent = std::min(position, end);
        return true;
      }
    }
  }
  absent = end;
  return true;
}

// Whole pages: to ask the file system for half of one is to keep a page that is half a hole.
int FileBacking::find_used(void *self, uint64_t position, uint64_t end, uint64_t *used_begin,
                           uint64_t *used_end) noexcept {
  const FileBacking &file = of(self);
  const uint64_t in_page = file.page() - 1;
  *used_begin = *used_end = end;
  while (position < end) {
    uint64_t begin =
        file.blocks_.find_data(file.first_ + position, file.first_ + end) - file.first_;
    uint64_t behind = end;
    if (begin < end && !file.find_absent(begin & ~in_page, end, behind)) {
      file.blocks_.find_data(file.first_ + begin, file.first_ + end, begin, behind);
      begin -= file.first_;
      behind -= file.first_;
    }
    if (begin >= end) break;
    begin &= ~in_page;
    behind = (behind + in_page) & ~in_page;
    if (behind > begin) {
      *used_begin = std::max(begin, position);
      *used_end = std::min(behind, end);
      break;
    }
    position = begin + in_page + 1;  // somebody has punched that page meanwhile
  }
  return 0;
}

void FileBacking::destroy(void *self) noexcept {
  auto *const file = static_cast<FileBacking *>(self);
  file->~FileBacking();
  free(file);
}

}  // namespace

int open_file_backing(int fd, uint64_t offset, uint64_t len, const hpz_space_options &options,
                      const char *root, Backing &out) noexcept {
  void *const memory = malloc(sizeof(FileBacking));
  if (memory == nullptr) return -ENOMEM;
  auto *const file = new (memory) FileBacking;
  const int error = file->open(fd, offset, len, options, root);
  if (error != 0) {
    file->~FileBacking();
    free(file);
    return error;
  }
  file->describe(out);
  return 0;
}

}  // namespace hpz
