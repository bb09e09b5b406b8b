// SPDX-License-Identifier: BSD-2-Clause
//
// By stdio: what an uninstrumented std::ifstream reads is uninitialised to MemorySanitizer.
#include "tests/support/transparent_pages.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "tests/support/huge_pool.h"

namespace hpz::test {
namespace {

// Its first line; "" where there is none.
std::string read_setting(const char *name) {
  FILE *const file =
      fopen((std::string("/sys/kernel/mm/transparent_hugepage/") + name).c_str(), "re");
  if (file == nullptr) return "";
  char text[64] = "";
  const bool is_read = fgets(text, sizeof text, file) != nullptr;
  fclose(file);
  return is_read ? std::string(text, strcspn(text, "\n")) : "";
}

// What the machine's owner has chosen, of the words that are offered; "" where nothing is.
std::string chosen(const char *name) {
  const std::string text = read_setting(name);
  const size_t begin = text.find('['), end = text.find(']');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return "";
  return text.substr(begin + 1, end - begin - 1);
}

// Linux 6.8 has a switch for each size, which may leave it to the one for all.
std::string transparent_setting() {
  const std::string its = chosen("hugepages-2048kB/enabled");
  return its.empty() || its == "inherit" ? chosen("enabled") : its;
}

}  // namespace

std::string why_no_transparent_pages() {
  const std::string setting = transparent_setting();
  if (setting.empty() || setting == "never") {
    return "NOT TESTED HERE: transparent huge pages are switched off";
  }
  if (prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1) {
    return "NOT TESTED HERE: transparent huge pages are switched off for this process";
  }
  const std::string bytes = read_setting("hpage_pmd_size");
  if (bytes != std::to_string(kHugeBytes)) {
    return "NOT TESTED HERE: transparent huge pages are of " + bytes + " bytes";
  }
  return "";
}

size_t transparent_bytes(const void *map, size_t map_bytes) {
  FILE *const smaps = fopen("/proc/self/smaps", "re");
  if (smaps == nullptr) return 0;
  const auto first = reinterpret_cast<uintptr_t>(map), last = first + map_bytes;
  size_t sum = 0;
  bool is_ours = false;
  char line[8192];
  while (fgets(line, sizeof line, smaps) != nullptr) {
    unsigned long begin, end, kib;
    if (sscanf(line, "%lx-%lx ", &begin, &end) == 2) is_ours = begin < last && first < end;
    if (is_ours && sscanf(line, "AnonHugePages: %lu", &kib) == 1) sum += kib * 1024;
  }
  fclose(smaps);
  return sum;
}

}  // namespace hpz::test
