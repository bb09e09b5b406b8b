// SPDX-License-Identifier: BSD-2-Clause
//
// By stdio: what an uninstrumented std::ifstream reads is uninitialised to MemorySanitizer.
#include "tests/support/huge_pool.h"

#include <gtest/gtest.h>
#include <stdio.h>
#include <unistd.h>

namespace hpz::test {
namespace {

std::string path(size_t page_bytes, const char *name) {
  return "/sys/kernel/mm/hugepages/hugepages-" + std::to_string(page_bytes / 1024) + "kB/" + name;
}

long read_number(size_t page_bytes, const char *name) {
  FILE *const file = fopen(path(page_bytes, name).c_str(), "re");
  if (file == nullptr) return -1;
  long value = -1;
  if (fscanf(file, "%ld", &value) != 1) value = -1;
  fclose(file);
  return value;
}

bool write_number(size_t page_bytes, const char *name, long value) {
  FILE *const file = fopen(path(page_bytes, name).c_str(), "we");
  if (file == nullptr) return false;
  fprintf(file, "%ld", value);
  return fclose(file) == 0;
}

constexpr const char *kPool = "nr_hugepages", *kOvercommit = "nr_overcommit_hugepages";

}  // namespace

HugePool::HugePool(size_t page_bytes)
    : page_bytes_(page_bytes),
      found_(all_pages()),
      found_overcommit_(read_number(page_bytes, kOvercommit)) {}

HugePool::~HugePool() {
  if (found_ >= 0 && all_pages() != found_) write_number(page_bytes_, kPool, found_);
  if (read_number(page_bytes_, kOvercommit) != found_overcommit_) {
    write_number(page_bytes_, kOvercommit, found_overcommit_);
  }
}

long HugePool::all_pages() const {
  return read_number(page_bytes_, kPool);
}

long HugePool::free_pages(size_t page_bytes) {
  const long free = read_number(page_bytes, "free_hugepages");
  return free < 0 ? free : free - read_number(page_bytes, "resv_hugepages");
}

std::string HugePool::see_to(long pages, bool exactly) {
  const std::string size = std::to_string(page_bytes_ >> 20) + " MiB";
  const auto free = [this] { return free_pages(page_bytes_); };
  if (found_ < 0) return "NOT TESTED HERE: no " + size + " pages in this kernel";
  if (exactly && found_overcommit_ > 0 && !write_number(page_bytes_, kOvercommit, 0)) {
    return "NOT TESTED HERE: the overcommit of " + size + " pages cannot be changed (wants root)";
  }
  const auto are_there = [&] { return exactly ? free() == pages : free() >= pages; };
  if (are_there()) return "";
  // The kernel gives as many as it finds together, and finds more when asked again.
  for (int i = 0; i < 20 && !are_there(); ++i) {
    if (i != 0) usleep(50'000);
    if (!write_number(page_bytes_, kPool, all_pages() - free() + pages)) {
      return "NOT TESTED HERE: the pool of " + size + " pages cannot be changed (wants root)";
    }
  }
  if (are_there()) return "";
  const std::string why = "the pool was set, and has " + std::to_string(free()) +
                          " free pages of " + size + ", not " + std::to_string(pages);
  if (page_bytes_ >= kGiganticBytes && free() < pages) return "NOT TESTED HERE: " + why;
  ADD_FAILURE() << why;
  return why;
}

}  // namespace hpz::test
