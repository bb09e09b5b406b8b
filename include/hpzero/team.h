/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A team: pinned worker threads that execute the jobs of space.h. It knows no memory: what a job
 * does to which bytes is the business of that header.
 *
 * Rules for all calls here, where a declaration says nothing else:
 *  - Result: 0, or a negative errno value with nothing changed.
 *  - Thread rule: any thread; not async-signal-safe. Several threads may start jobs on one team at
 *    once; they share its workers, the older job first.
 *  - The calling thread's affinity, memory policy, priority, signal mask and handlers are after the
 *    call as before it, also after errors. (A job on the calling thread alone that must place
 *    memory on a node sets that thread's memory policy and puts it back.)
 *  - Workers block all signals but SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP and SIGSYS: a blocked
 *    synchronous signal would kill the process past the host's handler.
 *  - After fork a team does not exist in the child: calls answer -ECHILD, hpz_team_destroy frees
 *    the child's copy of the handle, and a NULL team works there as everywhere.
 *
 * System calls, for sandboxes; a test compares these lists, and those of space.h and map.h, with
 * what is made.
 * Files are read for the first team of a process, for one after CPUs were added, and for the quota.
 *   hpz_team_create: access brk clone clone3 close faccessat2 fcntl fstat futex getcwd getdents64
 *     get_mempolicy getpid getrandom lseek madvise mmap move_pages mprotect munmap newfstatat
 *     openat pread64 read readlink readlinkat rt_sigaction rt_sigprocmask sched_getaffinity
 *     sched_setaffinity set_mempolicy uname
 *   a worker's start: futex gettid mmap mprotect munmap prctl rseq rt_sigprocmask set_robust_list
 *   a worker's end: exit futex madvise munmap rt_sigprocmask
 *   a worker between chunks: clock_gettime futex
 *   hpz_team_info_get: clock_gettime futex getpid
 *   hpz_team_destroy: brk futex getpid madvise munmap
 * A chunk's own are in space.h. */
#ifndef HPZERO_TEAM_H
#define HPZERO_TEAM_H

#include <hpzero/version.h>

HPZ_EXTERN_C_BEGIN

struct hpz_team; /* opaque */

/* Any field but size that is 0 or NULL means its default. Since 0.1.0. */
struct hpz_team_options {
  size_t size;      /* of this struct, filled by HPZ_TEAM_OPTIONS_INIT */
  uint32_t threads; /* workers; 0: one for each core of the allowed CPUs, at most the cgroup's CPU
                       quota rounded up (v1 and v2). A number given here wins over the quota. */
  uint32_t flags;   /* none yet: 0 */
  const char *cpus; /* CPUs that workers may use, as "0-3,8": those of them that the calling thread
                       may use are taken. NULL: all that it may use. */
};

#define HPZ_TEAM_OPTIONS_INIT \
  { sizeof(struct hpz_team_options), 0, 0, NULL }

/* hpz_team_info.flags. Since 0.1.0. */
#define HPZ_TEAM_UNPINNED UINT32_C(0x1)     /* pinning was refused: workers run where they run */
#define HPZ_TEAM_FEWER UINT32_C(0x2)        /* threads could not be created: fewer than planned */
#define HPZ_TEAM_NO_PLACEMENT UINT32_C(0x4) /* nobody tells or chooses where pages lie */

/* What a job does: index of hpz_team_info.node[].knee. Since 0.1.0. */
enum hpz_verb HPZ_ENUM_BASE {
  HPZ_VERB_ZERO = 0,
  HPZ_VERB_POPULATE = 1,
  HPZ_VERB_RESET = 2,
  HPZ_VERB_RELEASE = 3
};

/* Begins with HPZ_TEAM_INFO_INIT: size says how much is written. Since 0.1.0. */
struct hpz_team_info {
  size_t size;      /* of this struct, filled by HPZ_TEAM_INFO_INIT */
  uint32_t threads; /* workers that there are; 0: jobs run on the calling thread */
  uint32_t nodes;   /* NUMA nodes with CPUs or memory; node[] holds the first 64 of them */
  uint32_t flags;   /* HPZ_TEAM_* */
  uint32_t reserved;
  struct {
    int32_t id;       /* as the kernel numbers them; gaps are ordinary */
    uint32_t threads; /* workers for its memory: pinned to its CPUs, unless HPZ_TEAM_UNPINNED */
    uint32_t knee[4]; /* by enum hpz_verb: how many of them a job was last seen to profit from.
                         0: not measured, or longer ago than the 60 s for which that is trusted */
  } node[64];
};

/* clang-format off */
#define HPZ_TEAM_INFO_INIT \
  { sizeof(struct hpz_team_info), 0, 0, 0, 0, {{0, 0, {0, 0, 0, 0}}} }
/* clang-format on */

/* Creates a team. Its workers are started before the call returns, so that no later mmap of a
 * thread's stack waits behind a populate; they sleep until there is a job. Each is pinned inside
 * the CPUs of one node and the allowed ones. Where pinning is refused they run unpinned, where
 * threads cannot be created there are fewer, down to none: the calling thread then does the jobs.
 * hpz_team_info_get tells. (libhwloc, which is asked for the first team, may print one line to
 * stderr where the kernel's tables contradict each other; HWLOC_HIDE_ERRORS=2 silences it.)
 *
 * Result: -EINVAL: a struct or flags that this version does not know, more than 16384 threads, cpus
 * that is no list of CPUs or holds none that may be used. -ENOMEM. Since 0.1.0. */
HPZ_API int hpz_team_create(const struct hpz_team_options *options,
                            struct hpz_team **out) HPZ_NOEXCEPT;

/* Cancels the jobs that run on the team (their calls return -ECANCELED), waits for them and for the
 * workers, and frees the team. No call may begin with it afterwards. NULL does nothing. From the
 * progress callback of a job on this team it only cancels; the rest happens when the last job's
 * call returns. Since 0.1.0. */
HPZ_API void hpz_team_destroy(struct hpz_team *team) HPZ_NOEXCEPT;

/* Describes the team. Result: -EINVAL team or out NULL, or out->size too small to hold size itself
 * or more than 4 KiB; -ECHILD. Since 0.1.0. */
HPZ_API int hpz_team_info_get(const struct hpz_team *team, struct hpz_team_info *out) HPZ_NOEXCEPT;

/* For the host's own SIGBUS or SIGSEGV handler; the library installs none. Call it first thing with
 * the handler's second and third argument. If the fault happened in this thread inside a job and
 * its address lies in the bytes that the job was clearing, the fault is the job's: *ucontext is
 * changed so that returning from the handler ends the chunk, and the job returns the error and what
 * is surely done. The handler must then return at once: it must not leave a job by siglongjmp, then
 * or after a result of 0.
 *
 *   static void on_fault(int signal, siginfo_t *info, void *context) {   // of SIGBUS and SIGSEGV,
 *     if (hpz_fault_claim(info, context)) return;                        // with SA_SIGINFO
 *     ...
 *   }
 *
 * On a worker it runs on that thread's stack of 256 KiB; workers have no alternate one. Not told
 * apart from the job's own is a fault of another handler of the host that has interrupted the job
 * on this thread and itself stores to bytes that the job was clearing.
 *
 * The job's error: -EHWPOISON for a poisoned page (BUS_MCEERR_AR), else -EFAULT: unmapped,
 * truncated, or a shortage of huge pages, which a signal does not tell apart.
 *
 * Result: 1 the fault was the job's, return from the handler; 0 it was not, or this CPU's registers
 * are not known to the library (x86-64 and arm64 are): nothing changed, go on as without us.
 * Thread rule: any thread, async-signal-safe. Since 0.1.0. */
HPZ_API int hpz_fault_claim(const void *siginfo, void *ucontext) HPZ_NOEXCEPT;

HPZ_EXTERN_C_END

#endif
