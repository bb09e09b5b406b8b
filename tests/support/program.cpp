// SPDX-License-Identifier: BSD-2-Clause
//
// fork and execve, with the child's two streams read through pipes.
#include "tests/support/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <exception>
#include <ostream>
#include <stdexcept>

#include "tests/support/machine.h"

namespace hpz::test {

std::string Outcome::operator[](const std::string &name) const {
  for (const std::string &line : split(out, '\n')) {
    if (line.rfind(name + '=', 0) == 0) return line.substr(name.size() + 1);
  }
  return "";
}

std::ostream &operator<<(std::ostream &out, const Outcome &outcome) {
  return out << "status " << outcome.status << "\nout: " << outcome.out << "\nerr: " << outcome.err;
}

std::vector<std::string> environment_with(const std::vector<std::string> &additions) {
  std::vector<std::string> result;
  for (char **at = environ; *at != nullptr; ++at) {
    if (strncmp(*at, "HPZ_", 4) != 0) result.emplace_back(*at);
  }
  // The first of two settings of a name is the one that counts for most readers.
  result.insert(result.begin(), additions.begin(), additions.end());
  return result;
}

namespace {

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    read_end = ends[0];
    write_end = ends[1];
  }
  ~Pipe() {
    if (read_end >= 0) close(read_end);
    if (write_end >= 0) close(write_end);
  }
  Pipe(const Pipe &) = delete;
  Pipe &operator=(const Pipe &) = delete;
};

std::vector<char *> pointers(std::vector<std::string> &words) {
  std::vector<char *> result;
  for (std::string &word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

// What qemu-user executes is the host's kernel, which cannot run the programs of these tests.
std::vector<std::string> emulator() {
  const char *const words = getenv("HPZERO_TEST_EMULATOR");
  return split(words != nullptr ? words : "", ' ');
}

int64_t now_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1000} + now.tv_nsec / 1000000;
}

}  // namespace

Outcome run(const std::vector<std::string> &arguments, const Setting &setting) {
  std::vector<std::string> words = emulator(), environment = environment_with(setting.environment);
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::vector<char *> argv = pointers(words), envp = pointers(environment);
  Pipe out, err;

  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) {
    dup2(out.write_end, STDOUT_FILENO);
    dup2(err.write_end, STDERR_FILENO);
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, STDIN_FILENO);
    try {
      if (setting.prepare) setting.prepare();
    } catch (const std::exception &e) {
      dprintf(STDERR_FILENO, "%s\n", e.what());
      _exit(125);
    }
    execve(argv[0], argv.data(), envp.data());
    dprintf(STDERR_FILENO, "cannot start %s: %s\n", argv[0], strerror(errno));
    _exit(126);
  }
  close(out.write_end);
  close(err.write_end);
  out.write_end = err.write_end = -1;

  Outcome outcome;
  const int64_t deadline = now_ms() + setting.timeout_s * int64_t{1000};
  pollfd ends[2] = {{out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}};
  std::string *const texts[2] = {&outcome.out, &outcome.err};
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    const int64_t left = deadline - now_ms();
    if (left <= 0 || poll(ends, 2, static_cast<int>(left)) == 0) {
      kill(child, SIGKILL);
      break;
    }
    for (int i = 0; i < 2; ++i) {
      if (ends[i].fd < 0 || ends[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t got = read(ends[i].fd, buffer, sizeof buffer);
      if (got > 0) {
        texts[i]->append(buffer, static_cast<size_t>(got));
      } else {
        ends[i].fd = -1;  // poll leaves it out
      }
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return outcome;
}

}  // namespace hpz::test
