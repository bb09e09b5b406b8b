// SPDX-License-Identifier: BSD-2-Clause
//
// Two files of /proc say where the process is: /proc/self/cgroup its path in each hierarchy,
// /proc/self/mountinfo where those are mounted and which part of each. Both are read line by line
// into fixed buffers, for nothing says how long they are.
#include "lib/team/quota.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "lib/plan/words.h"

namespace hpz {
namespace {

using std::string_view;

bool has_word(string_view list, string_view word) noexcept {
  while (!list.empty()) {
    if (take_until(list, ',') == word) return true;
  }
  return false;
}

class Path {
 public:
  bool append(string_view text) noexcept {
    if (text.size() >= sizeof text_ - length_) return false;
    if (text.empty()) return true;  // perhaps a null pointer, which memcpy may not see
    memcpy(text_ + length_, text.data(), text.size());
    length_ += text.size();
    text_[length_] = '\0';
    return true;
  }
  void cut(size_t length) noexcept {
    length_ = length;
    text_[length] = '\0';
  }
  void cut_last_name() noexcept {
    while (length_ > 0 && text_[length_ - 1] != '/') --length_;
    cut(length_ > 0 ? length_ - 1 : 0);
  }
  size_t length() const noexcept { return length_; }
  const char *c_str() const noexcept { return text_; }

