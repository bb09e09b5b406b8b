// SPDX-License-Identifier: BSD-2-Clause
#include "lib/plan/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/plan/words.h"

namespace hpz {
namespace {

using std::string_view;

// Words are separated by one or more blanks; nothing else is white space. Empty: no more words.
string_view next_word(string_view &line) noexcept {
  while (!line.empty() && line.front() == ' ') line = from(line, 1);
  return take_until(line, ' ');
}

bool parse_number(string_view word, uint64_t &out) noexcept {
  if (word.empty()) return false;
  uint64_t value = 0;
  for (const char c : word) {
    if (c < '0' || c > '9') return false;
    if (__builtin_mul_overflow(value, uint64_t{10}, &value)) return false;
    if (__builtin_add_overflow(value, static_cast<uint64_t>(c - '0'), &value)) return false;
  }
  out = value;
  return true;
}

class Parser {
 public:
  Parser(std::span<const Kernel> table, FeatureSet features, const char *identity) noexcept
      : table_(table), features_(features), identity_(identity) {}

  ProfileError parse(string_view text, Selection &out) noexcept {
    if (take_until(text, '\n') != "hpzero-profile 1") {
      return {-EBADMSG, 1, "does not begin with \"hpzero-profile 1\""};
    }
    for (unsigned number = 2; !text.empty(); ++number) {
      string_view line = take_until(text, '\n');
      if (line.empty() || line[0] == '#') continue;
      if (const ProfileError e = parse_line(line, out); e.error != 0) {
        return {e.error, number, e.reason};
      }
    }
    if (!has_cpu_) return {-EBADMSG, 0, "has no cpu line"};
    if (!has_probe_) return {-EBADMSG, 0, "has no probe line"};
    if (!is_complete(out.cached)) return {-EBADMSG, 0, "has no \"cached max\" line"};
    if (!is_complete(out.stream)) return {-EBADMSG, 0, "has no \"stream max\" line"};
    // hpz_plan_info tells those of hpz_zero, made of both, as one list.
    if (out.cached.count + out.stream.count > kMaxBands) return {-EBADMSG, 0, "too many bands"};
    return {};
  }

 private:
  static bool is_complete(const Bands &bands) noexcept {
    return bands.count > 0 && bands.band[bands.count - 1].upto == kNoLimit;
  }

  ProfileError parse_line(string_view line, Selection &out) noexcept {
    const string_view key = next_word(line);
    ProfileError e;
    if (key == "cpu") {
      e = parse_cpu(line);
    } else if (key == "cached") {
      e = parse_band(line, out.cached);
    } else if (key == "stream") {
      e = parse_band(line, out.stream);
    } else if (key == "probe") {
      e = parse_probe(line, out);
    } else {
      return {-EBADMSG, 0, "unknown keyword"};
    }
    if (e.error == 0 && !next_word(line).empty()) return {-EBADMSG, 0, "too many words"};
    return e;
  }

  ProfileError parse_cpu(string_view &line) noexcept {
    if (has_cpu_) return {-EBADMSG, 0, "second cpu line"};
    has_cpu_ = true;
    if (next_word(line) != identity_) return {-ENODEV, 0, "is of another CPU"};
    return {};
  }

  ProfileError parse_band(string_view &line, Bands &bands) noexcept {
    const string_view bound = next_word(line);
    uint64_t upto = kNoLimit;
    if (bound != "max" && !parse_number(bound, upto)) return {-EBADMSG, 0, "no number of bytes"};
    const uint64_t below = bands.count == 0 ? 0 : bands.band[bands.count - 1].upto;
    if (upto <= below) return {-EBADMSG, 0, "bands do not ascend"};
    const string_view id = next_word(line);
    for (const Kernel &row : table_) {
      if (id != row.id) continue;
      if (missing_features(row, features_) != 0) return {-ENODEV, 0, "kernel cannot run here"};
      if (bands.count == kMaxBands) return {-EBADMSG, 0, "too many bands"};
      bands.append(upto, row);
      return {};
    }
    return {-EBADMSG, 0, "no such kernel"};
  }

  ProfileError parse_probe(string_view &line, Selection &out) noexcept {
    if (has_probe_) return {-EBADMSG, 0, "second probe line"};
    has_probe_ = true;
    uint64_t from = 0, upto = 0;
    if (!parse_number(next_word(line), from) || !parse_number(next_word(line), upto)) {
      return {-EBADMSG, 0, "no number of bytes"};
    }
    if (from < kSmallestProbe || upto < from) return {-EBADMSG, 0, "impossible probe range"};
    out.probe_from = from;
    out.probe_upto = upto;
    return {};
  }

  std::span<const Kernel> table_;
  FeatureSet features_;
  string_view identity_;
  bool has_cpu_ = false, has_probe_ = false;
};

}  // namespace

ProfileError parse_profile(string_view text, std::span<const Kernel> table, FeatureSet features,
                           const char *identity, Selection &out) noexcept {
  out = {};
  return Parser(table, features, identity).parse(text, out);
}

long read_profile(const char *path, char *buffer) noexcept {
  // O_NONBLOCK: a FIFO or a device must not stop the host.
  const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return -errno;
  struct stat status;
  long result = 0;
  if (fstat(fd, &status) != 0) {
    result = -errno;
  } else if (!S_ISREG(status.st_mode)) {
    result = -EBADMSG;
  } else if (status.st_size > static_cast<off_t>(kMaxProfileBytes)) {
    result = -EFBIG;
  }
  size_t filled = 0;
  while (result == 0 && filled < kMaxProfileBytes) {
    const ssize_t got = read(fd, buffer + filled, kMaxProfileBytes - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) result = -errno;
    if (got <= 0) break;
    filled += static_cast<size_t>(got);
  }
  close(fd);
  return result != 0 ? result : static_cast<long>(filled);
}

}  // namespace hpz
