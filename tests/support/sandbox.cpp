// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <stdexcept>
#include <vector>

namespace hpz::test {

void refuse(std::initializer_list<Refusal> refusals) {
  std::vector<sock_filter> program;
  const auto load = [&](size_t offset) {
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset)));
  };
  for (const Refusal &refusal : refusals) {
    const bool looks = refusal.argument >= 0;
    load(offsetof(seccomp_data, nr));
    // Past this refusal's statements where it is another call.
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(refusal.number), 0,
                               static_cast<unsigned char>(looks ? 3 : 1)));
    if (looks) {
      // The low half of the argument: little-endian machines, and values that fit.
      load(offsetof(seccomp_data, args) + 8 * static_cast<size_t>(refusal.argument));
      program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refusal.value, 0, 1));
    }
    const unsigned result = refusal.error == 0
                                ? unsigned{SECCOMP_RET_KILL_PROCESS}
                                : SECCOMP_RET_ERRNO | static_cast<unsigned>(refusal.error);
    program.push_back(BPF_STMT(BPF_RET | BPF_K, result));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter = {static_cast<unsigned short>(program.size()), program.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    throw std::runtime_error("no seccomp filter to be had");
  }
}

void run_in_child(const std::function<void()> &body) {
  fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(90);
    try {
      body();
    } catch (const std::exception &e) {
      ADD_FAILURE() << e.what();
    }
    fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "see above";
}

void allow_only(const std::vector<long> &numbers) {
  std::vector<sock_filter> program;
  program.push_back(
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offsetof(seccomp_data, nr))));
  for (const long number : numbers) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  const sock_fprog filter = {static_cast<unsigned short>(program.size()), program.data()};
  // For threads that are there, too: the workers.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0) {
    throw std::runtime_error("no seccomp filter to be had");
  }
}

namespace {

void require(bool ok, const std::string &what) {
  if (!ok) throw std::runtime_error(what + ": " + strerror(errno));
}

void write_file(const char *path, const std::string &text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  require(fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
              close(fd) == 0,
          path);
}

// In a child, which tells by a pipe.
std::string try_namespaces() {
  int ends[2];
  require(pipe2(ends, O_CLOEXEC) == 0, "pipe2");
  const pid_t child = fork();
  require(child >= 0, "fork");
  if (child == 0) {
    try {
      enter_own_mounts();
      hide_folder("/sys");
    } catch (const std::exception &e) {
      _exit(write(ends[1], e.what(), strlen(e.what())) > 0 ? 1 : 2);
    }
    _exit(0);
  }
  close(ends[1]);
  char why[256];
  const ssize_t got = read(ends[0], why, sizeof why);
  close(ends[0]);
  int status = -1;
  waitpid(child, &status, 0);
  if (got > 0) return std::string(why, static_cast<size_t>(got));
  return status == 0 ? "" : "a child that tried ended with status " + std::to_string(status);
}

}  // namespace

void enter_own_mounts() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (user == 0) {
    require(unshare(CLONE_NEWNS) == 0, "unshare(CLONE_NEWNS)");
  } else {
    require(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0, "unshare(CLONE_NEWUSER | CLONE_NEWNS)");
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
    write_file("/proc/self/gid_map", "0 " + std::to_string(group) + " 1");
  }
  require(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "private mounts");
}

void hide_folder(const std::string &path) {
  require(mount("none", path.c_str(), "tmpfs", 0, "size=64k") == 0, "tmpfs over " + path);
}

const std::string &why_no_namespaces() {
  static const std::string kWhy = try_namespaces();
  return kWhy;
}

}  // namespace hpz::test
