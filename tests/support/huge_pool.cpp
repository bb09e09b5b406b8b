// SPDX-License-Identifier: BSD-2-Clause
//
// By stdio: what an uninstrumented std::ifstream reads is uninitialised to MemorySanitizer.
#include "tests/support/huge_pool.h"

#include <gtest/gtest.h>
#include <stdio.h>
#include <unistd.h>

namespace hpz::test {
namespace {

std::string path(const char *name) {
  return std::string("/sys/kernel/mm/hugepages/hugepages-2048kB/") + name;
}

long read_number(const char *name) {
  FILE *const file = fopen(path(name).c_str(), "re");
  if (file == nullptr) return -1;
  long value = -1;
  if (fscanf(file, "%ld", &value) != 1) value = -1;
  fclose(file);
  return value;
}

bool write_number(const char *name, long value) {
  FILE *const file = fopen(path(name).c_str(), "we");
  if (file == nullptr) return false;
  fprintf(file, "%ld", value);
  return fclose(file) == 0;
}

constexpr const char *kPool = "nr_hugepages", *kOvercommit = "nr_overcommit_hugepages";

}  // namespace

HugePool::HugePool() : found_(all_pages()), found_overcommit_(read_number(kOvercommit)) {}

HugePool::~HugePool() {
  if (found_ >= 0 && all_pages() != found_) write_number(kPool, found_);
  if (read_number(kOvercommit) != found_overcommit_) write_number(kOvercommit, found_overcommit_);
}

long HugePool::all_pages() {
  return read_number(kPool);
}

long HugePool::free_pages() {
  const long free = read_number("free_hugepages");
  return free < 0 ? free : free - read_number("resv_hugepages");
}

std::string HugePool::see_to(long pages, bool exactly) {
  if (found_ < 0) return "NOT TESTED HERE: no 2 MiB pages in this kernel";
  if (exactly && found_overcommit_ > 0 && !write_number(kOvercommit, 0)) {
    return "NOT TESTED HERE: the overcommit of 2 MiB pages cannot be changed (wants root)";
  }
  const auto are_there = [&] { return exactly ? free_pages() == pages : free_pages() >= pages; };
  if (are_there()) return "";
  // The kernel gives as many as it finds together, and finds more when asked again.
  for (int i = 0; i < 20 && !are_there(); ++i) {
    if (i != 0) usleep(50'000);
    if (!write_number(kPool, all_pages() - free_pages() + pages)) {
      return "NOT TESTED HERE: the pool of 2 MiB pages cannot be changed (wants root)";
    }
  }
  if (are_there()) return "";
  const std::string why = "the pool was set, and has " + std::to_string(free_pages()) +
                          " free pages of 2 MiB, not " + std::to_string(pages);
  ADD_FAILURE() << why;
  return why;
}

}  // namespace hpz::test
