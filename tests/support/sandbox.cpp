// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/sandbox.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

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

}  // namespace hpz::test
