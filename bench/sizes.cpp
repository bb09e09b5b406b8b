// SPDX-License-Identifier: BSD-2-Clause
#include "bench/sizes.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "bench/refusal.h"

namespace hpz::bench {
namespace {

struct Unit {
  std::string_view name;
  uint64_t bytes;
};

constexpr Unit kUnits[] = {{"B", 1},     {"KiB", kKiB},     {"MiB", kMiB},        {"GiB", kGiB},
                           {"kB", 1000}, {"MB", 1'000'000}, {"GB", 1'000'000'000}};

// Ranges step by this: every second power of two is enough to see where kernels change places.
constexpr uint64_t kRangeFactor = 4;

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

// "4K" may mean 4000 or 4096: the sentence names both ways to say it.
Refusal wrong_unit(std::string_view text, std::string_view number, std::string_view unit) {
  const std::string digits(number);
  if (!unit.empty()) {
    const char first = unit[0];
    const std::string_view decimal[] = {"kB", "MB", "GB"};
    const std::string_view binary[] = {"KiB", "MiB", "GiB"};
    const std::string_view letters[] = {"kK", "mM", "gG"};
    for (size_t i = 0; i < 3; ++i) {
      if (letters[i].find(first) == std::string_view::npos) continue;
      return Refusal("size " + quoted(text) + " is ambiguous: write " + digits +
                     std::string(binary[i]) + " or " + digits + std::string(decimal[i]));
    }
  } else {
    return Refusal("size " + quoted(text) + " has no unit: write " + digits + "B, " + digits +
                   "KiB or " + digits + "MiB");
  }
  return Refusal("size " + quoted(text) +
                 " has an unknown unit: write B, KiB, MiB, GiB, kB, MB or GB");
}

}  // namespace

uint64_t parse_size(std::string_view text) {
  uint64_t number = 0;
  const char *const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc::result_out_of_range) {
    throw Refusal("size " + quoted(text) + " is too large: write one up to 1024GiB");
  }
  if (error != std::errc()) {
    throw Refusal("size " + quoted(text) +
                  " is no size: write a whole number and a unit, as in 4KiB");
  }
  const std::string_view digits(text.data(), static_cast<size_t>(rest - text.data()));
  const std::string_view unit(rest, static_cast<size_t>(end - rest));
  const auto *const found = std::find_if(std::begin(kUnits), std::end(kUnits),
                                         [&](const Unit &u) { return u.name == unit; });
  if (found == std::end(kUnits)) throw wrong_unit(text, digits, unit);
  if (number == 0) throw Refusal("size " + quoted(text) + " is nothing to clear: write 1B or more");
  if (number > 1024 * kGiB / found->bytes) {
    throw Refusal("size " + quoted(text) + " is too large: write one up to 1024GiB");
  }
  return number * found->bytes;
}

std::vector<uint64_t> parse_size_list(std::string_view text) {
  std::vector<uint64_t> sizes;
  for (;;) {
    const size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    if (const size_t dots = item.find(".."); dots != std::string_view::npos) {
      const uint64_t from = parse_size(item.substr(0, dots));
      const uint64_t upto = parse_size(item.substr(dots + 2));
      if (upto < from) {
        throw Refusal("size range " + quoted(item) + " runs backwards: write " + format_size(upto) +
                      ".." + format_size(from));
      }
      for (uint64_t size = from; size < upto; size *= kRangeFactor) sizes.push_back(size);
      sizes.push_back(upto);
    } else {
      sizes.push_back(parse_size(item));
    }
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

std::string format_size(uint64_t bytes) {
  for (const auto &[name, unit] : {Unit{"GiB", kGiB}, Unit{"MiB", kMiB}, Unit{"KiB", kKiB}}) {
    if (bytes >= unit && bytes % unit == 0) return std::to_string(bytes / unit) + std::string(name);
  }
  return std::to_string(bytes) + "B";
}

std::string format_size_rounded(uint64_t bytes) {
  for (const auto &[name, unit] : {Unit{"GiB", kGiB}, Unit{"MiB", kMiB}, Unit{"KiB", kKiB}}) {
    if (bytes < unit) continue;
    char text[32];
    std::snprintf(text, sizeof text, "%.3g %.*s",
                  static_cast<double>(bytes) / static_cast<double>(unit),
                  static_cast<int>(name.size()), name.data());
    return text;
  }
  return std::to_string(bytes) + " B";
}

}  // namespace hpz::bench
