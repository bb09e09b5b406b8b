// SPDX-License-Identifier: BSD-2-Clause
#include "bench/clean_pool.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include "bench/nodes.h"
#include "bench/refusal.h"
#include "bench/sizes.h"

namespace hpz::bench {
namespace {

// Far more than clearing any pool takes: a filler that has not done it by then never will.
constexpr int kMostMilliseconds = 120'000;

uint32_t flags_of(PageKind kind) {
  if (kind == PageKind::kThp) return HPZ_POOL_THP;
  return kind == PageKind::k4k ? HPZ_POOL_PLAIN : 0;
}

void sleep_a_moment() {
  const timespec moment = {0, 100'000};
  nanosleep(&moment, nullptr);
}

}  // namespace

CleanPool::CleanPool(const CleanPoolRequest &request)
    : node_(request.node),
      pages_(request.bytes / bench::page_bytes(request.kind)),
      page_bytes_(bench::page_bytes(request.kind)) {
  hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
  options.page_bytes = page_bytes_;
  // Empty at first: with several nodes only one of them gets pages.
  options.flags = flags_of(request.kind) | HPZ_POOL_NO_FILLING | HPZ_POOL_EMPTY | request.flags;
  const std::string cpu = std::to_string(request.filler_cpu);
  if (request.filler_cpu >= 0) options.cpus = cpu.c_str();
  check_call(hpz_pool_create(&options, &pool_), "hpz_pool_create");
  const int result = hpz_pool_resize(pool_, node_, pages_);
  if (result == 0) return;
  hpz_pool_destroy(pool_);
  if (result != -ENOMEM) check_call(result, "hpz_pool_resize");
  throw Refusal("a pool of " + format_size(request.bytes) + " on " +
                std::string(page_kind_title(request.kind)) + node_title(node_) +
                " cannot be had (" + std::strerror(-result) +
                "): stop other users of memory, or use a smaller --size");
}

CleanPool::~CleanPool() {
  hpz_pool_destroy(pool_);
}

hpz_take_options CleanPool::take_options(uint32_t flags) const {
  hpz_take_options options = HPZ_TAKE_OPTIONS_INIT;
  options.node = node_;
  options.flags = flags | (node_ == kAnyNode ? 0 : HPZ_TAKE_STRICT);
  return options;
}

void CleanPool::give(const std::vector<hpz_page> &pages, uint32_t flags) const {
  check_call(hpz_pool_give(pool_, pages.data(), pages.size(), flags), "hpz_pool_give");
}

size_t CleanPool::make_dirty() const {
  std::vector<hpz_page> pages(pages_);
  pages.front() = HPZ_PAGE_INIT;
  // Clean ones alone: to help with a page that a filler is at would lift that filler.
  const hpz_take_options options = take_options(HPZ_TAKE_CLEAN_ONLY);
  const int taken = hpz_pool_take(pool_, &options, pages.data(), pages.size());
  if (taken == -EAGAIN) return 0;
  check_call(std::min(taken, 0), "hpz_pool_take");
  pages.resize(static_cast<size_t>(taken));
  give(pages);
  return pages.size();
}

void CleanPool::set_filling(bool is_on) const {
  check_call(hpz_pool_set_filling(pool_, node_, is_on ? 1 : 0), "hpz_pool_set_filling");
}

void CleanPool::fill_all() const {
  set_filling(true);
  const int fd = hpz_pool_event_fd(pool_, node_, 0);
  check_call(std::min(fd, 0), "hpz_pool_event_fd");
  pollfd event = {fd, POLLIN, 0};
  int events = 0;
  do {
    events = poll(&event, 1, kMostMilliseconds);
  } while (events < 0 && errno == EINTR);
  close(fd);
  if (events != 1) throw std::runtime_error("the filler does not come to an end");
}

void CleanPool::dirty_all() const {
  set_filling(false);
  // It stops at the end of a chunk.
  while (stats().busy != 0) sleep_a_moment();
  make_dirty();
  if (stats().dirty != pages_) throw std::runtime_error("a page of the pool is lost");
}

hpz_pool_stats CleanPool::stats() const {
  hpz_pool_stats stats = HPZ_POOL_STATS_INIT;
  check_call(hpz_pool_stats_get(pool_, node_, &stats), "hpz_pool_stats_get");
  return stats;
}

}  // namespace hpz::bench
