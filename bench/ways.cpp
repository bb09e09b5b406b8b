// SPDX-License-Identifier: BSD-2-Clause
#include "bench/ways.h"

#include <hpzero/hpzero.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>

#include "bench/crew.h"
#include "bench/sizes.h"
#include "bench/threads.h"
#include "bench/ways_table.h"
#include "bench/workloads.h"

namespace hpz::bench {
namespace {

using Clear = void (*)(char *, uint64_t);

void by_plan(char *at, uint64_t bytes) {
  hpz_zero_stream(at, bytes);
}
void by_stosb(char *at, uint64_t bytes) {
  zero_with(kPerPieceKernel, at, bytes);
}

// --- What surrounds a piece ----------------------------------------------------------------------

void clear_mapped(int fd, uint64_t offset, uint64_t piece, Clear clear) {
  // With its page table entry at once: a fault afterwards would cost more, and a kernel's
  // temporary mapping has none.
  void *const at = mmap(nullptr, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
                        static_cast<off_t>(offset));
  if (at == MAP_FAILED) {
    throw std::runtime_error(std::string("cannot map a piece of a file: ") + std::strerror(errno));
  }
  clear(static_cast<char *>(at), piece);
  munmap(at, piece);
}

// kmap_atomic on a 64-bit kernel maps nothing. What is left of it (Linux,
// include/linux/highmem-internal.h, preempt.h, uaccess.h) are two counters, of preemption and of
// disabled page faults, up and down again, each beside a barrier(): four for a piece, 2048 for 2
// MiB. barrier() is no instruction but a limit to the compiler, `asm volatile("" ::: "memory")`,
// which is what stands for it here.
volatile int preempt_count = 0;
volatile int pagefault_disabled = 0;

void barrier() {
  __asm__ volatile("" ::: "memory");
}

void clear_between_barriers(char *at, uint64_t piece, Clear clear) {
  preempt_count = preempt_count + 1;
  barrier();
  pagefault_disabled = pagefault_disabled + 1;
  barrier();
  clear(at, piece);
  barrier();
  pagefault_disabled = pagefault_disabled - 1;
  barrier();
  preempt_count = preempt_count - 1;
}

// The most that a reader of "barrier" could think of: four full fences of the CPU (x86: mfence or a
// locked instruction, as the compiler chooses; arm64: dmb ish).
void clear_between_fences(char *at, uint64_t piece, Clear clear) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  clear(at, piece);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

// --- Ways ----------------------------------------------------------------------------------------

using Work = std::function<void(char *range)>;

struct Way {
  std::string id, title;
  Work work;
};

std::vector<Way> piece_ways(const WaysRequest &request, Clear clear, const std::string &suffix) {
  const uint64_t piece = piece_bytes();
  const uint64_t size = request.size;
  const char *const base = request.memory->base();
  const int fd = request.memory->fd();
  const std::string per_piece = " per " + format_size(piece);
  std::vector<Way> ways;
  if (can_map_pieces(request.kind)) {
    ways.push_back({kMappedPieces + suffix, "mmap, clear, munmap" + per_piece, [=](char *range) {
                      const auto begin = static_cast<uint64_t>(range - base);
                      for (uint64_t at = 0; at < size; at += piece) {
                        clear_mapped(fd, begin + at, piece, clear);
                      }
                    }});
  }
  ways.push_back(
      {kBarrierPieces + suffix, "direct, 4 compiler barriers" + per_piece, [=](char *range) {
         for (uint64_t at = 0; at < size; at += piece) {
           clear_between_barriers(range + at, piece, clear);
         }
       }});
  ways.push_back({kFencedPieces + suffix, "direct, 4 full fences" + per_piece, [=](char *range) {
                    for (uint64_t at = 0; at < size; at += piece) {
                      clear_between_fences(range + at, piece, clear);
                    }
                  }});
  return ways;
}

Way stosb_pieces(const WaysRequest &request) {
  const uint64_t piece = piece_bytes();
  const uint64_t size = request.size;
  // As in the row of 'run': one call for many pieces, which costs nothing for each of them.
  return {std::string(kPieces) + kStosbSuffix, "",
          [=](char *range) { zero_per_piece(kPerPieceKernel, range, size, piece); }};
}

// On the calling thread alone.
void call(const Verb &verb, const Space &space, uint64_t offset, uint64_t bytes) {
  const hpz_extent extent = {offset, bytes};
  check_call(verb.call(space.get(), nullptr, &extent, 1, nullptr, nullptr), verb.name);
}

Way space_way(const WaysRequest &request, std::string id, std::string title,
              std::shared_ptr<const Space> space) {
  const char *const base = request.memory->base();
  const uint64_t size = request.size;
  return {std::move(id), std::move(title), [=, space = std::move(space)](char *range) {
            call(kZeroVerb, *space, static_cast<uint64_t>(range - base), size);
          }};
}

std::vector<Way> memory_ways(const WaysRequest &request) {
  const uint64_t piece = piece_bytes();
  const uint64_t size = request.size;
  const FileMemory &memory = *request.memory;
  // What a window of the file can consist of.
  const uint64_t page = is_pool_kind(request.kind) ? page_bytes(request.kind) : piece;
  std::vector<Way> ways = piece_ways(request, by_plan, "");
  ways.push_back(
      {kPieces, "direct, per " + format_size(piece) + ", nothing between", [=](char *range) {
         for (uint64_t at = 0; at < size; at += piece) by_plan(range + at, piece);
       }});
  ways.push_back({kDirect, "direct, whole extent", [=](char *range) { by_plan(range, size); }});
  ways.push_back(space_way(
      request, kSpaceDirect, "hpz_space_direct",
      std::make_shared<const Space>(memory.base(), memory.bytes(), page_bytes(request.kind))));
  const auto file = [&](uint64_t window) {
    return std::make_shared<const Space>(Space::of_file(memory.fd(), memory.bytes(), window, 0));
  };
  const std::shared_ptr<const Space> lasting = file(0);
  // It lasts: that each of its pages is a page fault once was paid long ago.
  call(kZeroVerb, *lasting, 0, memory.bytes());
  ways.push_back(space_way(request, kLasting, "hpz_space_file, one lasting mapping", lasting));
  for (const uint64_t window : windows_for(page, size)) {
    const std::string name = format_size(window);
    ways.push_back(
        space_way(request, kWindow + name, "hpz_space_file, windows of " + name, file(window)));
  }
  if (has_kernel(kPerPieceKernel)) {
    for (Way &way : piece_ways(request, by_stosb, kStosbSuffix)) ways.push_back(std::move(way));
    ways.push_back(stosb_pieces(request));
  }
  return ways;
}

// --- As rows -------------------------------------------------------------------------------------

Sample time_pieces(const std::vector<void *> &pieces, uint64_t size, const Work &work) {
  Sample sample = time_alone(pieces.size() * size, [&] {
    for (void *const piece : pieces) work(static_cast<char *>(piece));
  });
  sample.ranges = pieces.size();
  return sample;
}

// Untimed, which is the first use of its instructions, too.
void try_out(const Way &way, char *range, uint64_t size) {
  std::memset(range, 0xA5, size);
  way.work(range);
  if (hpz_is_zero(range, size) != 1) {
    throw std::runtime_error(way.id + " does not clear all of its memory");
  }
}

JobRow memory_row(const WaysRequest &request, Way way) {
  try_out(way, request.memory->base(), request.size);
  return {way.id, way.title,
          [walk = request.walk, ranges = request.ranges, size = request.size,
           work = std::move(way.work)] { return time_pieces(walk->next(ranges), size, work); }};
}

// Holes are made in memory of their own: whoever comes next would find other pages than before.
// They are filled again untimed, which leaves them in the caches: the next holes are elsewhere, on
// the walk that both rows share.
JobRow hole_row(const WaysRequest &request, const char *id, const char *title,
                std::shared_ptr<const Space> space, bool is_filled) {
  FileMemory *const spare = request.spare;
  const uint64_t size = request.size;
  const Way way = {id, title, [=, space = std::move(space)](char *range) {
                     const auto begin = static_cast<uint64_t>(range - spare->base());
                     call(kZeroVerb, *space, begin, size);
                     if (is_filled) call(kPopulateVerb, *space, begin, size);
                   }};
  const auto restore = [=](void *piece) {
    spare->restore(static_cast<uint64_t>(static_cast<char *>(piece) - spare->base()), size);
  };
  void *const first = request.spare_walk->next(1).front();
  try_out(way, static_cast<char *>(first), size);
  restore(first);
  return {id, title, [=, walk = request.spare_walk, ranges = request.ranges] {
            const std::vector<void *> &pieces = walk->next(ranges);
            const Sample sample = time_pieces(pieces, size, way.work);
            for (void *const piece : pieces) restore(piece);
            return sample;
          }};
}

}  // namespace

uint64_t piece_bytes() {
  return std::max(kPiece, page_bytes(PageKind::k4k));
}

std::vector<JobRow> way_rows(const WaysRequest &request) {
  std::vector<JobRow> rows;
  for (Way &way : memory_ways(request)) rows.push_back(memory_row(request, std::move(way)));
  const auto holes = std::make_shared<const Space>(
      Space::of_file(request.spare->fd(), request.spare->bytes(), 0, HPZ_SPACE_PUNCH));
  rows.push_back(
      hole_row(request, kPunch, "file system: hole punched, memory given back", holes, false));
  rows.push_back(
      hole_row(request, kPunchPopulate, "... and populated again, by the kernel", holes, true));
  return rows;
}

}  // namespace hpz::bench
