// SPDX-License-Identifier: BSD-2-Clause
#include "tests/space/custom_arena.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "tests/support/guarded_buffer.h"

namespace hpz::test {
namespace {

constexpr size_t kSlots = 512;  // more than a team holds at a time
constexpr uint64_t kGuardBytes = 64 * 1024;

int make_file(uint64_t bytes) {
  const int fd = memfd_create("arena", MFD_CLOEXEC);
  EXPECT_GE(fd, 0);
  EXPECT_EQ(ftruncate(fd, static_cast<off_t>(bytes)), 0);
  return fd;
}

uint64_t round_up(uint64_t bytes, uint64_t page) {
  return (bytes + page - 1) / page * page;
}

}  // namespace

CustomArena::CustomArena(const ArenaShape &shape, uint64_t seed)
    : shape_(shape),
      fd_(make_file(round_up(shape.len, shape.page_bytes))),
      view_(fd_, round_up(shape.len, shape.page_bytes), MAP_SHARED),
      slot_bytes_(std::max(shape.window_bytes, shape.page_bytes) + 2 * kGuardBytes),
      places_(kSlots * slot_bytes_, MAP_NORESERVE),
      taken_(kSlots),
      unused_(view_.bytes() / shape.page_bytes),
      populated_(unused_.size()),
      random_(seed) {
  EXPECT_NE(view_.begin(), nullptr);
  EXPECT_EQ(mprotect(places_.begin(), places_.bytes(), PROT_NONE), 0);
  poison();
}

CustomArena::~CustomArena() {
  EXPECT_EQ(complaints(), "");
  close(fd_);
}

void CustomArena::poison() const {
  memset(view_.begin(), kPoison, view_.bytes());
  for (size_t page = 0; page < unused_.size(); ++page) {
    if (unused_[page]) memset(view_.begin() + page * shape_.page_bytes, 0, shape_.page_bytes);
  }
}

void CustomArena::set_unused(uint64_t page, bool is_unused) {
  unused_[page] = is_unused;
  memset(view_.begin() + page * shape_.page_bytes, is_unused ? 0 : kPoison, shape_.page_bytes);
}

void CustomArena::forget_populated() {
  populated_.assign(populated_.size(), false);
}

void CustomArena::fail_at(size_t call, int result) {
  fail_at_ = call;
  fail_result_ = result;
  calls_ = 0;
  has_failed_ = false;
}

std::string CustomArena::complaints() const {
  std::string all = complaints_;
  for (const auto &[thread, held] : held_) {
    if (!held.empty()) all += std::to_string(held.size()) + " maps without their unmap\n";
  }
  return all;
}

void CustomArena::complain(const std::string &what) {
  if (complaints_.size() < 1000) complaints_ += what + "\n";
}

SpacePointer CustomArena::make_space(unsigned without) {
  hpz_space_ops ops = HPZ_SPACE_OPS_INIT;
  ops.len = shape_.len;
  ops.page_bytes = shape_.page_bytes;
  ops.window_bytes = shape_.window_bytes;
  ops.flags = shape_.window_bytes != 0 ? HPZ_SPACE_OPS_CONTIGUOUS : 0;
  ops.most_maps = shape_.most_maps;
  ops.map = [](void *self, uint64_t offset, uint64_t len, void **out) {
    return of(self).map(offset, len, out);
  };
  ops.unmap = [](void *self, uint64_t offset, uint64_t len, void *at) {
    of(self).unmap(offset, len, at);
  };
  if ((without & kPopulate) == 0) {
    ops.populate = [](void *self, uint64_t offset, uint64_t len) {
      return of(self).populate(offset, len);
    };
  }
  if ((without & kRelease) == 0) {
    ops.release = [](void *self, uint64_t offset, uint64_t len) {
      return of(self).release(offset, len);
    };
  }
  if ((without & kFindUsed) == 0) {
    ops.find_used = [](void *self, uint64_t offset, uint64_t end, uint64_t *used_begin,
                       uint64_t *used_end) {
      return of(self).find_used(offset, end, used_begin, used_end);
    };
  }
  hpz_space *space = nullptr;
  EXPECT_EQ(hpz_space_custom(&ops, this, &space), 0);
  memset(static_cast<void *>(&ops), 0x5A, sizeof ops);  // it was copied
  return {space, hpz_space_destroy};
}

// With the lock held, as all below.
int CustomArena::begin_call(uint64_t offset) {
  if (calls_++ != fail_at_) return 0;
  has_failed_ = true;
  failed_offset_ = offset;
  return fail_result_;
}

void CustomArena::check_pages(uint64_t offset, uint64_t len, const char *who) {
  const bool is_whole = offset % shape_.page_bytes == 0 &&
                        (len % shape_.page_bytes == 0 || offset + len == shape_.len);
  if (!is_whole || len == 0 || offset >= shape_.len || len > shape_.len - offset) {
    complain(std::string(who) + " of " + std::to_string(offset) + ", " + std::to_string(len));
  }
}

int CustomArena::map(uint64_t offset, uint64_t len, void **out) {
  const std::lock_guard<std::mutex> hold(lock_);
  check_pages(offset, len, "map");
  if (const int result = begin_call(offset); result != 0) return result;
  if (len > std::max(shape_.window_bytes, shape_.page_bytes)) complain("map of too much");
  for (uint64_t at = offset; at < offset + len; at += shape_.page_bytes) {
    if (!mapped_pages_.insert(at).second) complain("a page is mapped twice");
  }
  std::vector<Held> &held = held_[std::this_thread::get_id()];
  if (held.size() >= shape_.most_maps) complain("too many maps in one thread");
  ++maps_;
  most_held_ = std::max(most_held_, held.size() + 1);
  largest_map_ = std::max(largest_map_, len);
  if (instead_) {
    *out = *instead_;
    held.push_back({offset, len, static_cast<char *>(*out), SIZE_MAX});
    return 0;
  }
  size_t slot = random_() % kSlots;
  while (taken_[slot]) slot = (slot + 1) % kSlots;
  taken_[slot] = true;
  unsigned char *const place = places_.begin() + slot * slot_bytes_ +
                               (1 + random_() % (kGuardBytes / kPageBytes)) * kPageBytes;
  const uint64_t bytes = round_up(len, shape_.page_bytes);
  void *const at = mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_,
                        static_cast<off_t>(offset));
  if (at == MAP_FAILED) return -ENOMEM;
  const uint64_t bad = protected_page_ * shape_.page_bytes;
  if (protected_page_ != UINT64_MAX && bad >= offset && bad < offset + bytes) {
    mprotect(place + (bad - offset), shape_.page_bytes, PROT_READ);
  }
  held.push_back({offset, len, static_cast<char *>(at), slot});
  *out = at;
  return 0;
}

