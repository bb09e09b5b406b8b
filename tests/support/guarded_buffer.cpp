// SPDX-License-Identifier: BSD-2-Clause
//
// Guard pages by mprotect; the oracle is a byte loop, entered where a block compare saw a
// difference.
#include "tests/support/guarded_buffer.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define HPZ_FORGET(at, len) __msan_poison(at, len)
#endif
#endif
#if !defined(HPZ_FORGET)
#define HPZ_FORGET(at, len) static_cast<void>(at), static_cast<void>(len)
#endif

namespace hpz::test {

void forget(const void *at, size_t len) {
  HPZ_FORGET(at, len);
}

namespace {

// Of the kernel, which protects nothing smaller.
size_t page_bytes() {
  static const size_t kBytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return kBytes;
}

}  // namespace

GuardedBuffer::GuardedBuffer(size_t bytes) {
  const size_t page = page_bytes();
  const size_t data = (bytes + page - 1) & ~(page - 1);
  void *const map =
      mmap(nullptr, data + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) throw std::runtime_error("no address space for a guarded buffer");
  map_ = static_cast<unsigned char *>(map);
  begin_ = map_ + page;
  end_ = begin_ + data;
  if (data != 0 && mprotect(begin_, data, PROT_READ | PROT_WRITE) != 0) {
    throw std::runtime_error("no memory for a guarded buffer");
  }
  poison();
}

GuardedBuffer::~GuardedBuffer() {
  munmap(map_, size() + 2 * page_bytes());
}

void GuardedBuffer::poison() const {
  if (begin_ != end_) memset(begin_, kPoison, size());
}

const unsigned char *find_other(const unsigned char *from, const unsigned char *to,
                                unsigned char value) {
  if (from == to) return to;
  // A block is uniform if it equals itself moved by a byte. (Inspected in blocks, so that the byte
  // loop is short and its result exact.)
  constexpr ptrdiff_t kBlock = 1 << 16;
  for (const unsigned char *at = from; at != to;) {
    const ptrdiff_t left = to - at;
    const size_t block = static_cast<size_t>(left < kBlock ? left : kBlock);
    if (at[0] != value || memcmp(at, at + 1, block - 1) != 0) {
      for (const unsigned char *end = at + block; at != end; ++at) {
        if (*at != value) return at;
      }
    } else {
      at += block;
    }
  }
  return to;
}

testing::AssertionResult all_are(const unsigned char *from, const unsigned char *to,
                                 unsigned char value, const char *what) {
  const unsigned char *const other = find_other(from, to, value);
  if (other == to) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << what << ": byte " << other - from << " of " << to - from << " is "
         << static_cast<unsigned>(*other) << ", not " << static_cast<unsigned>(value);
}

testing::AssertionResult GuardedBuffer::only_cleared(const unsigned char *dst, size_t len) const {
  if (testing::AssertionResult r = all_are(begin_, dst, kPoison, "before the range"); !r) return r;
  if (testing::AssertionResult r = all_are(dst, dst + len, 0, "inside the range"); !r) return r;
  return all_are(dst + len, end_, kPoison, "behind the range");
}

testing::AssertionResult GuardedBuffer::only_cleared(std::vector<void *> lanes, size_t len) const {
  std::sort(lanes.begin(), lanes.end());
  const unsigned char *after = begin_;
  for (size_t i = 0; i < lanes.size(); ++i) {
    const auto *const lane = static_cast<const unsigned char *>(lanes[i]);
    if (lane < after || lane + len > end_) {
      return testing::AssertionFailure() << "lane " << i << " overlaps, or is outside the buffer";
    }
    testing::AssertionResult result = all_are(after, lane, kPoison, "before a lane");
    after = lane + len;
    if (result) result = all_are(lane, after, 0, "inside a lane");
    if (!result) return result << " (lane " << i << " of " << lanes.size() << ')';
  }
  return all_are(after, end_, kPoison, "behind the lanes");
}

}  // namespace hpz::test
