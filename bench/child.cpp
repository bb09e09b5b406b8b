// SPDX-License-Identifier: BSD-2-Clause
#include "bench/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "bench/clock.h"
#include "bench/descriptor.h"

namespace hpz::bench {
namespace {

constexpr int kResultsFd = 3;
// Of exec, told apart from what programs answer by its pipe.
constexpr int kNotStarted = 127;
// From being asked to end to being made to.
constexpr double kGraceSeconds = 5;

[[noreturn]] void fail(const char *what) {
  const int error = errno;
  std::string text = std::string("cannot ") + what + ": " + std::strerror(error);
  if (error == EMFILE) text += ", so raise the limit on open files (ulimit -n)";
  throw std::runtime_error(text);
}

struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) fail("make a pipe");
    read_end = Descriptor(ends[0]);
    // Out of the way of the numbers that the child is to have.
    write_end = Descriptor(fcntl(ends[1], F_DUPFD_CLOEXEC, 10));
    close(ends[1]);
    if (write_end.get() < 0) fail("make a pipe");
  }
  Descriptor read_end, write_end;
};

// Memory, so that nobody waits for anybody: the child reads when it likes.
Descriptor input_of(std::string_view text) {
  Descriptor memory(memfd_create("input", MFD_CLOEXEC));
  if (memory.get() < 0) fail("make memory for a program's input");
  while (!text.empty()) {
    const ssize_t put = write(memory.get(), text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("write a program's input");
    text.remove_prefix(static_cast<size_t>(put));
  }
  if (lseek(memory.get(), 0, SEEK_SET) != 0) fail("write a program's input");
  return memory;
}

std::vector<char *> pointers(std::vector<std::string> &texts) {
  std::vector<char *> list;
  for (std::string &text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

std::vector<std::string> environment(const std::vector<std::string> &unset) {
  std::vector<std::string> kept;
  for (char **variable = environ; *variable != nullptr; ++variable) {
    const std::string_view entry(*variable);
    const auto is_unset = [&](const std::string &begin) { return entry.starts_with(begin); };
    if (std::none_of(unset.begin(), unset.end(), is_unset)) kept.emplace_back(entry);
  }
  return kept;
}

struct Listener {
  Descriptor fd;
  std::string *text;
};

// Until nobody writes any more; false: the time is over.
bool hear_out(std::vector<Listener> &listeners, uint64_t deadline_ns) {
  for (;;) {
    std::vector<pollfd> polled;
    for (const Listener &listener : listeners) {
      if (listener.fd.get() >= 0) polled.push_back({listener.fd.get(), POLLIN, 0});
    }
    if (polled.empty()) return true;
    const uint64_t now = now_ns();
    if (now >= deadline_ns) return false;
    const uint64_t left_ms = std::min<uint64_t>((deadline_ns - now) / 1'000'000 + 1, 60'000);
    if (poll(polled.data(), polled.size(), static_cast<int>(left_ms)) < 0 && errno != EINTR) {
      fail("listen to a program");
    }
    for (const pollfd &ready : polled) {
      if (ready.revents == 0) continue;
      const auto listener =
          std::find_if(listeners.begin(), listeners.end(),
                       [&](const Listener &one) { return one.fd.get() == ready.fd; });
      char chunk[1 << 16];
      const ssize_t got = read(ready.fd, chunk, sizeof chunk);
      if (got > 0) listener->text->append(chunk, static_cast<size_t>(got));
      if (got == 0 || (got < 0 && errno != EINTR)) listener->fd.reset();
    }
  }
}

uint64_t after(double seconds) {
  return now_ns() + static_cast<uint64_t>(std::max(seconds, 0.0) * 1e9);
}

// Signals wait while this lives. Between fork and exec the child has this program's handlers, and
// what they undo is not the child's: it must not meet a signal before it has put them aside.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld &) = delete;
  SignalsHeld &operator=(const SignalsHeld &) = delete;

  // In the child.
  void drop_handlers() const {
    struct sigaction usual = {};
    usual.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number) {
      // What is ignored was meant so by whoever started us (nohup).
      struct sigaction now = {};
      if (sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
      sigaction(number, &usual, nullptr);
    }
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_;
};

}  // namespace

ChildEnd run_child(const ChildRequest &request) {
  std::vector<std::string> arguments = request.arguments;
  std::vector<std::string> variables = environment(request.unset);
  const std::vector<char *> argv = pointers(arguments), envp = pointers(variables);
  const Descriptor input = input_of(request.input);
  Pipe output, errors, results, started;
  const pid_t parent = getpid();
  std::optional<SignalsHeld> held(std::in_place);
  const pid_t child = fork();
  if (child < 0) fail("start a program");
  if (child == 0) {
    // Async-signal-safe calls alone. The parent's end is this one's end.
    held->drop_handlers();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(kNotStarted);
    dup2(input.get(), STDIN_FILENO);
    dup2(output.write_end.get(), STDOUT_FILENO);
    dup2(errors.write_end.get(), STDERR_FILENO);
    if (request.has_results) dup2(results.write_end.get(), kResultsFd);
    execvpe(argv[0], argv.data(), envp.data());
    const int error = errno;
    if (write(started.write_end.get(), &error, sizeof error) < 0) _exit(kNotStarted);
    _exit(kNotStarted);
  }
  held.reset();
  for (Pipe *const pipe : {&output, &errors, &results, &started}) pipe->write_end.reset();
  ChildEnd end;
  std::string start_error;
  std::vector<Listener> listeners;
  listeners.push_back({std::move(output.read_end), &end.output});
  listeners.push_back({std::move(errors.read_end), &end.errors});
  listeners.push_back({std::move(results.read_end), &end.results});
  listeners.push_back({std::move(started.read_end), &start_error});
  if (!hear_out(listeners, after(request.seconds))) {
    end.is_late = true;
    kill(child, SIGTERM);
    if (!hear_out(listeners, after(kGraceSeconds))) kill(child, SIGKILL);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  end.is_missing = !start_error.empty();
  return end;
}

}  // namespace hpz::bench