void CustomArena::unmap(uint64_t offset, uint64_t len, void *at) {
  const std::lock_guard<std::mutex> hold(lock_);
  std::vector<Held> &held = held_[std::this_thread::get_id()];
  if (held.empty()) return complain("unmap by a thread that holds nothing");
  const Held last = held.back();
  if (last.offset != offset || last.len != len || last.at != at) {
    return complain("unmap of something else than the last map");
  }
  held.pop_back();
  for (uint64_t page = offset; page < offset + len; page += shape_.page_bytes) {
    mapped_pages_.erase(page);
  }
  if (last.slot == SIZE_MAX) return;
  // Whoever writes there now, too late, gets a signal.
  const uint64_t bytes = round_up(len, shape_.page_bytes);
  if (mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
      MAP_FAILED) {
    complain("no mapping");
  }
  taken_[last.slot] = false;
}

int CustomArena::populate(uint64_t offset, uint64_t len) {
  const std::lock_guard<std::mutex> hold(lock_);
  check_pages(offset, len, "populate");
  if (const int result = begin_call(offset); result != 0) return result;
  for (uint64_t at = offset; at < offset + len; at += shape_.page_bytes) {
    populated_[at / shape_.page_bytes] = true;
  }
  return 0;
}

int CustomArena::release(uint64_t offset, uint64_t len) {
  const std::lock_guard<std::mutex> hold(lock_);
  check_pages(offset, len, "release");
  if (const int result = begin_call(offset); result != 0) return result;
  memset(view_.begin() + offset, 0, len);
  return 0;
}

// True runs, which begin and end as they like outside of what is asked for.
int CustomArena::find_used(uint64_t offset, uint64_t end, uint64_t *used_begin,
                           uint64_t *used_end) {
  const std::lock_guard<std::mutex> hold(lock_);
  if (offset >= end || end > shape_.len) complain("find_used of nothing");
  if (const int result = begin_call(offset); result != 0) return result;
  if (*used_begin != end || *used_end != end) complain("find_used without a default");
  if (answer_ != nullptr) {
    *used_begin = answer_->begin;
    *used_end = answer_->end;
    return 0;
  }
  const uint64_t page = shape_.page_bytes;
  uint64_t first = offset / page;
  while (first * page < end && unused_[first]) ++first;
  if (first * page >= end) return 0;
  uint64_t behind = first;
  while (behind < unused_.size() && !unused_[behind]) ++behind;
  const bool is_exact = random_() % 2 == 0;
  *used_begin = is_exact ? std::max(first * page, offset) : first * page;
  *used_end = is_exact ? std::min(behind * page, end) : behind * page;
  return 0;
}

}  // namespace hpz::test
