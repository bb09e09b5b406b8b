// SPDX-License-Identifier: BSD-2-Clause
//
// CPU quotas: of trees that a test writes, of all kinds of set-ups, and of a real cgroup.
#include "lib/team/quota.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/scratch_folder.h"

namespace hpz::test {
namespace {

struct Written {
  std::string path, content;
};

const char *const kV2Mount =
    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
const char *const kV1Mount =
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";

std::vector<Written> v1(const std::string &folder, const std::string &quota,
                        const std::string &period = "100000\n") {
  return {{folder + "/cpu.cfs_quota_us", quota}, {folder + "/cpu.cfs_period_us", period}};
}

std::vector<Written> operator+(std::vector<Written> a, const std::vector<Written> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class Tree {
 public:
  explicit Tree(const std::vector<Written> &files) {
    for (const Written &file : files) folder_.write(file.path.substr(1), file.content);
  }
  uint32_t quota() const { return read_cpu_quota(folder_.path().c_str()); }

 private:
  ScratchFolder folder_;
};

uint32_t quota(const std::string &cgroup, const std::string &mounts,
               const std::vector<Written> &files) {
  return Tree(
             std::vector<Written>{{"/proc/self/cgroup", cgroup}, {"/proc/self/mountinfo", mounts}} +
             files)
      .quota();
}

TEST(Quotas, v2_values) {
  const struct {
    const char *content;
    uint32_t cpus;
  } rows[] = {
      {"max 100000\n", 0},
      {"max\n", 0},
      {"100000 100000\n", 1},
      {"50000 100000\n", 1},
      {"100001 100000\n", 2},
      {"250000 100000\n", 3},
      {"800000 100000", 8},
      {"1000 1000\n", 1},
      {"1000000000000 1000\n", 1000000000},
      {"1000000000000000 1000\n", UINT32_MAX},
      // Nothing that the kernel writes.
      {"", 0},
      {"\n", 0},
      {"100000\n", 0},
      {"100000 0\n", 0},
      {"0 100000\n", 0},
      {"-1 100000\n", 0},
      {"100000 -1\n", 0},
      {"100000 max\n", 0},
      {"a lot\n", 0},
      {"100000x 100000\n", 0},
      {"18446744073709551616 100000\n", 0},
      {"999999999999999999999999999999999999999999999999999999999999999999999 100000\n", 0},
      {"100000  100000\n", 0},
  };
  for (const auto &row : rows) {
    EXPECT_EQ(quota("0::/job\n", kV2Mount, {{"/sys/fs/cgroup/job/cpu.max", row.content}}), row.cpus)
        << row.content;
  }
}

TEST(Quotas, v1_values) {
  const struct {
    const char *quota, *period;
    uint32_t cpus;
  } rows[] = {
      {"-1\n", "100000\n", 0},    {"50000\n", "100000\n", 1}, {"150000\n", "100000\n", 2},
      {"400000\n", "50000\n", 8}, {"100000\n", "0\n", 0},     {"100000\n", "", 0},
      {"", "100000\n", 0},        {"x\n", "100000\n", 0},     {"0\n", "100000\n", 0},
  };
  for (const auto &row : rows) {
    EXPECT_EQ(quota("4:cpu,cpuacct:/job\n", kV1Mount,
                    v1("/sys/fs/cgroup/cpu,cpuacct/job", row.quota, row.period)),
              row.cpus)
        << row.quota << row.period;
  }
}

TEST(Quotas, the_least_on_the_way_up) {
  const std::string top = "/sys/fs/cgroup";
  const auto v2 = [&](const char *own, const char *middle, const char *upper, const char *root) {
    return quota("0::/a/b/c\n", kV2Mount,
                 {{top + "/a/b/c/cpu.max", own},
                  {top + "/a/b/cpu.max", middle},
                  {top + "/a/cpu.max", upper},
                  {top + "/cpu.max", root}});
  };
  EXPECT_EQ(v2("400000 100000", "max 100000", "max 100000", "max 100000"), 4u);
  EXPECT_EQ(v2("max 100000", "300000 100000", "max 100000", "max 100000"), 3u);
  EXPECT_EQ(v2("400000 100000", "300000 100000", "200000 100000", "max 100000"), 2u);
  EXPECT_EQ(v2("max", "max", "max", "100000 100000"), 1u);
  EXPECT_EQ(v2("garbage", "300000 100000", "", "900000 100000"), 3u);
  // A sibling's is not ours, nor is a child's.
  EXPECT_EQ(quota("0::/a\n", kV2Mount,
                  {{top + "/b/cpu.max", "100000 100000"}, {top + "/a/b/cpu.max", "100000 100000"}}),
            0u);
  // The folder of the cgroup itself is gone.
  EXPECT_EQ(quota("0::/a/b (deleted)\n", kV2Mount, {{top + "/a/cpu.max", "200000 100000"}}), 2u);
}

TEST(Quotas, hybrid) {
  const std::string cgroup =
      "9:name=systemd:/x\n4:memory:/other\n2:cpuacct,cpu:/job\n0::/unified\n";
  const std::string mounts =
      std::string("22 1 0:21 / /proc rw - proc proc rw\n") + kV1Mount +
      "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
  const auto own = v1("/sys/fs/cgroup/cpu,cpuacct/job", "500000\n");
  EXPECT_EQ(quota(cgroup, mounts, own), 5u);
  EXPECT_EQ(quota(cgroup, mounts,
                  own + std::vector<Written>{{"/sys/fs/cgroup/unified/unified/cpu.max",
                                              "300000 100000\n"}}),
            3u);
  // Not the CPU controller's.
  EXPECT_EQ(quota(cgroup, mounts, v1("/sys/fs/cgroup/memory/job", "100000\n")), 0u);
  EXPECT_EQ(quota("3:cpuset:/job\n5:cpuacct:/job\n", mounts, own), 0u);
}

TEST(Quotas, in_containers) {
  const std::vector<Written> at_root = {{"/sys/fs/cgroup/cpu.max", "200000 100000\n"}};
  const std::vector<Written> below = {{"/sys/fs/cgroup/sub/cpu.max", "100000 100000\n"}};
  const auto mounted = [](const std::string &root) {
    return "31 23 0:28 " + root + " /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
  };
  const struct {
    const char *cgroup, *mount_root;
    uint32_t cpus;
  } rows[] = {
      // With a cgroup namespace.
      {"0::/\n", "/", 2},
      {"0::/sub\n", "/", 1},
      {"0::/sub/\n", "/", 1},
      // Without one: the mount's root is the container's own cgroup.
      {"0::/docker/1f\n", "/docker/1f", 2},
      {"0::/docker/1f/sub\n", "/docker/1f", 1},
      // Somebody else's part of the tree, and a name that only begins alike.
      {"0::/docker/2e/sub\n", "/docker/1f", 0},
      {"0::/docker/1f2/sub\n", "/docker/1f", 0},
      {"0::/sub\n", "/docker", 0},
      // Mounted before the namespace was entered: the root is above it.
      {"0::/\n", "/../..", 2},
      {"0::/..\n", "/../..", 2},
      {"0::/../..\n", "/../..", 2},
      {"0::/../../sub\n", "/../..", 1},
      {"0::/sub\n", "/../../x", 0},
      // Outside the namespace, whose tree is all that is mounted.
      {"0::/../..\n", "/", 0},
      {"0::/../other\n", "/", 0},
  };
  for (const auto &row : rows) {
    EXPECT_EQ(quota(row.cgroup, mounted(row.mount_root), at_root + below), row.cpus)
        << row.cgroup << row.mount_root;
  }
}

TEST(Quotas, several_mounts_and_odd_lines) {
  const std::vector<Written> files = {{"/a b/job/cpu.max", "300000 100000\n"},
                                      {"/c/cpu.max", "200000 100000\n"}};
  // Blanks in a path are written in octal.
  EXPECT_EQ(quota("0::/job\n", "1 2 0:3 / /a\\040b rw - cgroup2 x rw\n", files), 3u);
  EXPECT_EQ(
      quota("0::/job\n",
            "1 2 0:3 / /a\\040b rw - cgroup2 x rw\n4 2 0:3 /job /c rw - cgroup2 x rw\n", files),
      2u);
  // No optional fields, many of them, none of the rest, no newline at the end.
  EXPECT_EQ(quota("0::/job",
                  "\n1\n1 2 3 4\n1 2 0:3 / /x rw shared:1 master:2 propagate_from:3\n"
                  "1 2 0:3 / /a\\040b rw shared:1 master:2 - cgroup2 x rw",
                  files),
            3u);
  // Colons in the cgroup's path.
  EXPECT_EQ(quota("0::/a:b:c\n", kV2Mount, {{"/sys/fs/cgroup/a:b:c/cpu.max", "100000 100000"}}),
            1u);
  EXPECT_EQ(quota("", kV2Mount, files), 0u);
  EXPECT_EQ(quota("0::/job\n", "", files), 0u);
  EXPECT_EQ(quota(":::\n::\n0:\n0::\n", kV2Mount, files), 0u);
}

TEST(Quotas, long_files) {
  const std::vector<Written> files = {{"/sys/fs/cgroup/job/cpu.max", "300000 100000\n"}};
  // Lines around the size of the buffer, and far beyond; the one that matters behind them.
  for (const size_t length :
       {1u, 100u, 4090u, 4094u, 4095u, 4096u, 4097u, 8191u, 8192u, 8193u, 100000u}) {
    const std::string filling = "1 2 0:3 / /x rw - overlay x " + std::string(length, 'l') + "\n";
    EXPECT_EQ(quota("0::/job\n", filling + filling + kV2Mount, files), 3u) << length;
    EXPECT_EQ(quota("1:name=" + std::string(length, 'n') + ":/x\n0::/job\n", kV2Mount, files), 3u)
        << length;
  }
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "1 2 0:3 / /x" + std::to_string(i) + " rw - tmpfs x rw\n";
  EXPECT_EQ(quota("0::/job\n", many + kV2Mount + many, files), 3u);
  // The rest of a line that was too long is no line, whatever it looks like.
  EXPECT_EQ(quota("0::/job\n", std::string(4096, 'x') + kV2Mount, files), 0u);
  // A path longer than any that can be opened.
  std::string deep;
  for (int i = 0; i < 390; ++i) deep += "/ten-letter";
  EXPECT_EQ(quota("0::" + deep.substr(0, 4080) + "\n", kV2Mount,
                  {{"/sys/fs/cgroup/cpu.max", "100000 100000\n"}}),
            0u);
  EXPECT_EQ(read_cpu_quota(std::string(PATH_MAX, 'r').c_str()), 0u);
}

TEST(Quotas, nothing_there) {
  const ScratchFolder folder;
  EXPECT_EQ(read_cpu_quota(folder.path().c_str()), 0u);
  EXPECT_EQ(read_cpu_quota("/nowhere"), 0u);
  // A folder where the file should be.
  EXPECT_EQ(quota("0::/job\n", kV2Mount, {{"/sys/fs/cgroup/job/cpu.max/x", "100000 100000\n"}}),
            0u);
}

// Descriptors are closed again.
TEST(Quotas, leave_nothing_open) {
  const Tree tree({{"/proc/self/cgroup", "0::/job\n"},
                   {"/proc/self/mountinfo", kV2Mount},
                   {"/sys/fs/cgroup/job/cpu.max", "200000 100000\n"}});
  const int before = dup(0);
  close(before);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(tree.quota(), 2u);
  read_cpu_quota("");
  const int after = dup(0);
  close(after);
  EXPECT_EQ(after, before);
}

bool write_into(const std::string &path, const std::string &text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool wrote = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  return close(fd) == 0 && wrote;
}

// What a child in that cgroup reads; 255: it could not enter.
uint32_t read_inside(const std::string &folder) {
  const pid_t child = fork();
  if (child == 0) {
    if (!write_into(folder + "/cgroup.procs", "0")) _exit(255);
    _exit(static_cast<int>(std::min(read_cpu_quota(""), 254u)));
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? static_cast<uint32_t>(WEXITSTATUS(status)) : 255;
}

// A cgroup of our own in the real hierarchy, a child in it, and away with it.
TEST(Quotas, field_F2_of_a_real_cgroup) {
  int tested = 0;
  std::string why = "no hierarchy with the CPU controller can be changed here";
  for (const bool is_v2 : {false, true}) {
    for (const char *const mount : {"/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu",
                                    "/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
      const std::string folder = std::string(mount) + "/hpzero_test_" + std::to_string(getpid());
      const char *const file = is_v2 ? "/cpu.max" : "/cpu.cfs_quota_us";
      if (mkdir(folder.c_str(), 0755) != 0) {
        if (errno != ENOENT) why = folder + ": " + strerror(errno);
        continue;
      }
      const std::string inner = folder + "/inner";
      if (access((folder + file).c_str(), W_OK) == 0 && mkdir(inner.c_str(), 0755) == 0) {
        // What is around it, which need not be what is around this process.
        const uint32_t outer = read_inside(folder);
        EXPECT_NE(outer, 255u) << "nobody can enter " << folder;
        const auto with_outer = [outer](uint32_t cpus) {
          return outer == 0 ? cpus : std::min(outer, cpus);
        };
        if (write_into(folder + file, is_v2 ? "150000 100000" : "150000")) {
          ++tested;
          EXPECT_EQ(read_inside(inner), with_outer(2)) << folder;
          EXPECT_EQ(read_inside(folder), with_outer(2)) << folder;
          EXPECT_TRUE(write_into(folder + file, is_v2 ? "50000 100000" : "50000"));
          EXPECT_EQ(read_inside(inner), 1u) << folder;
          EXPECT_TRUE(write_into(folder + file, is_v2 ? "max 100000" : "-1"));
          EXPECT_EQ(read_inside(inner), outer) << folder;
        }
        EXPECT_EQ(rmdir(inner.c_str()), 0) << folder;
      }
      EXPECT_EQ(rmdir(folder.c_str()), 0) << folder << " stays behind";
      if (tested != 0) break;
    }
  }
  if (tested == 0) GTEST_SKIP() << "NOT TESTED HERE: " << why;
}

}  // namespace
}  // namespace hpz::test
