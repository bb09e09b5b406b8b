// SPDX-License-Identifier: BSD-2-Clause
//
// Who writes to which page, seen from outside the library: the memory is write protected and the
// host's SIGSEGV handler notes the CPU, lifts the protection of the page, and may hold the thread.
#ifndef HPZERO_TESTS_GUEST_WITNESS_H
#define HPZERO_TESTS_GUEST_WITNESS_H

#include <signal.h>

#include <atomic>
#include <functional>
#include <memory>

#include "tests/guest/pages.h"

namespace hpz::test {

class Witness {
 public:
  // The first write to a chunk.
  struct Begin {
    size_t chunk;
    int node;  // of the CPU that writes
    // Chunks begun before this one.
    size_t before;
  };
  // Called in the handler at the beginning of a chunk, again and again until it is false; the
  // thread sleeps meanwhile. So it may read atomics and nothing else.
  using Hold = std::function<bool(const Witness &, const Begin &)>;

  // All of the mapping's pages must be there. One witness at a time.
  Witness(Mapping &mapping, size_t chunk_pages, Hold hold);
  ~Witness();
  Witness(const Witness &) = delete;
  Witness &operator=(const Witness &) = delete;

  // While it runs:
  size_t begun(int memory_node) const { return begun_of_[memory_node]; }
  size_t begun_by(int cpu_node) const { return begun_by_[cpu_node]; }
  size_t chunks(int memory_node) const { return chunks_of_[memory_node]; }
  int memory_node(size_t chunk) const { return memory_node_[chunk]; }

  // Afterwards, -1 where nobody wrote:
  int node_that_wrote(size_t page) const;
  // How many chunks of a node had been begun when this one was.
  size_t begun_before(size_t chunk, int memory_node) const {
    return begun_before_[chunk * kNodes + static_cast<size_t>(memory_node)];
  }
  bool gave_up() const { return gave_up_; }  // something was held for too long

 private:
  static void handle(int signal, siginfo_t *info, void *context);
  void begin_chunk(size_t chunk, int cpu);

  Mapping &mapping_;
  size_t chunk_pages_;
  Hold hold_;
  struct sigaction before_;
  std::vector<int> memory_node_;
  size_t chunks_of_[kNodes] = {};
  std::atomic<size_t> begun_of_[kNodes] = {};
  std::atomic<size_t> begun_by_[kNodes] = {};
  std::atomic<size_t> begun_ = 0;
  std::unique_ptr<std::atomic<int>[]> cpu_;           // by page
  std::unique_ptr<std::atomic<bool>[]> chunk_begun_;  // by chunk
  std::vector<size_t> begun_before_;
  std::atomic<bool> gave_up_ = false;
};

}  // namespace hpz::test

#endif