 private:
  char text_[PATH_MAX] = {};
  size_t length_ = 0;
};

class File {
 public:
  explicit File(const char *path) noexcept : fd_(open(path, O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  // 0: at the end, or it cannot be read.
  size_t read_some(char *to, size_t size) const noexcept {
    if (fd_ < 0) return 0;
    ssize_t got;
    do got = read(fd_, to, size);
    while (got < 0 && errno == EINTR);
    return got > 0 ? static_cast<size_t>(got) : 0;
  }

 private:
  int fd_;
};

// Lines that are longer than the buffer are left out: those of cgroups have two paths at most.
class Lines {
 public:
  Lines(const char *root, string_view name) noexcept : file_(Lines::path(root, name).c_str()) {}

  // False: no more. The line is gone when the next is asked for.
  bool next(string_view &line) noexcept {
    bool is_rest = false;  // of a line whose beginning was thrown away
    for (;;) {
      const string_view kept{buffer_ + begin_, end_ - begin_};
      const size_t length = kept.find('\n');
      if (length != string_view::npos) {
        begin_ += length + 1;
        if (!is_rest) {
          line = {kept.data(), length};
          return true;
        }
        is_rest = false;
        continue;
      }
      if (kept.size() == sizeof buffer_) {
        is_rest = true;
        end_ = 0;
      } else {
        memmove(buffer_, kept.data(), kept.size());
        end_ = kept.size();
      }
      begin_ = 0;
      const size_t got = file_.read_some(buffer_ + end_, sizeof buffer_ - end_);
      if (got == 0) {
        // The last line, if nothing ends it.
        line = {buffer_, end_};
        end_ = 0;
        return !line.empty() && !is_rest;
      }
      end_ += got;
    }
  }

 private:
  // Empty, which cannot be opened, if too long.
  static Path path(const char *root, string_view name) noexcept {
    Path path;
    if (!path.append(root) || !path.append(name)) path.cut(0);
    return path;
  }

  File file_;
  size_t begin_ = 0, end_ = 0;
  char buffer_[4096];
};

// False: no number, or one that cannot be a number of microseconds; "max" and -1, no limit, among
// them.
bool parse_us(string_view word, uint64_t &out) noexcept {
  constexpr uint64_t kTooMuch = UINT64_MAX / 16;
  if (word.empty()) return false;
  uint64_t value = 0;
  for (const char c : word) {
    if (c < '0' || c > '9' || value > kTooMuch) return false;
    value = 10 * value + static_cast<uint64_t>(c - '0');
  }
  out = value;
  return value != 0;
}

uint32_t cpus_of(string_view quota_word, string_view period_word) noexcept {
  uint64_t quota_us, period_us;
  if (!parse_us(quota_word, quota_us) || !parse_us(period_word, period_us)) return 0;
  const uint64_t cpus = quota_us / period_us + (quota_us % period_us != 0 ? 1 : 0);
  return static_cast<uint32_t>(std::min<uint64_t>(cpus, UINT32_MAX));
}

struct Word {
  char text[64];
  size_t length = 0;
  string_view view() const noexcept { return {text, length}; }
};

// The first line of a file in that folder.
Word read_line(Path &folder, string_view name) noexcept {
  Word word;
  const size_t length = folder.length();
  if (folder.append(name)) {
    const File file(folder.c_str());
    string_view text{word.text, file.read_some(word.text, sizeof word.text)};
    word.length = take_until(text, '\n').size();
  }
  folder.cut(length);
  return word;
}

enum class Hierarchy { kV1, kV2 };

uint32_t quota_of(Hierarchy hierarchy, Path &folder) noexcept {
  if (hierarchy == Hierarchy::kV1) {
    const Word quota = read_line(folder, "/cpu.cfs_quota_us");
    const Word period = read_line(folder, "/cpu.cfs_period_us");
    return cpus_of(quota.view(), period.view());
  }
  const Word both = read_line(folder, "/cpu.max");
  string_view period = both.view();
  const string_view quota = take_until(period, ' ');
  return cpus_of(quota, period);
}

uint32_t least(uint32_t a, uint32_t b) noexcept {
  return a == 0 ? b : b == 0 ? a : std::min(a, b);
}

// The next name of a path as the kernel writes it: "/a/b", "/". Empty: no more.
string_view next_name(string_view &path) noexcept {
  while (!path.empty() && path.front() == '/') path = from(path, 1);
  const size_t end = path.find('/');
  const string_view name{path.data(), end == string_view::npos ? path.size() : end};
  path = from(path, name.size());
  return name;
}

// Where the cgroup lies below the mounted one: what to append to the mount point. Both are told
// from the root of the process's cgroup namespace, "/../.." being two levels above it. False: not
// below.
bool below_mount(string_view mounted, string_view own, string_view &out) noexcept {
  for (;;) {
    string_view rest = own;
    const string_view name = next_name(mounted);
    if (name.empty()) break;
    const string_view own_name = next_name(rest);
    if (own_name != name) {
      // Mounted is an ancestor of the namespace, and own is not on the same way up: what is between
      // has no names for us, but the limits of the mount's root are among ours.
      bool is_above = name == "..";
      for (string_view left = mounted; is_above;) {
        const string_view next = next_name(left);
        if (next.empty()) break;
        is_above = next == "..";
      }
      out = {};
      return is_above;
    }
    own = rest;
  }
  // Above the mount's root there is nothing to see.
  string_view rest = own;
  if (next_name(rest) == "..") return false;
  while (!own.empty() && own.back() == '/') own.remove_suffix(1);
  out = own;
  return true;
}

// Undoes the escapes of mountinfo (blanks and backslashes as \040 and the like) in place.
string_view unescape(char *text, size_t length) noexcept {
  size_t to = 0;
  for (size_t at = 0; at < length; ++to) {
    const auto digit = [&](size_t i) { return text[at + i] >= '0' && text[at + i] <= '7'; };
    if (text[at] == '\\' && at + 3 < length && digit(1) && digit(2) && digit(3)) {
      text[to] = static_cast<char>((text[at + 1] - '0') * 64 + (text[at + 2] - '0') * 8 +
                                   (text[at + 3] - '0'));
      at += 4;
    } else {
      text[to] = text[at++];
    }
  }
  return {text, to};
}

struct Mount {
  string_view root, point;  // not unescaped
  string_view type, options;
};

// "36 35 98:0 /root /point rw,noatime shared:1 - type source options" (proc_pid_mountinfo(5)).
bool parse_mount(string_view line, Mount &out) noexcept {
  for (int skipped = 0; skipped < 3; ++skipped) take_until(line, ' ');
  out.root = take_until(line, ' ');
  out.point = take_until(line, ' ');
  while (!line.empty()) {
    if (take_until(line, ' ') != "-") continue;
    out.type = take_until(line, ' ');
    take_until(line, ' ');
    out.options = take_until(line, ' ');
    return true;
  }
  return false;
}

// Along one mount, from the process's cgroup up to the mount point.
uint32_t quota_along(const char *root, Hierarchy hierarchy, string_view point,
                     string_view below) noexcept {
  Path folder;
  if (!folder.append(root)) return 0;
  const size_t outside = folder.length();
  if (!folder.append(point)) return 0;
  while (folder.length() > outside && folder.c_str()[folder.length() - 1] == '/') {
    folder.cut(folder.length() - 1);
  }
  const size_t mount_point = folder.length();
  if (!folder.append(below)) return 0;
  uint32_t quota = 0;
  for (;;) {
    quota = least(quota, quota_of(hierarchy, folder));
    if (folder.length() <= mount_point) return quota;
    folder.cut_last_name();
  }
}

uint32_t quota_in(const char *root, Hierarchy hierarchy, string_view own) noexcept {
  Lines lines(root, "/proc/self/mountinfo");
  uint32_t quota = 0;
  string_view line;
  while (lines.next(line)) {
    Mount mount;
    if (!parse_mount(line, mount)) continue;
    const bool is_it = hierarchy == Hierarchy::kV2
                           ? mount.type == "cgroup2"
                           : mount.type == "cgroup" && has_word(mount.options, "cpu");
    if (!is_it) continue;
    // Longer ones are left out: no manager of cgroups comes near that.
    char mounted[1024], point[1024];
    if (mount.root.size() > sizeof mounted || mount.point.size() > sizeof point) continue;
    memcpy(mounted, mount.root.data(), mount.root.size());
    memcpy(point, mount.point.data(), mount.point.size());
    string_view below;
    if (!below_mount(unescape(mounted, mount.root.size()), own, below)) continue;
    quota = least(quota, quota_along(root, hierarchy, unescape(point, mount.point.size()), below));
  }
  return quota;
}

}  // namespace

uint32_t read_cpu_quota(const char *root) noexcept {
  Lines lines(root, "/proc/self/cgroup");
  uint32_t quota = 0;
  string_view line;
  while (lines.next(line)) {
    // "0::/path" is v2, "4:cpu,cpuacct:/path" v1. A hybrid set-up has both, the CPU controller in
    // one of them: in the other there is no file to read.
    const string_view number = take_until(line, ':');
    const string_view controllers = take_until(line, ':');
    if (number == "0" && controllers.empty()) {
      quota = least(quota, quota_in(root, Hierarchy::kV2, line));
    } else if (has_word(controllers, "cpu")) {
      quota = least(quota, quota_in(root, Hierarchy::kV1, line));
    }
  }
  return quota;
}

}  // namespace hpz
