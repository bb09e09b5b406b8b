// SPDX-License-Identifier: BSD-2-Clause
#include "tests/guest/witness.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include <stdexcept>
#include <utility>

namespace hpz::test {
namespace {

std::atomic<Witness *> present = nullptr;

// Under emulation on a busy machine, a chunk that somebody waits for may take its time.
constexpr int kHoldMilliseconds = 20000;

}  // namespace

Witness::Witness(Mapping &mapping, size_t chunk_pages, Hold hold)
    : mapping_(mapping), chunk_pages_(chunk_pages), hold_(std::move(hold)) {
  const size_t pages = mapping.pages();
  const size_t chunks = (pages + chunk_pages - 1) / chunk_pages;
  cpu_ = std::make_unique<std::atomic<int>[]>(pages);
  for (size_t page = 0; page < pages; ++page) cpu_[page] = -1;
  chunk_begun_ = std::make_unique<std::atomic<bool>[]>(chunks);
  begun_before_.resize(chunks * kNodes);
  const std::vector<int> nodes = mapping.nodes();
  for (size_t chunk = 0; chunk < chunks; ++chunk) {
    const int node = nodes[chunk * chunk_pages];
    if (node < 0) throw std::logic_error("a witness of pages that are not there");
    memory_node_.push_back(node);
    ++chunks_of_[node];
  }
  node_of_cpu(0);  // builds its table, which no handler may do

  if (present.exchange(this) != nullptr) throw std::logic_error("two witnesses");
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &before_);
  if (mprotect(mapping.at(0), mapping.bytes(), PROT_READ) != 0) {
    throw std::runtime_error("mprotect");
  }
}

Witness::~Witness() {
  mprotect(mapping_.at(0), mapping_.bytes(), PROT_READ | PROT_WRITE);
  sigaction(SIGSEGV, &before_, nullptr);
  present = nullptr;
}

void Witness::handle(int, siginfo_t *info, void *) {
  const int error = errno;
  Witness *const witness = present;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  const auto base = reinterpret_cast<uintptr_t>(witness->mapping_.at(0));
  if (address - base >= witness->mapping_.bytes()) {
    // A real one: it comes again and ends the process.
    signal(SIGSEGV, SIG_DFL);
    return;
  }
  const size_t page = (address - base) / witness->mapping_.page_bytes();
  const int cpu = sched_getcpu();
  int nobody = -1;
  witness->cpu_[page].compare_exchange_strong(nobody, cpu);
  if (!witness->chunk_begun_[page / witness->chunk_pages_].exchange(true)) {
    witness->begin_chunk(page / witness->chunk_pages_, cpu);
  }
  mprotect(witness->mapping_.at(page), witness->mapping_.page_bytes(), PROT_READ | PROT_WRITE);
  errno = error;
}

void Witness::begin_chunk(size_t chunk, int cpu) {
  const Begin begin = {chunk, node_of_cpu(cpu), begun_++};
  for (size_t node = 0; node < kNodes; ++node) {
    begun_before_[chunk * kNodes + node] = begun_of_[node];
  }
  ++begun_of_[memory_node_[chunk]];
  ++begun_by_[begin.node];
  const timespec millisecond = {0, 1000000};
  for (int waited = 0; hold_ && hold_(*this, begin); ++waited) {
    if (waited == kHoldMilliseconds || gave_up_) {
      gave_up_ = true;
      return;
    }
    nanosleep(&millisecond, nullptr);
  }
}

int Witness::node_that_wrote(size_t page) const {
  const int cpu = cpu_[page];
  return cpu < 0 ? -1 : node_of_cpu(cpu);
}

}  // namespace hpz::test
