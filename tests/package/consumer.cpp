// SPDX-License-Identifier: BSD-2-Clause
//
// A C++17 program that uses hpzero.hpp as a foreign program would: all of it once.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <hpzero/hpzero.hpp>
#include <vector>

namespace {

struct Record {
  int id;
  double values[100];
};

int wrong(const char *what) {
  std::fprintf(stderr, "consumer: %s\n", what);
  return 1;
}

}  // namespace

int main() {
  std::vector<unsigned char> memory(1 << 20, 0xA5);
  for (const auto how :
       {hpzero::policy::automatic, hpzero::policy::cached, hpzero::policy::stream}) {
    std::fill(memory.begin(), memory.end(), static_cast<unsigned char>(0xA5));
    hpzero::zero(memory.data() + 5, memory.size() - 10, how);
    if (!hpzero::is_zero(memory.data() + 5, memory.size() - 10)) return wrong("zero");
    if (memory[4] != 0xA5 || memory[memory.size() - 5] != 0xA5) return wrong("neighbours");
  }

  Record record{7, {1.0}};
  hpzero::zero(record);
  if (record.id != 0 || record.values[0] != 0.0) return wrong("zero of an object");

  std::fill(memory.begin(), memory.end(), static_cast<unsigned char>(0xA5));
  hpzero::zero_pages({memory.data(), memory.data() + 8192}, 4096);
  if (!hpzero::is_zero(memory.data(), 4096) || memory[4096] != 0xA5 ||
      !hpzero::is_zero(memory.data() + 8192, 4096)) {
    return wrong("zero_pages");
  }

  hpzero::init();
  for (const hpz_kernel_info &kernel : hpzero::kernels()) {
    if (kernel.missing == nullptr) hpzero::zero_with(kernel.id, memory.data(), memory.size());
  }
  try {
    hpzero::zero_with("no_such_kernel", memory.data(), 1);
    return wrong("an unknown kernel was accepted");
  } catch (const std::system_error &error) {
    if (error.code().value() != ENOENT) return wrong("wrong error");
  }
  std::printf("consumer: ok: plan from %s\n", hpzero::plan(hpzero::policy::stream).source);
}
