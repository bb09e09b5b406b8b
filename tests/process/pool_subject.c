/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What pool_syscalls.py traces: pools of every kind of memory and all calls, each between marks
 * that strace shows as calls of access with a name. No thread but the calling one and fillers. */
#define _GNU_SOURCE
#include <errno.h>
#include <hpzero/hpzero.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Large ones: whoever wants to meet a filler at work has time to. */
enum { kPageBytes = 32 << 20, kPages = 2 };

static void mark(const char *name) {
  (void)!access(name, F_OK);
}

static struct hpz_pool_options options_with(uint32_t flags) {
  struct hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
  options.page_bytes = kPageBytes;
  options.pages_per_node = kPages;
  options.flags = flags;
  return options;
}

static struct hpz_pool *create(const struct hpz_pool_options *options) {
  struct hpz_pool *pool;
  mark("/mark/hpz_pool_create");
  if (hpz_pool_create(options, &pool) != 0) exit(2);
  mark("/mark/none");
  return pool;
}

static void destroy(struct hpz_pool *pool) {
  mark("/mark/hpz_pool_destroy");
  hpz_pool_destroy(pool);
  mark("/mark/none");
}

static struct hpz_pool_stats stats_of(struct hpz_pool *pool) {
  struct hpz_pool_stats stats = HPZ_POOL_STATS_INIT;
  if (hpz_pool_stats_get(pool, -1, &stats) != 0) exit(3);
  return stats;
}

static int try_to_take(struct hpz_pool *pool, uint32_t flags, uint64_t deadline_ns,
                       struct hpz_page *page) {
  const struct hpz_page empty = HPZ_PAGE_INIT;
  struct hpz_take_options options = HPZ_TAKE_OPTIONS_INIT;
  options.flags = flags;
  options.deadline_ns = deadline_ns;
  *page = empty;
  return hpz_pool_take(pool, &options, page, 1);
}

static struct hpz_page take(const char *name, struct hpz_pool *pool, uint32_t outcome) {
  struct hpz_page page;
  mark(name);
  if (try_to_take(pool, 0, 0, &page) != 1 || page.outcome != outcome) exit(4);
  mark("/mark/none");
  return page;
}

static void give(const char *name, struct hpz_pool *pool, const struct hpz_page *page,
                 uint32_t flags) {
  mark(name);
  if (hpz_pool_give(pool, page, 1, flags) != 0) exit(5);
  mark("/mark/none");
}

static void fill(const char *name, struct hpz_pool *pool, int expected) {
  mark(name);
  if (hpz_pool_fill(pool, -1, kPages) != expected) exit(6);
  mark("/mark/none");
}

/* may_lack: of the kernel's huge pages there may be as many as the pool has, and no more. */
static void resize(struct hpz_pool *pool, size_t pages, int may_lack) {
  int result;
  mark("/mark/hpz_pool_resize");
  result = hpz_pool_resize(pool, -1, pages);
  if (result != 0 && !(may_lack && (result == -EDQUOT || result == -ENOMEM))) exit(7);
  mark("/mark/none");
}

