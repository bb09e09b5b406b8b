// SPDX-License-Identifier: BSD-2-Clause
#include "bench/fingerprint.h"

#include <dlfcn.h>
#include <hpzero/hpzero.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>

namespace hpz::bench {

std::string fingerprint_of_file(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  uint64_t hash = 0xcbf29ce484222325;
  std::array<char, 65536> chunk;
  bool has_any = false;
  while (file.read(chunk.data(), chunk.size()) || file.gcount() > 0) {
    for (std::streamsize i = 0; i < file.gcount(); ++i) {
      hash ^= static_cast<unsigned char>(chunk[static_cast<size_t>(i)]);
      hash *= 0x100000001b3;
    }
    has_any = true;
  }
  if (!has_any || file.bad()) return "unknown";
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

std::string fingerprint_of_library() {
  Dl_info info = {};
  const auto address = reinterpret_cast<const void *>(&hpz_version);
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "unknown";
  return fingerprint_of_file(info.dli_fname);
}

}  // namespace hpz::bench
