/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What job_syscalls.py traces: a team and all verbs, each between marks that strace shows as calls
 * of access with a name. */
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
  static const struct {
    const char *mark;
    verb *call;
  } verbs[] = {{"/mark/populate", hpz_space_populate},
               {"/mark/zero", hpz_space_zero},
               {"/mark/reset", hpz_space_reset},
               {"/mark/release", hpz_space_release}};
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
