/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What job_syscalls.py traces: a team and all verbs, each between marks that strace shows as calls
 * of access with a name. */
#define _GNU_SOURCE
#include <hpzero/hpzero.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kBytes = 64 << 20 };

typedef int verb(struct hpz_space *, struct hpz_team *, const struct hpz_extent *, size_t,
                 const struct hpz_job_options *, struct hpz_job_report *);

static void mark(const char *name) {
  (void)!access(name, F_OK);
}

static void run(const char *name, verb *call, struct hpz_team *team, char *memory, int dirty) {
  const struct hpz_range range = {memory, kBytes};
  struct hpz_space *space;
  struct hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  uint32_t cancel = 0;
  if (hpz_space_direct(&range, 1, NULL, &space) != 0) exit(2);
  if (dirty) memset(memory, 1, kBytes);
  options.chunk_bytes = 2 << 20;
  options.cancel = &cancel;
  options.deadline_ns = UINT64_MAX / 4;
  mark(name);
  if (call(space, team, NULL, 0, &options, NULL) != 0) exit(3);
  mark("/mark/none");
  hpz_space_destroy(space);
}

int main(void) {
  struct hpz_team_options options = HPZ_TEAM_OPTIONS_INIT;
  struct hpz_team_info info = HPZ_TEAM_INFO_INIT;
  struct hpz_team *team;
  char *memory = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  options.threads = 2;
  mark("/mark/hpz_team_create");
  if (hpz_team_create(&options, &team) != 0) return 1;
  mark("/mark/none");
  usleep(50000); /* the workers have gone to sleep */
  run("/mark/populate", hpz_space_populate, team, memory, 0);
  run("/mark/zero", hpz_space_zero, team, memory, 1);
  run("/mark/reset", hpz_space_reset, team, memory, 1);
  run("/mark/release", hpz_space_release, team, memory, 1);
  mark("/mark/hpz_team_info_get");
  if (hpz_team_info_get(team, &info) != 0) return 1;
  mark("/mark/none");
  mark("/mark/hpz_team_destroy");
  hpz_team_destroy(team);
  mark("/mark/none");
  return 0;
}
