// SPDX-License-Identifier: BSD-2-Clause
//
// QEMU's system emulator as a child, that may have one descriptor of ours as its memory.
#ifndef HPZERO_TESTS_VMM_QEMU_H
#define HPZERO_TESTS_VMM_QEMU_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace hpz::test {

class Qemu {
 public:
  // A machine of one CPU, emulated (never KVM: where this runs is often a virtual machine itself),
  // that listens to QMP. memory: the words behind "-object" for it, with id=ram. fd: -1, or what it
  // inherits under this number.
  Qemu(uint64_t memory_bytes, const std::string &memory, int fd,
       const std::vector<std::string> &more);
  // Ends it, if it has not ended.
  ~Qemu();
  Qemu(const Qemu &) = delete;
  Qemu &operator=(const Qemu &) = delete;

  // The line of its answer to a QMP command without arguments; "" if it has closed its output. It
  // answers when the machine has been made, its memory preallocated if that was wanted.
  std::string ask(const std::string &command);

  // Until it ends, at most so long: its exit status, minus the number of the signal that ended it,
  // or -SIGKILL because it took longer.
  int wait(unsigned seconds);

 private:
  std::string next_line();

  pid_t process_ = -1;
  int status_ = 0;
  int to_ = -1;  // of from_
  FILE *from_ = nullptr;
};

// What it is told in "-object" for memory that is a file of ours, all of it.
std::string memory_of_descriptor(int fd, uint64_t bytes);
// ... for huge pages of its own.
std::string memory_of_its_own(uint64_t bytes);

}  // namespace hpz::test

#endif
