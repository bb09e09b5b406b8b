// SPDX-License-Identifier: BSD-2-Clause
#include "tests/guest/pages.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace hpz::test {
namespace {

std::atomic<size_t> pages_checked = 0;

void require(bool ok, const std::string &what) {
  if (!ok) throw std::runtime_error(what + ": " + strerror(errno));
}

std::string node_folder(int node) {
  return "/sys/devices/system/node/node" + std::to_string(node);
}

uint8_t *map(size_t bytes, int flags, int fd) {
  void *const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  require(base != MAP_FAILED, "mmap of " + std::to_string(bytes) + " bytes");
  return static_cast<uint8_t *>(base);
}

// Aligned to a huge page, by cutting what is mapped in excess.
uint8_t *map_aligned(size_t bytes) {
  uint8_t *const whole =
      map(bytes + kHugePage, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, /*fd=*/-1);
  const size_t before = -reinterpret_cast<uintptr_t>(whole) % kHugePage;
  if (before != 0) munmap(whole, before);
  munmap(whole + before + bytes, kHugePage - before);
  return whole + before;
}

uint8_t *map_kind(Pages kind, size_t bytes) {
  switch (kind) {
    case Pages::kSmall: {
      uint8_t *const base = map_aligned(bytes);
      require(madvise(base, bytes, MADV_NOHUGEPAGE) == 0, "MADV_NOHUGEPAGE");
      return base;
    }
    case Pages::kTransparent: {
      uint8_t *const base = map_aligned(bytes);
      require(madvise(base, bytes, MADV_HUGEPAGE) == 0, "MADV_HUGEPAGE");
      return base;
    }
    case Pages::kHugetlb:
      // Without reservation: what is short shows when it is touched.
      return map(bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1);
    case Pages::kShared:
    case Pages::kSharedHugetlb: {
      const int fd =
          memfd_create("guest", MFD_CLOEXEC | (kind == Pages::kShared ? 0u : MFD_HUGETLB));
      require(fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0, "memfd");
      uint8_t *base;
      if (kind == Pages::kShared) {
        base = static_cast<uint8_t *>(
            mmap(map_aligned(bytes), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0));
        require(base != MAP_FAILED, "mmap of a memfd");
      } else {
        base = map(bytes, MAP_SHARED | MAP_NORESERVE, fd);
      }
      close(fd);
      return base;
    }
  }
  throw std::logic_error("no such kind of pages");
}

}  // namespace

std::string to_string(Pages kind) {
  switch (kind) {
    case Pages::kSmall:
      return "small";
    case Pages::kTransparent:
      return "transparent";
    case Pages::kShared:
      return "shared";
    case Pages::kHugetlb:
      return "hugetlb";
    case Pages::kSharedHugetlb:
      return "shared_hugetlb";
  }
  return "?";
}

void count_checked(size_t pages) {
  pages_checked += pages;
}

size_t checked_so_far() {
  return pages_checked;
}

Mapping::Mapping(Pages kind, size_t pages)
    : page_bytes_(kind == Pages::kSmall || kind == Pages::kShared ? kSmallPage : kHugePage),
      pages_(pages) {
  base_ = map_kind(kind, bytes());
}

Mapping::Mapping(int fd, size_t page_bytes, size_t pages)
    : base_(map(page_bytes * pages, MAP_SHARED | MAP_NORESERVE, fd)),
      page_bytes_(page_bytes),
      pages_(pages) {}

Mapping::~Mapping() {
  munmap(base_, bytes());
}

void Mapping::bind(size_t first, size_t count, int node) {
  const unsigned long mask = 1UL << node;
  // The kernel reads one bit less than it is told.
  require(syscall(SYS_mbind, at(first), count * page_bytes_, MPOL_BIND, &mask, 65UL, 0U) == 0,
          "mbind");
}

void Mapping::bind_in_stripes(size_t stripe) {
  for (size_t page = 0; page < pages_; page += stripe) {
    bind(page, std::min(stripe, pages_ - page), node_in_stripes(page, stripe));
  }
}

void Mapping::fill() {
  fill(0, pages_);
}

void Mapping::fill(size_t first, size_t count) {
  memset(at(first), kFill, count * page_bytes_);
}

bool Mapping::reads(size_t page, uint8_t byte) const {
  const uint8_t *const bytes = at(page);
  return bytes[0] == byte && memcmp(bytes, bytes + 1, page_bytes_ - 1) == 0;
}

bool Mapping::reads(size_t first, size_t count, uint8_t byte) const {
  for (size_t page = first; page < first + count; ++page) {
    if (!reads(page, byte)) {
      ADD_FAILURE() << "page " << page << " does not read " << unsigned{byte};
      return false;
    }
  }
  return true;
}

std::vector<int> Mapping::nodes() const {
  std::vector<void *> addresses;
  for (size_t page = 0; page < pages_; ++page) addresses.push_back(at(page));
  std::vector<int> nodes(pages_, -EINVAL);
  require(syscall(SYS_move_pages, 0, pages_, addresses.data(), nullptr, nodes.data(), 0) == 0,
          "move_pages");
  return nodes;
}

size_t Mapping::resident() const {
  const std::vector<int> all = nodes();
  return static_cast<size_t>(
      std::count_if(all.begin(), all.end(), [](int node) { return node >= 0; }));
}

WrongPages::~WrongPages() {
  if (count_ != 0) ADD_FAILURE() << count_ << " pages " << what_ << ":" << first_;
}

void WrongPages::add(size_t page, int found) {
  if (++count_ <= 8) first_ += " " + std::to_string(page) + " (" + std::to_string(found) + ")";
}

std::string read_text(const std::string &path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  require(in.good(), path);
  return text.str();
}

void write_text(const std::string &path, const std::string &text) {
  std::ofstream out(path);
  out << text;
  require(bool(out.flush()), path + " <- " + text);
}

long read_number(const std::string &path) {
  return std::stol(read_text(path));
}

size_t free_huge_pages(int node) {
  return static_cast<size_t>(
      read_number(node_folder(node) + "/hugepages/hugepages-2048kB/free_hugepages"));
}

void refill_pool(int node) {
  static const long pages = std::stol(getenv("guest_huge_pages"));
  const std::string pool = node_folder(node) + "/hugepages/hugepages-2048kB/";
  write_text(pool + "nr_hugepages", std::to_string(pages));
  require(read_number(pool + "free_hugepages") == pages, "a full pool on node");
}

std::vector<int> cpus_of_node(int node) {
  std::vector<int> cpus;
  std::stringstream list(read_text(node_folder(node) + "/cpulist"));
  for (std::string range; std::getline(list, range, ',');) {
    const size_t dash = range.find('-');
    if (range.find_first_of("0123456789") == std::string::npos) continue;
    const int first = std::stoi(range);
    const int last = dash == std::string::npos ? first : std::stoi(range.substr(dash + 1));
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

int node_of_cpu(int cpu) {
  // As it was at first: CPUs that are offline are in no node's list.
  static const std::map<int, int> at_first = [] {
    std::map<int, int> nodes;
    for (int node = 0; node < kNodes; ++node) {
      for (const int of_node : cpus_of_node(node)) nodes[of_node] = node;
    }
    return nodes;
  }();
  const auto found = at_first.find(cpu);
  return found == at_first.end() ? -1 : found->second;
}

}  // namespace hpz::test