static void set_filling(struct hpz_pool *pool, int on) {
  mark("/mark/hpz_pool_set_filling");
  if (hpz_pool_set_filling(pool, -1, on) != 0) exit(8);
  mark("/mark/none");
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* No filler: hits, misses, gives, fills, growth and shrinking of one kind of memory. */
static void live(const struct hpz_pool_options *options, uint32_t give_flags) {
  struct hpz_pool *const pool = create(options);
  const int drops = (options->flags & HPZ_POOL_EXPORT) != 0 && give_flags == 0;
  struct hpz_page pages[kPages];
  int i;
  for (i = 0; i < kPages; ++i) pages[i] = take("/mark/hit_alone", pool, HPZ_TAKE_HIT);
  for (i = 0; i < kPages; ++i) give("/mark/give", pool, &pages[i], give_flags);
  pages[0] = take(drops ? "/mark/renewing" : "/mark/miss", pool, HPZ_TAKE_MISS);
  give(drops ? "/mark/give_renewing" : "/mark/give", pool, &pages[0], give_flags | HPZ_GIVE_CLEAR);
  fill(drops ? "/mark/renewing" : "/mark/hpz_pool_fill", pool, kPages - 1);
  if (options->base == NULL) {
    for (i = 0; i < kPages; ++i) pages[i] = take("/mark/hit_alone", pool, HPZ_TAKE_HIT);
    resize(pool, kPages + 1, options->leave_pages != 0);
    resize(pool, 1, 0);
    for (i = 0; i < kPages; ++i) give("/mark/give", pool, &pages[i], give_flags); /* one too many */
  }
  destroy(pool);
}

/* With a filler of class SCHED_IDLE, and a taker that waits for it. */
static void live_with_filler(const char *name, uint32_t flags, uint32_t give_flags) {
  const struct hpz_pool_options options = options_with(flags);
  struct hpz_pool *const pool = create(&options);
  struct hpz_page pages[kPages], none;
  int i, waits;
  for (i = 0; i < kPages; ++i) pages[i] = take("/mark/hit", pool, HPZ_TAKE_HIT);
  mark("/mark/wait");
  if (try_to_take(pool, HPZ_TAKE_AWAIT, now_ns() + 1000000, &none) != -ETIMEDOUT) exit(10);
  mark("/mark/none");
  for (waits = 0; waits == 0;) {
    give("/mark/give", pool, &pages[0], give_flags);
    while (stats_of(pool).dirty != 0) { /* until the filler is at it, or has been */
    }
    mark(name);
    if (try_to_take(pool, 0, 0, &pages[0]) != 1) exit(11);
    mark("/mark/none");
    waits = pages[0].outcome == HPZ_TAKE_WAIT;
  }
  set_filling(pool, 0);
  set_filling(pool, 1);
  give("/mark/give", pool, &pages[0], give_flags);
  resize(pool, 1, 0); /* it wants back the page that the filler is at */
  give("/mark/give", pool, &pages[1], give_flags);
  while (stats_of(pool).clean != 1) usleep(1000); /* nothing to do: it sleeps */
  destroy(pool);
}

/* An event of each kind, in the calls that tell of it. */
static void live_with_events(void) {
  const struct hpz_pool_options options = options_with(HPZ_POOL_PLAIN | HPZ_POOL_NO_FILLING);
  struct hpz_pool *const pool = create(&options);
  struct hpz_page pages[kPages];
  int fds[3], i;
  for (i = 0; i < 3; ++i) {
    const size_t below[] = {kPages, 0, kPages}; /* the third takes the number of the first */
    mark("/mark/hpz_pool_event_fd");
    fds[i] = hpz_pool_event_fd(pool, -1, below[i]);
    mark("/mark/none");
    if (fds[i] < 0) exit(12);
    if (i == 0) close(fds[i]);
  }
  for (i = 1; i < 3; ++i) {
    mark("/mark/hpz_pool_event_rearm");
    if (hpz_pool_event_rearm(pool, fds[i]) < 0) exit(13);
    mark("/mark/none");
  }
  for (i = 0; i < kPages; ++i) pages[i] = take("/mark/hit", pool, HPZ_TAKE_HIT);
  give("/mark/give", pool, &pages[0], 0);
  fill("/mark/hpz_pool_fill", pool, 1);
  mark("/mark/hpz_pool_event_rearm");
  if (hpz_pool_event_rearm(pool, fds[1]) != 1) exit(14);
  mark("/mark/none");
  mark("/mark/hpz_pool_poison");
  if (hpz_pool_poison(pool, pages[0].base) != 0) exit(15);
  mark("/mark/none");
  mark("/mark/hpz_pool_stats_get");
  (void)stats_of(pool);
  mark("/mark/none");
  destroy(pool);
}

int main(void) {
  struct hpz_pool_options options = options_with(HPZ_POOL_PLAIN | HPZ_POOL_NO_FILLING);
  struct hpz_pool *pool;
  live(&options, 0);
  options.flags = HPZ_POOL_THP | HPZ_POOL_NO_FILLING;
  live(&options, 0);
  options.flags = HPZ_POOL_PLAIN | HPZ_POOL_EXPORT | HPZ_POOL_NO_FILLING;
  live(&options, 0);
  live(&options, HPZ_GIVE_SOLE_OWNER);
  /* Huge pages of the kernel's, or what it falls back to. */
  options.page_bytes = 2 << 20;
  options.flags = HPZ_POOL_FALL_BACK | HPZ_POOL_NO_FILLING;
  options.leave_pages = 1;
  live(&options, 0);
  options = options_with(HPZ_POOL_NO_FILLING);
  options.pages_per_node = 0;
  options.len = (uint64_t)kPages * kPageBytes;
  options.base = mmap(NULL, options.len + kPageBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (options.base == MAP_FAILED) return 1;
  options.base = (char *)options.base + (0 - (uintptr_t)options.base) % kPageBytes;
  options.flags |= HPZ_POOL_ZEROED;
  live(&options, 0);
  live_with_filler("/mark/wait", HPZ_POOL_PLAIN | HPZ_POOL_IDLE, 0);
  live_with_filler("/mark/renewing", HPZ_POOL_PLAIN | HPZ_POOL_EXPORT | HPZ_POOL_IDLE, 0);
  live_with_events();
  options = options_with(HPZ_POOL_PLAIN | HPZ_POOL_NO_FILLING | HPZ_POOL_EMPTY);
  options.pages_per_node = 0;
  pool = create(&options);
  set_filling(pool, 1); /* starts one */
  mark("/mark/hpz_pool_stats_get");
  (void)stats_of(pool);
  mark("/mark/none");
  destroy(pool);
  return 0;
}
