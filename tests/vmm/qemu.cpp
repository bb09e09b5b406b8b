// SPDX-License-Identifier: BSD-2-Clause
#include "tests/vmm/qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "tests/support/machine.h"

namespace hpz::test {

std::string memory_of_descriptor(int fd, uint64_t bytes) {
  // Opened anew from there: the descriptor itself stays unused. (-add-fd is not for memory.)
  return "memory-backend-file,id=ram,share=on,mem-path=/proc/self/fd/" + std::to_string(fd) +
         ",size=" + std::to_string(bytes);
}

std::string memory_of_its_own(uint64_t bytes) {
  return "memory-backend-memfd,id=ram,share=on,hugetlb=on,hugetlbsize=2M,size=" +
         std::to_string(bytes);
}

Qemu::Qemu(uint64_t memory_bytes, const std::string &memory, int fd,
           const std::vector<std::string> &more) {
  std::vector<std::string> words = split(
      "qemu-system-x86_64 -machine q35,memory-backend=ram -accel tcg -cpu max -nodefaults "
      "-no-user-config -display none -no-reboot -qmp stdio -m " +
          std::to_string(memory_bytes >> 20) + "M -object " + memory,
      ' ');
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char *> arguments;
  for (std::string &word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];  // a socket: what is written to one who has ended is no signal
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::runtime_error("socketpair");
  }
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ < 0) throw std::runtime_error("fork");
  if (process_ == 0) {
    // Only what is allowed in a child of a process with threads.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(125);
    dup2(ends[1], 0);
    dup2(ends[1], 1);
    if (fd >= 0) fcntl(fd, F_SETFD, 0);
    execvp(arguments[0], arguments.data());
    _exit(errno == ENOENT ? 127 : 126);
  }
  close(ends[1]);
  to_ = ends[0];
  from_ = fdopen(ends[0], "r");
}

Qemu::~Qemu() {
  wait(0);
  fclose(from_);
}

std::string Qemu::next_line() {
  char *line = nullptr;
  size_t size = 0;
  const ssize_t length = getline(&line, &size, from_);
  std::string text;
  if (length > 0) text.assign(line, static_cast<size_t>(length));
  free(line);
  return text;
}

std::string Qemu::ask(const std::string &command) {
  const std::string text = "{\"execute\": \"" + command + "\"}\n";
  const ssize_t sent = send(to_, text.data(), text.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(text.size())) return "";
  while (true) {
    const std::string line = next_line();
    // Others are its greeting and events.
    if (line.empty() || line.find("{\"return\"") == 0 || line.find("{\"error\"") == 0) return line;
  }
}

int Qemu::wait(unsigned seconds) {
  if (process_ < 0) return status_;
  int status = 0;
  pid_t ended = waitpid(process_, &status, WNOHANG);
  for (unsigned waited = 0; ended == 0 && waited < seconds * 1000; waited += 10) {
    usleep(10'000);
    ended = waitpid(process_, &status, WNOHANG);
  }
  if (ended == 0) {
    kill(process_, SIGKILL);
    waitpid(process_, &status, 0);
  }
  process_ = -1;
  return status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace hpz::test
