// SPDX-License-Identifier: BSD-2-Clause
//
// Small files of /proc and /sys as strings. A file that is not there is an ordinary case: nothing
// here throws.
#ifndef HPZERO_BENCH_TEXT_FILE_H
#define HPZERO_BENCH_TEXT_FILE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hpz::bench {

std::optional<std::string> read_text_file(const std::string &path);  // without trailing newline
std::optional<uint64_t> read_number_file(const std::string &path);
bool write_text_file(const std::string &path, std::string_view text);

// The rest of the first line of text that begins with key, blanks and colon skipped; empty if none.
std::string_view value_of(std::string_view text, std::string_view key);
std::optional<uint64_t> number_of(std::string_view text, std::string_view key);

}  // namespace hpz::bench

#endif
