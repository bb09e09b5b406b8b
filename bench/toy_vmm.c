// SPDX-License-Identifier: BSD-2-Clause
//
// A toy virtual machine monitor, to be read by who writes a real one: how long guests wait for
// their memory, by the kernel and from a pool.
//
// Guests start, run, stop, and after a while the next one starts. In turn they have memory that the
// kernel maps and clears when they start, and pages of a pool, cleared while nobody waited. What a
// monitor does about the pool: create_pool, take_memory, give_memory.
#define _GNU_SOURCE
#include <errno.h>
#include <hpzero/hpzero.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static unsigned long guests = 100, pages = 64, page_kib = 2048, pool_pages = 0, think_ms = 50;
static const struct {
  const char *name, *meaning;
  unsigned long *value, least;
} options[] = {
    {"--guests", "that start, by each of the two ways", &guests, 1},
    {"--pages", "of each guest", &pages, 1},
    {"--page-kib", "2048 and 1048576 are huge pages, reserved by you; 4 is not", &page_kib, 4},
    {"--pool", "how many pages the pool has on each node; 0: enough for two guests", &pool_pages,
     0},
    {"--think-ms", "from a stop to the next start; 0: back to back", &think_ms, 0},
};

static size_t page_bytes;
static int huge;
static struct hpz_pool *pool;

// What the guest has as its page i lies at place[i]. (A real monitor tells KVM, to which a run of
// neighbours is a memory slot: KVM_SET_USER_MEMORY_REGION.)
static char **place;
static void *mapping;           // by the kernel: all of it
static struct hpz_page *taken;  // from the pool: what is to be given back

static void check(const char *what, int error) {
  if (error == 0) return;
  fprintf(stderr, "toy_vmm: %s: %s\n", what, strerror(error));
  exit(1);
}

static void map_memory(void) {
  const int kind = huge ? MAP_HUGETLB | __builtin_ctzl(page_bytes) << 26 : 0;  // MAP_HUGE_SHIFT
  mapping = mmap(NULL, pages * page_bytes, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE | kind, -1, 0);
  check("mmap", mapping == MAP_FAILED ? errno : 0);
  for (size_t i = 0; i < pages; ++i) place[i] = (char *)mapping + i * page_bytes;
}

static void unmap_memory(void) {
  munmap(mapping, pages * page_bytes);
}

static void create_pool(void) {
  struct hpz_pool_options want = HPZ_POOL_OPTIONS_INIT;
  want.page_bytes = page_bytes;
  want.pages_per_node = pool_pages;
  if (huge) want.leave_pages = pages;  // to the guests that the kernel serves
  if (!huge) want.flags = HPZ_POOL_PLAIN;
  const int error = hpz_pool_create(&want, &pool);
  if (huge && (error == -ENOMEM || error == -EDQUOT)) {
    char file[96];
    snprintf(file, sizeof file, "/sys/kernel/mm/hugepages/hugepages-%lukB/nr_hugepages", page_kib);
    fprintf(stderr,
            "toy_vmm: too few huge pages are free: reserve %lu more by "
            "'echo $(($(cat %s) + %lu)) | sudo tee %s', afterwards put them back by - for +; "
            "where memory has several nodes, so many for each\n",
            pool_pages + pages, file, pool_pages + pages, file);
    exit(2);
  }
  check("hpz_pool_create", -error);
}

static void take_memory(void) {
  // Clean pages first. Where they do not suffice this clears others: it reads zero in any case.
  taken[0] = (struct hpz_page)HPZ_PAGE_INIT;
  const int count = hpz_pool_take(pool, NULL, taken, pages);
  check("hpz_pool_take", count < 0 ? -count : (size_t)count < pages ? ENOMEM : 0);
  for (size_t i = 0; i < pages; ++i) place[i] = taken[i].base;
}

static void give_memory(void) {
  // By now nobody else may write to it: a real monitor has taken it from KVM, vhost and VFIO.
  check("hpz_pool_give", -hpz_pool_give(pool, taken, pages, 0));
}

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

