// SPDX-License-Identifier: BSD-2-Clause
//
// Names and texts that others chose, for a terminal: what would steer it is a question mark.
#ifndef HPZERO_BENCH_PRINTABLE_H
#define HPZERO_BENCH_PRINTABLE_H

#include <algorithm>
#include <string>
#include <string_view>

namespace hpz::bench {

// Printable ASCII alone.
inline std::string printable(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

// Names of files may be in any script.
inline std::string without_controls(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(),
      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
  return out;
}

}  // namespace hpz::bench

#endif
