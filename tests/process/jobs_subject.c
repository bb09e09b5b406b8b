/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What job_syscalls.py traces: a team and all verbs, of memory, files and maps, each between marks
 * that strace shows as calls of access with a name. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <hpzero/hpzero.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kBytes = 64 << 20 };

typedef int verb(struct hpz_space *, struct hpz_team *, const struct hpz_extent *, size_t,
                 const struct hpz_job_options *, struct hpz_job_report *);

typedef int map_verb(struct hpz_map *, struct hpz_space *, struct hpz_team *, uint64_t, uint64_t,
                     const struct hpz_job_options *, struct hpz_job_report *);

static const struct {
  const char *mark, *mark_of_file;
  verb *call;
} verbs[] = {{"/mark/populate", "/mark/file_populate", hpz_space_populate},
             {"/mark/zero", "/mark/file_zero", hpz_space_zero},
             {"/mark/reset", "/mark/file_reset", hpz_space_reset},
             {"/mark/release", "/mark/file_release", hpz_space_release}};

static const struct {
  const char *mark;
  map_verb *call;
} map_verbs[] = {{"/mark/map_populate", hpz_map_populate},
                 {"/mark/map_zero", hpz_map_zero},
                 {"/mark/map_release", hpz_map_release}};

static void mark(const char *name) {
  (void)!access(name, F_OK);
}

static struct hpz_space *make_space(char *memory, size_t bytes) {
  const struct hpz_range range = {memory, bytes};
  struct hpz_space *space;
  mark("/mark/hpz_space_direct");
  if (hpz_space_direct(&range, 1, NULL, &space) != 0) exit(2);
  mark("/mark/none");
  return space;
}

static void destroy_space(struct hpz_space *space) {
  mark("/mark/hpz_space_destroy");
  hpz_space_destroy(space);
  mark("/mark/none");
}

static void run(const char *name, verb *call, struct hpz_team *team, char *memory, int dirty) {
  struct hpz_space *const space = make_space(memory, kBytes);
  struct hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  uint32_t cancel = 0;
  if (dirty) memset(memory, 1, kBytes);
  options.chunk_bytes = 2 << 20;
  options.cancel = &cancel;
  options.deadline_ns = UINT64_MAX / 4;
  options.touch_next = memory + kBytes / 2 + 100;
  mark(name);
  if (call(space, team, NULL, 0, &options, NULL) != 0) exit(3);
  mark("/mark/none");
  destroy_space(space);
}

/* Errors ask more: whose fault it is. */
static void run_over_a_hole(const char *name, verb *call, struct hpz_team *team) {
  char *const memory =
      mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct hpz_space *space;
  if (memory == MAP_FAILED || munmap(memory + kBytes / 2, 4096) != 0) exit(4);
  space = make_space(memory, kBytes);
  mark(name);
  if (call(space, team, NULL, 0, NULL, NULL) == 0) exit(5);
  mark("/mark/none");
  destroy_space(space);
  munmap(memory, kBytes);
}

/* PAGEMAP_SCAN of linux/fs.h, of an argument that cannot be read: it is known here, or ENOTTY. */
static int can_scan(void) {
  const int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  const unsigned long scan = _IOC(_IOC_READ | _IOC_WRITE, 'f', 16, 96);
  int can = 0;
  if (fd < 0) return 0;
  can = ioctl(fd, scan, NULL) != 0 && errno == EFAULT;
  close(fd);
  return can;
}

/* Huge pages that need no pool, for nobody touches them. None in this kernel: nothing is traced.
 * Where nobody tells that they are not there (before Linux 6.7) reset clears them, for which the
 * pool may be too small. */
