/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A pool: pages that are zero before you ask.
 *
 *   state     what it is                                          becomes
 *   clean     reads zero, nobody has it                           taken (a hit)
 *   dirty     somebody has had it                                 busy, by a filler, by a taker (a
 *                                                                 miss), by hpz_pool_fill; taken,
 *                                                                 by who takes any content (a hit)
 *   busy      is being cleared                                    clean, or its taker's; dirty
 *                                                                 again if clearing stops, the part
 *                                                                 that is done counts the next time
 *   taken     is a taker's                                        dirty, clean, or busy, when given
 *   poisoned  hardware memory error: never written, never handed out
 *
 * Each NUMA node has lists of its own, and a filler: a thread pinned to the node's CPUs that clears
 * dirty pages in the background. It works by chunks of a 64th of a page, at least 512 KiB and at
 * most 16 MiB, and at the end of a chunk it stops where it is switched off or a taker of its node
 * clears: one thread can fill the path to the memory. Then it helps the taker with its chunks; or
 * rests, if it is of the idle class, in which it might keep the taker waiting. A page that it has
 * begun stays takeable: whoever takes it early waits for the chunk in work and clears the rest.
 *
 * What a page is: page_bytes of memory at a multiple of it; in a pool with HPZ_POOL_EXPORT a whole
 * slab of slab_bytes. Counts of pages count these.
 *
 * Sharing. Whoever holds the descriptor of a file can map and write all of it, before and after. So
 * pages of an ordinary pool carry none (fd -1). With HPZ_POOL_EXPORT each slab is a file of its own
 * that begins at offset 0 (a memfd, sealed against changes of its size; of a mount a file without
 * seals, which its holders can shrink), and is taken and given whole. A slab that comes back is
 * dropped: its file is closed and never handed out again, a new one takes its place, cleared by the
 * kernel; unless the giver asserts HPZ_GIVE_SOLE_OWNER.
 *
 * Rules for all calls, where a declaration says nothing else:
 *  - Result: 0, or a negative errno value; -EINVAL for a NULL pool, a struct, flags or node that
 *    this version or this pool does not know; -ECHILD in another process than the one that created
 *    the pool (a child of fork has neither its memory nor its fillers). Counters are exact after
 *    any result.
 *  - node: as the kernel numbers them (hpz_pool_nodes_get: those that the pool has); -1: any, or
 *    all of them.
 *  - Thread rule: any thread, several at once; not async-signal-safe. The locks that takers and
 *    givers meet are of a node, and held for operations on lists alone; calls of hpz_pool_resize
 *    wait for each other. The calling thread's affinity, memory policy, priority, signal
 *    mask and handlers are after the call as before it.
 *  - Memory that is handed out reads zero, unless the taker said that any content will do. Nobody
 *    may touch a page that is not taken, and no other than its taker one that is.
 *  - A fault while memory is cleared (possible where it is the caller's, or poisoned) is a signal,
 *    as with memset; if the host's handler gives it to hpz_fault_claim, the page becomes poisoned,
 *    and the taker gets another one.
 *  - After SIGKILL nothing stays behind: all files are without a name.
 *
 * System calls, for sandboxes; a test compares these lists with what is made. Each call may make
 * those of the first line: for locks and who sleeps, for a filler that is in the way, for events,
 * and where the C library has no faster clock. A hit makes none if there is none of that, and a
 * miss clears without any: hpz_pool_take makes its own only where it leaves a page that the pool,
 * which has shrunk meanwhile, does not keep.
 *   every call: clock_gettime futex getcpu getpid sched_setscheduler write
 *   hpz_pool_take: brk close madvise mincore munmap
 *   hpz_pool_give: brk close madvise mincore munmap
 *   hpz_pool_fill: brk close madvise mincore munmap
 *   hpz_pool_destroy: brk close madvise munmap
 *   hpz_pool_set_filling: clone clone3 mmap mprotect munmap rt_sigaction rt_sigprocmask
 *     sched_setaffinity
 *   hpz_pool_event_fd: brk close eventfd2 fcntl
 *   hpz_pool_event_rearm: preadv2 read
 *   a filler's start: gettid mmap mprotect munmap prctl rseq rt_sigprocmask sched_getscheduler
 *     set_robust_list
 *   a filler's end: exit madvise munmap rt_sigprocmask
 * Whoever makes memory also makes these, and those that space.h names calling and populate:
 * hpz_pool_resize, hpz_pool_create, and in an export pool who gets a dropped slab a new file:
 * hpz_pool_take, hpz_pool_give with HPZ_GIVE_CLEAR, hpz_pool_fill, a filler.
 *   memory: brk close fcntl fstatfs ftruncate ioctl madvise memfd_create mincore mmap munmap openat
 *     read unlink
 * hpz_pool_create also looks at the machine, as hpz_team_create does in team.h, starts fillers, and
 * asks what a mount is:
 *   hpz_pool_create: clone clone3 statfs
 */
#ifndef HPZERO_POOL_H
#define HPZERO_POOL_H

#include <hpzero/team.h>
#include <hpzero/version.h>

HPZ_EXTERN_C_BEGIN

struct hpz_pool; /* opaque */

/* hpz_pool_options.flags. Since 0.1.0. The first two, and a range of the caller's, exclude each
 * other; without any of them pages are huge pages of the kernel's pool (hugetlb).
 *   THP         private memory with MADV_HUGEPAGE
 *   PLAIN       shared memory of the system's page size
 *   FALL_BACK   short of huge pages: as THP, which may come to be pages of the system's size where
 *               there are none of these either: hpz_pool_stats tells. Not with EXPORT or a mount
 *   EXPORT      whole slabs, each a file (hugetlb or PLAIN)
 *   IDLE        fillers run at SCHED_IDLE. A taker that waits for one lifts it out of that class,
 *               which the kernel allows where RLIMIT_NICE is 20 or more, or to CAP_SYS_NICE. Else
 *               (HPZ_POOL_NO_LIFT) such a wait, for one chunk, takes 10 ms beside a busy thread
 *   NO_FILLING  no threads, until hpz_pool_set_filling asks for one
 *   EMPTY       no pages, until hpz_pool_resize asks for some
 *   ZEROED      the caller's range reads zero as it is */
#define HPZ_POOL_THP UINT32_C(0x1)
#define HPZ_POOL_PLAIN UINT32_C(0x2)
#define HPZ_POOL_FALL_BACK UINT32_C(0x4)
#define HPZ_POOL_EXPORT UINT32_C(0x8)
#define HPZ_POOL_IDLE UINT32_C(0x10)
#define HPZ_POOL_NO_FILLING UINT32_C(0x20)
#define HPZ_POOL_EMPTY UINT32_C(0x40)
#define HPZ_POOL_ZEROED UINT32_C(0x80)

/* Any field but size that is 0 or NULL means its default. Since 0.1.0. */
struct hpz_pool_options {
  size_t size;               /* of this struct, filled by HPZ_POOL_OPTIONS_INIT */
  uint64_t page_bytes;       /* a power of two. hugetlb: a size that the kernel has pages of; else a
                              multiple of the system's. 0: 2 MiB, or what the mount has */
  uint64_t pages_per_node;   /* 0: 64 MiB of them, one at least. A range has what it has: 0 */
  uint64_t slab_bytes;       /* a multiple of page_bytes. EXPORT: what is taken and given; 0:
                              page_bytes. Else: memory is mapped by so much; 0: at once */
  uint32_t flags;            /* HPZ_POOL_* */
  uint32_t reserved;         /* 0 */
  const char *cpus;          /* CPUs for fillers, as "0-3,8": those of them that the calling thread
                              may use. NULL: all that it may use. A node without such a CPU is
                              served from the nearest that has one */
  uint64_t fill_bytes_per_s; /* each filler clears at most so much, for takers, too; what these
                                clear is not counted; 0: no limit */
  void *base;                /* memory that the caller owns and keeps mapped, at a multiple of */
  uint64_t len;              /* ... page_bytes, and as long; NULL: none. It is populated, and dirty
                                at first unless HPZ_POOL_ZEROED */
  uint64_t leave_pages;      /* hugetlb: so many pages of this size stay free on each node, for
                                others, as far as /sys tells: -EDQUOT where fewer would, and
                                no dropped slab is renewed. (Others may take them at any time: it
                                is looked before and after.) */
  uint64_t most_pages_per_node; /* -EDQUOT beyond; 0: no limit. Not of a range */
  const char *mount;            /* a folder of a hugetlbfs mount to take pages from; NULL: none */
  struct hpz_team *team; /* populates, when the pool is created and when it grows; it must live as
                            long. NULL: the calling thread does */
};

#define HPZ_POOL_OPTIONS_INIT \
  { sizeof(struct hpz_pool_options), 0, 0, 0, 0, 0, NULL, 0, NULL, 0, 0, 0, NULL, NULL }

/* Creates a pool. On each node that has memory which the calling thread may use, pages_per_node are
 * mapped and populated by hpz_space_populate: there, not reserved, so that shortage is an error
 * here and never a signal later, and they are clean. Memory is MAP_SHARED, but for HPZ_POOL_THP,
 * and MADV_DONTFORK. A filler that cannot be started is none (HPZ_POOL_FEWER).
 *
 * Result: -EINVAL: sizes that are no powers of two, no multiples or too small, a size of huge pages
 * that the kernel does not have, a mount of another kind or size, flags that do not go together, a
 * range that wraps or is not aligned, cpus as of hpz_team_create, 2^32 pages or more;
 * -ENOMEM: no memory, or not as many huge pages; -EDQUOT: leave_pages, most_pages_per_node;
 * -EMFILE: no descriptors left; -EACCES, -ENOENT: of the mount, also later; -EFAULT, -EACCES,
 * -EHWPOISON: the range is not mapped, not for writing, poisoned; -ECHILD: the team is another
 * process's. There is no pool then, and nothing is kept. Since 0.1.0. */
HPZ_API int hpz_pool_create(const struct hpz_pool_options *options,
                            struct hpz_pool **out) HPZ_NOEXCEPT;

/* Stops the fillers, within a chunk each, and gives all memory back to the kernel, that of taken
 * pages, too (not a caller's range, of course). No other call may be at work on the pool. In a
 * child it frees the child's copy of the handle. NULL does nothing. Since 0.1.0. */
HPZ_API void hpz_pool_destroy(struct hpz_pool *pool) HPZ_NOEXCEPT;

/* hpz_take_options.flags. Since 0.1.0.
 *   CLEAN_ONLY   a hit, or -EAGAIN
 *   ANY_CONTENT  the taker overwrites all of it before anybody reads: a dirty page will do, and is
 *                a hit
 *   STRICT       of this node or none; else it is the preferred one
 *   AWAIT        where there is none, or not as many as are wanted, waits until some are given or
 *                become clean, at most until the deadline, which must be there */
#define HPZ_TAKE_CLEAN_ONLY UINT32_C(0x1)
#define HPZ_TAKE_ANY_CONTENT UINT32_C(0x2)
#define HPZ_TAKE_STRICT UINT32_C(0x4)
#define HPZ_TAKE_AWAIT UINT32_C(0x8)

/* Fill it by HPZ_TAKE_OPTIONS_INIT, for node has another default than 0. Since 0.1.0. */
struct hpz_take_options {
  size_t size;          /* of this struct, filled by HPZ_TAKE_OPTIONS_INIT */
  int32_t node;         /* -1: any; the calling thread's is looked at first, then the nearest */
  uint32_t flags;       /* HPZ_TAKE_* */
  uint64_t deadline_ns; /* of CLOCK_MONOTONIC, looked at between chunks; 0: none. A hit is had
                           whatever the time */
};

#define HPZ_TAKE_OPTIONS_INIT \
  { sizeof(struct hpz_take_options), -1, 0, 0 }

/* How a page was had: hpz_page.outcome. Since 0.1.0. */
enum hpz_take_outcome HPZ_ENUM_BASE {
  HPZ_TAKE_HIT = 0,  /* it was clean */
  HPZ_TAKE_MISS = 1, /* the taker has cleared it */
  HPZ_TAKE_WAIT = 2  /* somebody was at it; the taker has waited, and cleared the rest */
};

/* A page that is taken. What the taker gets is what the giver gives back. Since 0.1.0. */
struct hpz_page {
  size_t size;      /* of this struct, filled by HPZ_PAGE_INIT */
  void *base;       /* where the pool has it mapped */
  uint64_t len;     /* bytes */
  uint64_t offset;  /* of it in fd; 0 */
  uint64_t ticket;  /* of this taking: tells stale and double gives */
  int32_t node;     /* on which it lies; 0 where there is only one */
  int32_t fd;       /* HPZ_POOL_EXPORT: the slab's file (O_CLOEXEC), the pool's to close: duplicate
                      what is to live longer, or through exec. Else -1 */
  uint32_t outcome; /* enum hpz_take_outcome */
  uint32_t reserved;
};

#define HPZ_PAGE_INIT \
  { sizeof(struct hpz_page), NULL, 0, 0, 0, -1, -1, 0, 0 }

/* Takes count pages: clean ones, else dirty ones, which the calling thread clears, else busy ones,
 * which it helps to clear; of the preferred node a dirty one rather than a clean one of another.
 * The size of out[0] is that of all; the others are filled in. options NULL: defaults.
 *
 * Result: how many were taken, which is less than count where something kept the next one from it;
 * if that is none: -ENOMEM: no page is left that is not taken, or a dropped slab has no huge page
 * to be renewed with; -EAGAIN: HPZ_TAKE_CLEAN_ONLY, and none is; -ETIMEDOUT; -EMFILE: no descriptor
 * for a slab's new file; -EINVAL: out NULL with a count, a count over 2^31 - 1, HPZ_TAKE_STRICT
 * without a node, HPZ_TAKE_AWAIT without a deadline. Since 0.1.0. */
HPZ_API int hpz_pool_take(struct hpz_pool *pool, const struct hpz_take_options *options,
                          struct hpz_page *out, size_t count) HPZ_NOEXCEPT;

/* flags of hpz_pool_give; none of the first two makes the page dirty. Since 0.1.0.
 *   CLEAR       cleared now, in the calling thread: clean
 *   UNWRITTEN   nobody has written to it: clean, if it read zero when it was taken
 *   SOLE_OWNER  HPZ_POOL_EXPORT: nobody else maps the slab, holds its file or does DMA to it: it is
 *               used again */
#define HPZ_GIVE_CLEAR UINT32_C(0x1)
#define HPZ_GIVE_UNWRITTEN UINT32_C(0x2)
#define HPZ_GIVE_SOLE_OWNER UINT32_C(0x4)

/* Gives pages back, of any takes and nodes. Each that can be given is, whatever becomes of others.
 *
 * Result: 0, or the first error: -EINVAL: no page of this pool, or flags that do not go together
 * (nothing is given then); -ESTALE: not taken under this ticket: given already, or given and taken
 * again. Since 0.1.0. */
HPZ_API int hpz_pool_give(struct hpz_pool *pool, const struct hpz_page *pages, size_t count,
                          uint32_t flags) HPZ_NOEXCEPT;

/* Clears up to so many dirty pages now, on the calling thread's time.
 *
 * Result: how many, at most 2^31 - 1; 0: none was dirty. -ENOMEM, -EMFILE as of hpz_pool_take.
 * Since 0.1.0. */
HPZ_API int hpz_pool_fill(struct hpz_pool *pool, int node, size_t pages) HPZ_NOEXCEPT;

/* Makes the node (-1: each) have so many pages, poisoned ones not counted. Growing, pages are
 * mapped and populated: all or nothing. Shrinking, dirty and clean ones are given back to the
 * kernel at once, those that are taken or being cleared when they come back. (The kernel takes no
 * locked memory back, mlockall: that stays until all pages that were mapped with it are to go.)
 *
 * Result: -EINVAL: 2^32 pages or more; -ENOMEM, -EDQUOT, -EMFILE as of hpz_pool_create;
 * -EOPNOTSUPP: the memory is the caller's.
 * The node then has as many pages as before; with node -1 those before it are done. Since 0.1.0. */
HPZ_API int hpz_pool_resize(struct hpz_pool *pool, int node, size_t pages) HPZ_NOEXCEPT;

/* The background switch. Off: the filler stops within a chunk; the call does not wait for it. On:
 * it goes on, and is started if there is none.
 *
 * Result: -EAGAIN, -ENOMEM: no thread to be had. Since 0.1.0. */
HPZ_API int hpz_pool_set_filling(struct hpz_pool *pool, int node, int on) HPZ_NOEXCEPT;

/* An eventfd (EFD_NONBLOCK, EFD_CLOEXEC) that becomes readable when the node has fewer clean pages
 * than that; with 0 when all its pages are clean or taken: at once if that is so now, else when it
 * comes to be so; once, until it is armed again. It is the caller's to close; the pool keeps a
 * duplicate until it is destroyed, or until it makes one that has the same number.
 *
 * Result: the descriptor; -EINVAL also for node -1 where the pool has several; -EMFILE, -ENFILE,
 * -ENOMEM. Since 0.1.0. */
HPZ_API int hpz_pool_event_fd(struct hpz_pool *pool, int node, size_t clean_below) HPZ_NOEXCEPT;

/* Makes it unreadable and arms it again, for the next time that its condition comes to hold.
 *
 * Result: 1: the condition holds at present; 0: it does not; -EBADF: no such descriptor of this
 * pool. Since 0.1.0. */
HPZ_API int hpz_pool_event_rearm(struct hpz_pool *pool, int event_fd) HPZ_NOEXCEPT;

/* Never clear or hand out this page again (a SIGBUS with BUS_MCEERR_AO or _AR names the address; to
 * be called elsewhere, for its handler may have interrupted who holds a lock). A page that is being
 * cleared is poisoned when those who are at it end their chunk, one that is taken when it is given.
 *
 * Result: -ENOENT: no page of the pool. Since 0.1.0. */
HPZ_API int hpz_pool_poison(struct hpz_pool *pool, const void *address) HPZ_NOEXCEPT;

/* hpz_pool_stats.backing: what the memory is. Since 0.1.0. */
enum hpz_pool_backing HPZ_ENUM_BASE {
  HPZ_BACKING_HUGETLB = 0,
  HPZ_BACKING_THP = 1,
  HPZ_BACKING_PLAIN = 2,
  HPZ_BACKING_RANGE = 3 /* the caller's */
};

/* hpz_pool_stats.flags. Since 0.1.0. */
#define HPZ_POOL_FEWER UINT32_C(0x1)         /* a filler could not be started */
#define HPZ_POOL_UNPINNED UINT32_C(0x2)      /* pinning one was refused */
#define HPZ_POOL_NO_LIFT UINT32_C(0x4)       /* it cannot be lifted out of SCHED_IDLE */
#define HPZ_POOL_NO_IDLE UINT32_C(0x8)       /* SCHED_IDLE was refused */
#define HPZ_POOL_NO_PLACEMENT UINT32_C(0x10) /* nobody tells or chooses where pages lie */
#define HPZ_POOL_FILLS UINT32_C(0x20)        /* the switch is on */

/* Of one node, or summed up. Begins with HPZ_POOL_STATS_INIT. Since 0.1.0. */
struct hpz_pool_stats {
  size_t size;    /* of this struct, filled by HPZ_POOL_STATS_INIT */
  uint64_t clean; /* pages, now: the first five add up to what there is */
  uint64_t dirty;
  uint64_t busy;
  uint64_t taken;
  uint64_t poisoned;
  uint64_t hits; /* takes, ever */
  uint64_t misses;
  uint64_t waits;
  uint64_t filled_bytes;        /* cleared by the filler, for takers, too, */
  uint64_t filler_cpu_ns;       /* ... all CPU time of its thread */
  uint64_t cleared_bytes;       /* by takers, givers and hpz_pool_fill */
  uint64_t renewed_bytes;       /* of dropped slabs, cleared by the kernel */
  uint64_t page_bytes;          /* of a page, or in an export pool of a slab */
  uint64_t obtained_page_bytes; /* the smallest size that the kernel is known to map it by */
  uint32_t backing;             /* enum hpz_pool_backing */
  uint32_t flags;               /* HPZ_POOL_FEWER and so on */
  struct {
    uint64_t min_ns, mean_ns, max_ns; /* from the call, or the page before, to the page; 0: none */
  } latency[3];                       /* by enum hpz_take_outcome */
};

/* clang-format off */
#define HPZ_POOL_STATS_INIT \
  { sizeof(struct hpz_pool_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
    {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}} }
/* clang-format on */

/* The nodes that the pool has, as the kernel numbers them, up to count of them. They do not change.
 *
 * Result: how many there are, which may be more than count; -EINVAL: nodes NULL with a count. Since
 * 0.1.0. */
HPZ_API int hpz_pool_nodes_get(struct hpz_pool *pool, int32_t *nodes, size_t count) HPZ_NOEXCEPT;

/* Counts of one moment for each node. Result: -EINVAL also for out NULL, or a size as of
 * hpz_team_info_get. Since 0.1.0. */
HPZ_API int hpz_pool_stats_get(struct hpz_pool *pool, int node,
                               struct hpz_pool_stats *out) HPZ_NOEXCEPT;

HPZ_EXTERN_C_END

#endif
