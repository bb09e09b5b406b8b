// SPDX-License-Identifier: BSD-2-Clause
//
// An embedder's memory as its callbacks hand it out: pages that are nowhere but while they are
// mapped, and then at places that cannot be guessed. It watches the rules of hpz_space_ops, and
// fails at a call of the test's choice.
#ifndef HPZERO_TESTS_SPACE_CUSTOM_ARENA_H
#define HPZERO_TESTS_SPACE_CUSTOM_ARENA_H

#include <hpzero/space.h>
#include <stddef.h>
#include <stdint.h>

#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/memory.h"
#include "tests/support/workers.h"

namespace hpz::test {

struct ArenaShape {
  uint64_t len;
  uint64_t page_bytes = 4096;
  uint64_t window_bytes = 0;  // not 0: contiguous
  uint32_t most_maps = 1;
};

class CustomArena {
 public:
  // All poison. Its pages are those of a file, seen through a mapping of the test's own, too.
  CustomArena(const ArenaShape &shape, uint64_t seed);
  ~CustomArena();
  CustomArena(const CustomArena &) = delete;
  CustomArena &operator=(const CustomArena &) = delete;

  // All callbacks but these: without populate, release or find_used.
  enum Without : unsigned { kNothing = 0, kPopulate = 1, kRelease = 2, kFindUsed = 4 };
  SpacePointer make_space(unsigned without = kNothing);

  unsigned char *bytes() const { return view_.begin(); }
  uint64_t len() const { return shape_.len; }
  uint64_t page_bytes() const { return shape_.page_bytes; }
  uint64_t whole_len() const { return view_.bytes(); }  // ... to the end of its last page
  void poison() const;

  // Pages that find_used does not find, and that are all zero. The others are used.
  void set_unused(uint64_t page, bool is_unused);
  bool is_unused(uint64_t offset) const { return unused_[offset / shape_.page_bytes]; }
  bool is_populated(uint64_t offset) const { return populated_[offset / shape_.page_bytes]; }
  void forget_populated();

  // The call with this index, counted over all but unmap, fails; SIZE_MAX: none does.
  void fail_at(size_t call, int result);
  // What the next map calls give instead of an address, to be unmapped all the same.
  void give_instead(void *address) { instead_ = address; }
  // A page whose mapping cannot be written to; UINT64_MAX: none.
  void protect_page(uint64_t page) { protected_page_ = page; }
  // What find_used says instead of the truth; null: the truth.
  struct Answer {
    uint64_t begin, end;
  };
  void answer_instead(const Answer *answer) { answer_ = answer; }

  // Of what has returned: the rules that were broken so far, and whether something is mapped still,
  std::string complaints() const;
  // ... and what was called.
  size_t calls() const { return calls_; }  // since fail_at
  bool has_failed() const { return has_failed_; }
  uint64_t failed_offset() const { return failed_offset_; }  // of the call that failed
  size_t maps() const { return maps_; }
  size_t most_held() const { return most_held_; }  // by one thread at a time
  uint64_t largest_map() const { return largest_map_; }

 private:
  struct Held {
    uint64_t offset, len;
    char *at;
    size_t slot;
  };
  static CustomArena &of(void *context) { return *static_cast<CustomArena *>(context); }
  int begin_call(uint64_t offset);
  void complain(const std::string &what);
  int map(uint64_t offset, uint64_t len, void **out);
  void unmap(uint64_t offset, uint64_t len, void *at);
  int populate(uint64_t offset, uint64_t len);
  int release(uint64_t offset, uint64_t len);
  int find_used(uint64_t offset, uint64_t end, uint64_t *used_begin, uint64_t *used_end);
  void check_pages(uint64_t offset, uint64_t len, const char *who);

  const ArenaShape shape_;
  const int fd_;
  const Memory view_;
  const uint64_t slot_bytes_;
  const Memory places_;  // address space in which the windows appear
  std::vector<bool> taken_, unused_, populated_;
  std::mutex lock_;
  std::mt19937_64 random_;
  std::map<std::thread::id, std::vector<Held>> held_;
  std::set<uint64_t> mapped_pages_;
  std::string complaints_;
  size_t calls_ = 0, fail_at_ = SIZE_MAX, maps_ = 0, most_held_ = 0;
  int fail_result_ = 0;
  uint64_t failed_offset_ = 0, largest_map_ = 0, protected_page_ = UINT64_MAX;
  bool has_failed_ = false;
  std::optional<void *> instead_;
  const Answer *answer_ = nullptr;
};

}  // namespace hpz::test

#endif
