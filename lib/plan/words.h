// SPDX-License-Identifier: BSD-2-Clause
//
// Taking text apart. By hand: string_view::substr would bring the C++ library's exception helper
// along.
#ifndef HPZERO_LIB_PLAN_WORDS_H
#define HPZERO_LIB_PLAN_WORDS_H

#include <stddef.h>

#include <string_view>

namespace hpz {

// at: at most the text's size.
inline std::string_view from(std::string_view text, size_t at) noexcept {
  return {text.data() + at, text.size() - at};
}

// Takes up to the separator (which goes, too) off the text.
inline std::string_view take_until(std::string_view &text, char separator) noexcept {
  const size_t end = text.find(separator);
  const bool is_last = end == std::string_view::npos;
  const std::string_view taken{text.data(), is_last ? text.size() : end};
  text = is_last ? std::string_view{} : from(text, end + 1);
  return taken;
}

}  // namespace hpz

#endif
