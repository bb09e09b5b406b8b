// SPDX-License-Identifier: BSD-2-Clause
#include "bench/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

namespace hpz::bench {
namespace {

std::optional<uint64_t> leading_number(std::string_view text) {
  uint64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::string> read_text_file(const std::string &path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text;
  char chunk[4096];
  ssize_t got = 0;
  while ((got = read(fd, chunk, sizeof chunk)) > 0 || (got < 0 && errno == EINTR)) {
    if (got > 0) text.append(chunk, static_cast<size_t>(got));
  }
  close(fd);
  if (got < 0) return std::nullopt;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::optional<uint64_t> read_number_file(const std::string &path) {
  const auto text = read_text_file(path);
  return text ? leading_number(*text) : std::nullopt;
}

bool write_text_file(const std::string &path, std::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t put = write(fd, text.data(), text.size());
  return close(fd) == 0 && put == static_cast<ssize_t>(text.size());
}

std::string_view value_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    const size_t begin = line.find_first_not_of(" \t:");
    if (begin == std::string_view::npos) return {};
    // "Mem" must not answer for "MemFree".
    if (begin == 0) continue;
    return line.substr(begin);
  }
  return {};
}

std::optional<uint64_t> number_of(std::string_view text, std::string_view key) {
  return leading_number(value_of(text, key));
}

}  // namespace hpz::bench
