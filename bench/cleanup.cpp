// SPDX-License-Identifier: BSD-2-Clause
#include "bench/cleanup.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "bench/refusal.h"

namespace hpz::bench {
namespace {

// A fixed table, because a signal handler reads it: no allocation, no lock.
constexpr int kMaxNotes = 8;
constexpr size_t kMaxPath = 512;

enum class What : int { kFree, kNumber, kFile };

struct Note {
  std::atomic<What> what{What::kFree};
  std::atomic<long> added{0};
  std::atomic<long> floor{0};  // until settled: what was found, because less may have been added
  char path[kMaxPath] = {};
};

Note notes[kMaxNotes];

// What ends the program from outside, a closed pipe and a fault of our own among it. Real-time
// signals, which do too, are numbered only at run time.
constexpr int kEndings[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE, SIGALRM,   SIGUSR1,
                            SIGUSR2, SIGIO,   SIGPWR,  SIGPROF, SIGSYS,  SIGVTALRM, SIGXCPU,
                            SIGABRT, SIGBUS,  SIGSEGV, SIGILL,  SIGFPE,  SIGTRAP,   SIGSTKFLT};

// Only async-signal-safe calls from here to the handler.

long read_number(const char *path) {
  char text[32] = {};
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  long value = 0;
  for (ssize_t i = 0; i < got && text[i] >= '0' && text[i] <= '9'; ++i) {
    value = value * 10 + (text[i] - '0');
  }
  return got > 0 ? value : -1;
}

void write_number(const char *path, long value) {
  char text[32];
  char *digit = text + sizeof text;
  *--digit = '\n';
  do {
    *--digit = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value > 0);
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  const auto length = static_cast<size_t>(text + sizeof text - digit);
  if (write(fd, digit, length) < 0) { /* nobody left to tell */
  }
  close(fd);
}

void undo(Note &note) {
  const What what = note.what.exchange(What::kFree);
  if (what == What::kNumber) {
    const long now = read_number(note.path);
    const long lower = now - note.added.load();
    const long floor = note.floor.load();
    if (now >= 0) write_number(note.path, lower > floor ? lower : floor);
  } else if (what == What::kFile) {
    unlink(note.path);
  }
}

extern "C" void cleanup_handler(int signal_number) {
  for (Note &note : notes) undo(note);
  // SA_RESETHAND: the next one has the default action, after this handler returns.
  raise(signal_number);
}

int take_note(What what, const std::string &path, long found, long added) {
  if (path.size() >= kMaxPath) {
    throw Refusal("a path of " + std::to_string(path.size()) +
                  " bytes is too long: give a shorter one, or change to its directory first");
  }
  for (int i = 0; i < kMaxNotes; ++i) {
    if (notes[i].what.load() != What::kFree) continue;
    notes[i].added.store(added);
    notes[i].floor.store(found);
    std::memcpy(notes[i].path, path.c_str(), path.size() + 1);
    notes[i].what.store(what);
    return i;
  }
  throw std::runtime_error("too many things to put back");
}

}  // namespace

void install_cleanup_handler() {
  struct sigaction action = {};
  action.sa_handler = cleanup_handler;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  std::vector<int> endings(std::begin(kEndings), std::end(kEndings));
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) endings.push_back(number);
  for (const int number : endings) {
    sigaddset(&action.sa_mask, number);
  }
  for (const int number : endings) {
    struct sigaction before;
    // Whoever started us with a signal ignored (nohup) meant it.
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    sigaction(number, &action, nullptr);
  }
  // A file that may not grow is an error of write(), which can be told.
  signal(SIGXFSZ, SIG_IGN);
}

int note_raised_number(const std::string &path, long found, long added) {
  return take_note(What::kNumber, path, found, added);
}
void settle_raised_number(int note, long added) {
  notes[note].added.store(added);
  notes[note].floor.store(0);
}
int note_temporary_file(const std::string &path) {
  return take_note(What::kFile, path, 0, 0);
}

void put_back(int note) {
  undo(notes[note]);
}
void forget(int note) {
  notes[note].what.store(What::kFree);
}

}  // namespace hpz::bench
