// SPDX-License-Identifier: BSD-2-Clause
//
// Memory of the guest page by page: mapped with a kind of page, bound to nodes, filled, asked where
// it lies. By system calls alone, so that nothing here can share a mistake with the library.
#ifndef HPZERO_TESTS_GUEST_PAGES_H
#define HPZERO_TESTS_GUEST_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <utility>
#include <vector>

namespace hpz::test {

inline constexpr size_t kSmallPage = 4096;
inline constexpr size_t kHugePage = size_t{2} << 20;
inline constexpr uint8_t kFill = 0xa5;

// The machine that boot.py boots.
inline constexpr int kNodes = 3;
inline constexpr int kNodeWithoutCpus = 2;
inline constexpr int kNearestToIt = 1;

enum class Pages {
  kSmall,          // private anonymous, 4 KiB, no transparent huge pages
  kTransparent,    // private anonymous, transparent huge pages
  kShared,         // a file of tmpfs, 4 KiB
  kHugetlb,        // private anonymous, 2 MiB of the pool
  kSharedHugetlb,  // a file of hugetlbfs, shared: as a VMM has its guest's memory
};
std::string to_string(Pages kind);

// Everything that makes a test pass counts the pages it looked at here; main.cpp tells boot.py.
void count_checked(size_t pages);
size_t checked_so_far();

class Mapping {
 public:
  Mapping(Pages kind, size_t pages);
  Mapping(int fd, size_t page_bytes, size_t pages);  // shared, of a file
  ~Mapping();
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;

  uint8_t *at(size_t page) const { return base_ + page * page_bytes_; }
  size_t page_bytes() const { return page_bytes_; }
  size_t pages() const { return pages_; }
  size_t bytes() const { return pages_ * page_bytes_; }

  // Pages [first, first + count) are allowed on this node alone, from the next fault on.
  void bind(size_t first, size_t count, int node);
  // Page i belongs to node (i / stripe) % kNodes.
  void bind_in_stripes(size_t stripe);
  int node_in_stripes(size_t page, size_t stripe) const {
    return static_cast<int>(page / stripe % kNodes);
  }

  // Every byte is kFill afterwards.
  void fill();
  void fill(size_t first, size_t count);
  bool reads(size_t page, uint8_t byte) const;
  bool reads(size_t first, size_t count, uint8_t byte) const;

  // The node of each page, or a negative errno value; -ENOENT where there is none. move_pages,
  // which does not fault a page in.
  std::vector<int> nodes() const;
  size_t resident() const;

 private:
  uint8_t *base_;
  size_t page_bytes_;
  size_t pages_;
};

// Pages that are not as they must be: one failure that names the first ones, not one for each.
class WrongPages {
 public:
  explicit WrongPages(std::string what) : what_(std::move(what)) {}
  ~WrongPages();
  WrongPages(const WrongPages &) = delete;
  WrongPages &operator=(const WrongPages &) = delete;
  void add(size_t page, int found);

 private:
  std::string what_;
  std::string first_;
  size_t count_ = 0;
};

std::string read_text(const std::string &path);
void write_text(const std::string &path, const std::string &text);
long read_number(const std::string &path);

size_t free_huge_pages(int node);
// So many in the node's pool, all of them free: poisoned ones are lost to it.
void refill_pool(int node);

std::vector<int> cpus_of_node(int node);  // those that are online
int node_of_cpu(int cpu);

}  // namespace hpz::test

#endif
