// SPDX-License-Identifier: BSD-2-Clause
//
// A file that appears complete or not at all. Opening it is the proof that it can be written, so it
// is opened before the work that it is to hold.
#ifndef HPZERO_BENCH_ATOMIC_FILE_H
#define HPZERO_BENCH_ATOMIC_FILE_H

#include <string>
#include <string_view>

namespace hpz::bench {

class AtomicFile {
 public:
  // option: what to name in the sentence, "--json". Throws Refusal.
  AtomicFile(std::string path, std::string_view option);
  ~AtomicFile();  // without commit, nothing is left behind
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  void commit(std::string_view content);
  // The same in two steps, where several files are to be there together or not at all.
  void put(std::string_view content);
  void replace();

 private:
  [[noreturn]] void fail(const char *what) const;

  std::string path_, temporary_;  // temporary_ empty: a device or pipe, written as it is
  int fd_ = -1;
  int note_ = -1;
};

}  // namespace hpz::bench

#endif