static void run_on_huge_pages(const char *name, verb *call, struct hpz_team *team) {
  char *const memory = mmap(NULL, kBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
  struct hpz_space *space;
  int result;
  if (memory == MAP_FAILED) return;
  space = make_space(memory, kBytes);
  mark(name);
  result = call(space, team, NULL, 0, NULL, NULL);
  mark("/mark/none");
  if (result != 0 && !(result == -ENOMEM && call == hpz_space_reset && !can_scan())) exit(6);
  destroy_space(space);
  munmap(memory, kBytes);
}

/* Half of it holes; by windows, too, where each chunk is mapped for itself. */
static void run_on_file(uint32_t flags, uint64_t window_bytes, struct hpz_team *team) {
  struct hpz_space_options options = HPZ_SPACE_OPTIONS_INIT;
  const int fd = memfd_create("jobs_subject", MFD_CLOEXEC);
  struct hpz_space *space;
  size_t i;
  if (fd < 0 || ftruncate(fd, kBytes) != 0) exit(8);
  options.flags = flags;
  options.window_bytes = window_bytes;
  mark("/mark/hpz_space_file");
  if (hpz_space_file(fd, 0, kBytes, &options, &space) != 0) exit(9);
  mark("/mark/none");
  for (i = 0; i < 4; ++i) {
    struct hpz_job_options job = HPZ_JOB_OPTIONS_INIT;
    job.chunk_bytes = 4 << 20;
    if (fallocate(fd, 0, 0, kBytes / 2) != 0) exit(10);
    mark(verbs[i].mark_of_file);
    if (verbs[i].call(space, team, NULL, 0, &job, NULL) != 0) exit(11);
    mark("/mark/none");
  }
  mark("/mark/file_destroy");
  hpz_space_destroy(space);
  mark("/mark/none");
  close(fd);
}

/* So many pages that the table of bitmaps is a mapping of its own. */
static void run_on_map(struct hpz_team *team, char *memory) {
  struct hpz_space *const space = make_space(memory, kBytes);
  struct hpz_map_options options = HPZ_MAP_OPTIONS_INIT;
  struct hpz_map_counts counts = HPZ_MAP_COUNTS_INIT;
  struct hpz_map *map;
  size_t i;
  options.len = kBytes;
  options.page_bytes = 4096;
  options.subpage_bytes = 64;
  mark("/mark/hpz_map_create");
  if (hpz_map_create(&options, &map) != 0) exit(12);
  mark("/mark/none");
  for (i = 0; i < 3; ++i) {
    const uint64_t words[] = {UINT64_MAX, 1};
    uint64_t at;
    mark("/mark/map_change");
    for (at = 0; at < kBytes; at += kBytes / 2) {
      if (hpz_map_set(map, at, 1 << 20, HPZ_PAGE_ZERO) != 0) exit(13);
      if (hpz_map_set(map, at + 64, 1 << 19, HPZ_PAGE_DIRTY) != 0) exit(13);
      if (hpz_map_set_dirty_bitmap(map, at + (1 << 20), words, 128) != 0) exit(13);
    }
    mark("/mark/hpz_map_counts_get");
    if (hpz_map_counts_get(map, &counts) != 0) exit(14);
    mark(map_verbs[i].mark);
    if (map_verbs[i].call(map, space, team, 100, kBytes - 200, NULL, NULL) != 0) exit(15);
    mark("/mark/map_change");
    if (hpz_map_set(map, kBytes / 4, kBytes / 2, HPZ_PAGE_DIRTY) != 0) exit(13);
    mark("/mark/none");
  }
  mark("/mark/map_change");
  if (hpz_map_set(map, 64, 64, HPZ_PAGE_DIRTY) != 0) exit(13);
  mark("/mark/hpz_map_destroy"); /* while a page has a bitmap */
  hpz_map_destroy(map);
  mark("/mark/none");
  destroy_space(space);
}

/* They name themselves at the end of their start. */
static void wait_for_workers(int count) {
  for (;;) {
    int found = 0;
    DIR *const threads = opendir("/proc/self/task");
    const struct dirent *thread;
    if (threads == NULL) exit(7);
    while ((thread = readdir(threads)) != NULL) {
      char path[300], name[16] = "";
      FILE *file;
      snprintf(path, sizeof path, "/proc/self/task/%s/comm", thread->d_name);
      file = fopen(path, "re");
      if (file == NULL) continue;
      found += fgets(name, sizeof name, file) != NULL && strcmp(name, "hpzero\n") == 0;
      fclose(file);
    }
    closedir(threads);
    if (found == count) return;
    usleep(1000);
  }
}

int main(void) {
  struct hpz_team_options options = HPZ_TEAM_OPTIONS_INIT;
  struct hpz_team_info info = HPZ_TEAM_INFO_INIT;
  struct hpz_team *teams[2] = {NULL, NULL};
  char *memory;
  size_t i, j;
  options.threads = 2;
  mark("/mark/hpz_team_create");
  if (hpz_team_create(&options, &teams[0]) != 0) return 1;
  mark("/mark/none");
  wait_for_workers(2);
  for (i = 0; i < 2; ++i) { /* by the team, and by the calling thread alone */
    memory = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    for (j = 0; j < 4; ++j) run(verbs[j].mark, verbs[j].call, teams[i], memory, j != 0);
    for (j = 2; j < 4; ++j) run_on_huge_pages(verbs[j].mark, verbs[j].call, teams[i]);
    run_over_a_hole("/mark/populate", hpz_space_populate, teams[i]);
    run_on_map(teams[i], memory);
    run_on_file(0, 0, teams[i]);
    run_on_file(HPZ_SPACE_PUNCH, 2 << 20, teams[i]);
    run_on_file(HPZ_SPACE_ALLOCATE, 0, teams[i]);
    munmap(memory, kBytes);
  }
  mark("/mark/hpz_team_info_get");
  if (hpz_team_info_get(teams[0], &info) != 0) return 1;
  mark("/mark/none");
  mark("/mark/hpz_team_destroy");
  hpz_team_destroy(teams[0]);
  mark("/mark/none");
  return 0;
}