// From the wish for memory until each page of it has been read: what is not there yet is waited for
// then.
static double start(void (*memory)(void)) {
  const double begin = now_us();
  memory();
  for (size_t i = 0; i < pages; ++i) (void)*(volatile char *)place[i];
  return now_us() - begin;
}

// Looks at all of its memory, then leaves secrets in every other page. How many were not zero.
static size_t run(void) {
  size_t spoiled = 0;
  for (size_t i = 0; i < pages; ++i) {
    spoiled += !hpz_is_zero(place[i], page_bytes);
    if (i % 2 == 0) memset(place[i], 0xA5, page_bytes);
  }
  return spoiled;
}

static int by_value(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

// Sorts them. The median.
static double print_percentiles(const char *way, double *us) {
  qsort(us, guests, sizeof *us, by_value);
  const double median = us[(guests * 50 + 99) / 100 - 1];
  printf("%-9s%12.1f%12.1f%12.1f%12.1f\n", way, median, us[(guests * 90 + 99) / 100 - 1],
         us[(guests * 99 + 99) / 100 - 1], us[guests - 1]);
  return median;
}

static void read_options(int count, char **words) {
  const size_t known = sizeof options / sizeof *options;
  for (int i = 1; i < count; i += 2) {
    size_t at = 0;
    while (at < known && strcmp(words[i], options[at].name) != 0) ++at;
    char *end = NULL;
    if (at < known && i + 1 < count) *options[at].value = strtoul(words[i + 1], &end, 10);
    if (end && *end == '\0' && *options[at].value - options[at].least < 10000000) continue;
    const int asked = strcmp(words[i], "--help") == 0;
    for (at = 0; at < known; ++at) {
      fprintf(asked ? stdout : stderr, "%-12sN  %s\n", options[at].name, options[at].meaning);
    }
    exit(asked ? 0 : 2);
  }
  if (pool_pages == 0) pool_pages = 2 * pages;
  page_bytes = page_kib * 1024;
  huge = page_bytes > (size_t)sysconf(_SC_PAGESIZE);
}

int main(int count, char **words) {
  read_options(count, words);
  place = calloc(pages, sizeof *place);
  taken = calloc(pages, sizeof *taken);
  double *const by_kernel = calloc(guests, sizeof(double));
  double *const from_pool = calloc(guests, sizeof(double));
  check("calloc", place && taken && by_kernel && from_pool ? 0 : ENOMEM);
  create_pool();

  size_t spoiled = 0;
  const struct timespec think = {(time_t)think_ms / 1000, (long)think_ms % 1000 * 1000000};
  for (size_t i = 0; i < guests; ++i) {
    hpz_pool_set_filling(pool, -1, 0);  // what one way leaves undone, the other does not pay for
    by_kernel[i] = start(map_memory);
    spoiled += run();
    unmap_memory();

    hpz_pool_set_filling(pool, -1, 1);
    nanosleep(&think, NULL);
    from_pool[i] = start(take_memory);
    spoiled += run();
    give_memory();
  }

  printf("%lu guests by each way, of %lu pages of %lu KiB, %lu ms from stop to start\n", guests,
         pages, page_kib, think_ms);
  printf("start, us         p50         p90         p99         max\n");
  const double slow = print_percentiles("kernel", by_kernel),
               fast = print_percentiles("pool", from_pool);
  struct hpz_pool_stats stats = HPZ_POOL_STATS_INIT;
  check("hpz_pool_stats_get", -hpz_pool_stats_get(pool, -1, &stats));
  printf("kernel / pool, medians: %.1f\n", slow / fast);
  printf("pool: %llu hits, %llu misses, %llu waits; %.3f s of CPU time for its fillers\n",
         (unsigned long long)stats.hits, (unsigned long long)stats.misses,
         (unsigned long long)stats.waits, (double)stats.filler_cpu_ns / 1e9);
  printf("pages that did not read zero at a start: %zu of %lu\n", spoiled, 2 * guests * pages);
  hpz_pool_destroy(pool);
  return spoiled == 0 ? 0 : 1;
}
