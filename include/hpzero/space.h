/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A space: memory as one run of offsets, and what can be done to it, by a team or by the calling
 * thread alone.
 *
 *   verb      memory                      who clears                  afterwards
 *   zero      of any history              our kernels (files: see     reads zero
 *                                         hpz_space_file)
 *   populate  freshly mapped              the kernel, at its fault    resident; content as the
 *                                                                     mapping has it
 *   reset     used before, maybe sparse   our kernels, resident       reads zero; what was never
 *                                         pages alone                 touched stays untouched
 *   release   no longer needed            nobody                      reads zero, not resident
 *
 * Rules for all four:
 *  - (extents, count) names bytes by offset; (NULL, 0) is the whole space, another pointer with
 *    count 0 nothing: beware of empty lists whose pointer is NULL. Extents may come in any order,
 *    adjacent and overlapping ones are merged. Exactly these bytes are meant.
 *  - team NULL: the calling thread alone. options NULL: defaults. report NULL: none wanted.
 *    Options and reports begin with their INIT macro: a report's size says how much is written (at
 *    most 4 KiB, else -EINVAL). It is left as it was when the result is -EINVAL or -ECHILD, unless
 *    a custom space's callback said so.
 *  - The job is cut into chunks at page boundaries; a chunk is done when its stores are fenced.
 *    Chunks are worked on by the team's threads of the node that owns the memory, by those of
 *    others when these have nothing left to do.
 *  - Between chunks: progress, cancel, deadline. What these leave undone is untouched or, in the
 *    chunks in work, done: the call returns when those are, with smaller chunk_bytes sooner.
 *  - The first error stops the job. The report then tells how many bytes are done, exactly, and
 *    the lowest offset that failed; bytes that were not begun are untouched. Which chunks are done
 *    it does not tell: do the job again. (Of memory that is not mapped, or not for writing, reset
 *    and release do nothing at all.)
 *  - Result: 0, or
 *      -EINVAL      space NULL, extents NULL with a count, an extent beyond the end (also of
 *                   length 0) or wrapping; options, or a report's size, that this version does not
 *                   know; populate: no such node, or none that this thread may use. Nothing was
 *                   done.
 *      -ECHILD      the team was created in another process. Nothing was done.
 *      -ENOMEM      no memory for the job's own lists (nothing was done), or a shortage of memory
 *                   or huge pages for populate, reset, and release at the edges of pages: by pool,
 *                   cgroup or mount limit
 *      -ECANCELED   *cancel was set, progress returned non-zero, or the team was destroyed, before
 *                   all was done
 *      -ETIMEDOUT   the deadline passed before all was done
 *      -EFAULT      not mapped, or past the end of the mapped file. (Also a shortage of huge pages
 *                   where the kernel does not let us exclude the latter.)
 *      -EACCES      populate, reset, release: mapped without write permission
 *      -EHWPOISON   a poisoned page
 *      -EOPNOTSUPP  release: this kind of mapping cannot be given back exactly
 *                   (files: also populate where the file can neither be mapped nor allocated)
 *      -EPERM       release: the mapped file is sealed against it, or a sandbox refuses; files: any
 *                   verb that writes, once the file is sealed
 *      -ENOSPC, -EIO  files: no blocks left; the device failed
 *      -EPROTO      custom spaces: a callback answered what makes no sense
 *    and whatever else madvise says of the memory, or a callback of a custom space. (Before Linux
 *    5.14 populate and reset cannot tell poison from shortage.)
 *  - A small job (under 1 MiB, or on one node of one chunk) runs on the calling thread.
 *  - zero of mapped memory takes a fault as memset does: by a signal, unless the host's handler
 *    calls hpz_fault_claim. The other verbs return it, barring a change of the mapping while they
 *    run.
 *  - Thread rule: any thread, several at once, also on one space; not async-signal-safe. Of what
 *    others write meanwhile some may be lost and some kept. Mappings must stay for the call. A
 *    callback must return: neither longjmp nor an exception may leave it. In a child that it forks
 *    the call returns -ECHILD, or goes on if it runs on the calling thread.
 *
 * System calls of the thread that works on a chunk, besides those of team.h:
 *   zero: brk getcpu get_mempolicy mmap move_pages munmap set_mempolicy
 *   populate: brk close futex getcpu get_mempolicy ioctl madvise memfd_create mincore mmap
 *     move_pages munmap newfstatat openat pread64 read set_mempolicy
 *   reset: brk close futex getcpu get_mempolicy ioctl madvise memfd_create mincore mmap move_pages
 *     munmap newfstatat openat pread64 read set_mempolicy
 *   release: brk close futex getcpu ioctl madvise memfd_create mincore mmap move_pages munmap
 *     newfstatat openat pread64 read
 * Of the calling thread:
 *   calling: brk clock_gettime close futex getcpu getpid get_mempolicy ioctl madvise memfd_create
 *     mincore mmap move_pages munmap newfstatat openat pread64 read set_mempolicy
 * brk, mmap and munmap are malloc's; ioctl is PAGEMAP_SCAN and PROCMAP_QUERY; memfd_create (whose
 * file is closed at once) tells which file system is that of private huge pages; move_pages and
 * set_mempolicy are made where there are several nodes, get_mempolicy once in each job otherwise.
 */
#ifndef HPZERO_SPACE_H
#define HPZERO_SPACE_H

#include <hpzero/team.h>
#include <hpzero/version.h>

HPZ_EXTERN_C_BEGIN

struct hpz_space; /* opaque */

struct hpz_range {
  void *base;
  size_t len; /* bytes */
};

struct hpz_extent {
  uint64_t offset; /* bytes from the beginning of the space */
  uint64_t len;    /* bytes */
};

/* Any field but size that is 0 means its default. Since 0.1.0. */
struct hpz_space_options {
  size_t size;           /* of this struct, filled by HPZ_SPACE_OPTIONS_INIT */
  uint32_t flags;        /* HPZ_SPACE_*, hpz_space_direct: 0 */
  uint32_t reserved;     /* 0 */
  uint64_t page_bytes;   /* hpz_space_direct: page size of the mappings, a power of two of at least
                            4096, for chunk boundaries alone: a wrong one costs speed, never bytes.
                            0: found out. hpz_space_file: 0, its pages are the file's own */
  uint64_t window_bytes; /* hpz_space_file: map at most so much at a time for each thread, rounded
                            up to the file's pages. 0: all of it, once, if the address space allows,
                            else 64 MiB at a time. hpz_space_direct: 0 */
};

#define HPZ_SPACE_OPTIONS_INIT \
  { sizeof(struct hpz_space_options), 0, 0, 0, 0 }

/* hpz_space_options.flags of hpz_space_file: zero may release the file's blocks, by punching holes,
 * instead of writing to them. Since 0.1.0. */
#define HPZ_SPACE_PUNCH UINT32_C(0x1)

/* hpz_space_options.flags of hpz_space_file: zero gives holes their blocks, by writing to them,
 * where it else leaves them alone. Not together with HPZ_SPACE_PUNCH. Since 0.1.0. */
#define HPZ_SPACE_ALLOCATE UINT32_C(0x2)

/* Fill it by HPZ_JOB_OPTIONS_INIT, for node has another default than 0. Since 0.1.0. */
struct hpz_job_options {
  size_t size;          /* of this struct, filled by HPZ_JOB_OPTIONS_INIT */
  uint64_t chunk_bytes; /* 0: 32 MiB, less for small jobs. Rounded up to whole pages of the mapping
                           (zero: of 2 MiB where they are larger), to a power of two below 2 MiB,
                           and for huge jobs up to a millionth of them */
  uint32_t threads;     /* at most so many; 0: as many as still raise the rate */
  uint32_t flags;       /* none yet: 0 */
  int32_t node;         /* populate: place the pages on this node: huge ones there or nowhere
                           (-ENOMEM), others where there is room (HPZ_JOB_NO_PLACEMENT tells). A
                           policy that the mapping itself has wins. -1: by the mapping's policy,
                           else by the calling thread's, else on the calling thread's node. No
                           matter to other verbs */
  uint32_t reserved;    /* 0 */
  /* Called on the calling thread, at most once for each chunk and once at the end; a result other
   * than 0 cancels. It may use the library, and other jobs of the team. */
  int (*progress)(void *user, uint64_t done_bytes, uint64_t total_bytes);
  void *user;
  const uint32_t *cancel; /* the job ends when this is not 0; read atomically */
  uint64_t deadline_ns;   /* the job ends at this time of CLOCK_MONOTONIC */
  const void *touch_next; /* zero, reset: what the calling thread reads next: cleared last, by the
                             calling thread, and left in its cache. Elsewhere: no matter */
};

#define HPZ_JOB_OPTIONS_INIT \
  { sizeof(struct hpz_job_options), 0, 0, 0, -1, 0, NULL, NULL, NULL, 0, NULL }

/* Since 0.1.0. */
struct hpz_job_report {
  size_t size;              /* of this struct, filled by HPZ_JOB_REPORT_INIT */
  uint64_t done_bytes;      /* of which the verb's promise holds: the sum of the next three (for
                               release: cleared at the edges, or given back) */
  uint64_t cleared_bytes;   /* written with zero by our kernels */
  uint64_t populated_bytes; /* made resident, or found so */
  uint64_t skipped_bytes;   /* not written by our kernels: proven or (map.h) known to be zero, given
                               back, zeroed or written by the file system */
  uint64_t local_bytes;     /* worked on by a CPU of the memory's node, */
  uint64_t remote_bytes;    /* by a CPU of another one: as far as the kernel tells, by samples of up
                               to 16 pages for each chunk; all local where there is one node. What
                               is skipped or given back is neither */
  uint64_t wall_ns;         /* of the call */
  uint64_t cpu_ns;          /* of all threads together */
  uint64_t first_bad_offset; /* UINT64_MAX: no offset failed */
  int32_t error;             /* the call's result */
  uint32_t threads;          /* that worked on it at the same time, at most */
  uint32_t flags;            /* HPZ_JOB_* */
  uint32_t reserved;
};

#define HPZ_JOB_REPORT_INIT \
  { sizeof(struct hpz_job_report), 0, 0, 0, 0, 0, 0, 0, 0, UINT64_MAX, 0, 0, 0, 0 }

/* hpz_job_report.flags: where pages lie could not be asked or was not as chosen, placement is best
 * effort. Since 0.1.0. */
#define HPZ_JOB_NO_PLACEMENT UINT32_C(0x1)

/* hpz_job_report.flags: reset could prove nothing and cleared all. Since 0.1.0. */
#define HPZ_JOB_NO_PROOF UINT32_C(0x2)

/* A space of memory that is mapped: the ranges in this order, as one run of offsets that begins at
 * 0. Any alignment; ranges of length 0 count for nothing. The list is copied; the mappings remain
 * the caller's. Destroy the space before they go.
 *
 * Result: 0; -EINVAL: a struct, flags or page_bytes that this version does not know, a range that
 * wraps around the address space or begins at NULL, ranges that overlap, pointers with something in
 * their top byte; -ENOMEM. Since 0.1.0. */
HPZ_API int hpz_space_direct(const struct hpz_range *ranges, size_t count,
                             const struct hpz_space_options *options,
                             struct hpz_space **out) HPZ_NOEXCEPT;

/* A space of len bytes of a file from this offset on, of any alignment: memfd, hugetlbfs, tmpfs, a
 * file system on a disk, a block device, DAX. The descriptor is duplicated; whoever else holds it,
 * or maps the file, sees what the verbs do. The file keeps its size and the descriptor its offset
 * whatever happens, and nothing outside of the range changes. (Destroying a space closes its
 * descriptors; a process that closes any of a file's loses its fcntl(F_SETLK) locks of that file.)
 *
 * The file is mapped once, for as long as the space lasts, or by windows (window_bytes); pages are
 * the file's own. Where it cannot be mapped, zero is written to it. The verbs:
 *   zero      what the file has is cleared through the mapping, or without one: on ext4, xfs and
 *             btrfs by FALLOC_FL_ZERO_RANGE, with HPZ_SPACE_PUNCH there, on tmpfs and hugetlbfs by
 *             FALLOC_FL_PUNCH_HOLE. Holes stay holes, unless HPZ_SPACE_ALLOCATE. A shortage (of
 *             memory, huge pages, blocks) is -ENOMEM or -ENOSPC here, not a signal
 *   populate  blocks and pages, for holes too (where it cannot be mapped, blocks alone)
 *   reset     as zero, and holes stay holes whatever the flags
 *   release   whole pages by FALLOC_FL_PUNCH_HOLE; what an extent holds of a page in part is
 *             cleared. -EOPNOTSUPP or -EPERM, before anything is done, where there is no such call
 * Only whole pages are left to the file system, and what it says to have zeroed is looked at again:
 * some kernels leave what is no whole huge page as it was; then it is cleared. What is a hole
 * SEEK_HOLE tells, and it is believed on tmpfs, ext4, xfs and btrfs alone: hugetlbfs calls
 * everything data, others may call data a hole. Asking it takes a description of the file of our
 * own, opened through /proc when the space is made; without one every byte is written, and reset
 * says HPZ_JOB_NO_PROOF.
 *
 * A file that is truncated meanwhile: -EFAULT where that is seen before a chunk (the file's end is
 * the first bad offset), otherwise a fault like any other. Memory that a device has pinned (VFIO)
 * must be neither released nor punched.
 *
 * On tmpfs a hole that is read through a mapping is none any more.
 *
 * System calls: of the verbs besides those above, when it is made, and when it is destroyed:
 *   a file: faccessat2 fallocate fcntl fstat lseek madvise mincore mmap munmap newfstatat pread64
 *     pwritev
 *   hpz_space_file: brk close fcntl fstat fstatfs ioctl madvise mmap munmap newfstatat openat read
 *   a file's end: brk close munmap
 *
 * Result: 0; -EINVAL: a struct, flags or page_bytes that this version does not know, a range that
 * wraps or ends beyond the end of the file; -EBADF: no such descriptor, or O_PATH; -EACCES: not
 * open for reading and writing; -EPERM: open for appending, or sealed against writing; -EISDIR;
 * -ESPIPE: a pipe or socket; -ENODEV: a device that cannot be mapped; -ENOMEM; -EMFILE. Since
 * 0.1.0. */
HPZ_API int hpz_space_file(int fd, uint64_t offset, uint64_t len,
                           const struct hpz_space_options *options,
                           struct hpz_space **out) HPZ_NOEXCEPT;

/* hpz_space_ops.flags: one call of map may be for several pages. Since 0.1.0. */
#define HPZ_SPACE_OPS_CONTIGUOUS UINT32_C(0x1)

/* How the memory of a custom space is reached: a kernel port's kmap_local, an IOMMU window, another
 * address space. Fill it by HPZ_SPACE_OPS_INIT.
 *  - Offsets and lengths are bytes and multiples of page_bytes; the last page ends where the space
 *    does, if that is in the middle of it.
 *  - Callbacks return 0 or a negative errno value, which ends the job with that result; another
 *    number is -EIO. The first bad offset is then that of the first byte that the call was for (of
 *    the job's, which may begin behind the call's offset), and what that call did is not counted.
 *  - Several threads of a team call them at once, and the calling thread does. They may use the
 *    library on other memory, without a team, must return (neither longjmp nor an exception), and a
 *    fault of their own is never claimed by hpz_fault_claim.
 *  - No two threads of a job have the same page at the same time. Since 0.1.0. */
struct hpz_space_ops {
  size_t size;           /* of this struct, filled by HPZ_SPACE_OPS_INIT */
  uint64_t len;          /* of the space, bytes */
  uint64_t page_bytes;   /* a power of two of at least 4096; 0: 4096 */
  uint64_t window_bytes; /* HPZ_SPACE_OPS_CONTIGUOUS: at most so much in one call of map, a multiple
                            of page_bytes; 0: 64 MiB, or one page if that is more. (Nor more than
                            a chunk of the job.) Otherwise 0: one page */
  uint32_t flags;        /* HPZ_SPACE_OPS_* */
  uint32_t most_maps;    /* that a thread may hold at a time; no more than 64 are ever used; 0: 1 */
  /* Required: makes [offset, offset + len) addressable at *out, a multiple of 4096, for the calling
   * thread, to be read and written; it is also the one that unmaps it. Where it holds several it
   * maps them in the order of their offsets, clears them as a batch, and unmaps the last one first.
   * All that is mapped is unmapped, whatever happens, but for a call that failed; what is no such
   * address (NULL) is unmapped and ends the job with -EFAULT. A fault there, of zero, reset or
   * release, is a signal, which hpz_fault_claim makes the job's error. */
  int (*map)(void *context, uint64_t offset, uint64_t len, void **out);
  void (*unmap)(void *context, uint64_t offset, uint64_t len, void *at);
  /* Makes whole pages resident. NULL: populate maps them and touches them by system calls. */
  int (*populate)(void *context, uint64_t offset, uint64_t len);
  /* Gives whole pages back: they read zero afterwards. NULL: release is -EOPNOTSUPP. */
  int (*release)(void *context, uint64_t offset, uint64_t len);
  /* The first run of bytes at or behind offset, and before end, that may hold something else than
   * zero; it may begin before offset and reach beyond end. None: both are end, as they
   * are before the call. An answer that makes no sense (a run of no bytes, or behind its end) ends
   * the job with -EPROTO. NULL: reset clears all, and says HPZ_JOB_NO_PROOF. */
  int (*find_used)(void *context, uint64_t offset, uint64_t end, uint64_t *used_begin,
                   uint64_t *used_end);
};

#define HPZ_SPACE_OPS_INIT \
  { sizeof(struct hpz_space_ops), 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL }

/* A space of memory that the caller reaches by callbacks. The struct is copied, context is handed
 * to each call. Where the memory lies nobody knows: any thread of a team works on any part of it,
 * and touch_next is no matter.
 *
 * Result: 0; -EINVAL: ops NULL, a size or flag that this version does not know, map or unmap NULL,
 * len 0 or above 2^63, page_bytes or window_bytes as they must not be; -ENOMEM. Since 0.1.0. */
HPZ_API int hpz_space_custom(const struct hpz_space_ops *ops, void *context,
                             struct hpz_space **out) HPZ_NOEXCEPT;

/* Frees the space; the memory is untouched. NULL does nothing. No verb may be at work on it. Since
 * 0.1.0. */
HPZ_API void hpz_space_destroy(struct hpz_space *space) HPZ_NOEXCEPT;

/* Clears every byte, past the caches. Since 0.1.0. */
HPZ_API int hpz_space_zero(struct hpz_space *space, struct hpz_team *team,
                           const struct hpz_extent *extents, size_t count,
                           const struct hpz_job_options *options,
                           struct hpz_job_report *report) HPZ_NOEXCEPT;

/* Makes every page resident and writable, of the size that the mapping gives (for transparent huge
 * pages madvise(MADV_HUGEPAGE) first), and the errors of doing so into results where a touch would
 * get SIGBUS. A fresh page is cleared by the kernel and never again by us; one that is resident
 * keeps its content. Pages that the extents touch in part are populated whole. Chunks are never
 * worked on by another node's threads, for who touches decides where a page lies, unless a policy
 * interleaves it. MADV_POPULATE_WRITE (Linux 5.14); before that a touch by futex(FUTEX_WAKE_OP),
 * which returns what would have been a signal. Since 0.1.0. */
HPZ_API int hpz_space_populate(struct hpz_space *space, struct hpz_team *team,
                               const struct hpz_extent *extents, size_t count,
                               const struct hpz_job_options *options,
                               struct hpz_job_report *report) HPZ_NOEXCEPT;

/* Makes every byte read zero, and leaves alone what is proven to: pages of private anonymous
 * mappings that are absent and not swapped, or are the shared zero page. Proof comes from the
 * process's pagemap (PAGEMAP_SCAN from Linux 6.7 on, which alone proves zero pages and huge pages)
 * and is never taken for mappings registered with userfaultfd. Without it everything is cleared.
 * (Private huge pages that fork has shared and the other process has written to meanwhile are
 * absent here, and a fault to read where the pool is empty.)
 *
 * Needs /proc inside of a sandbox, and a dumpable process (after setuid:
 * prctl(PR_SET_DUMPABLE, 1)); else HPZ_JOB_NO_PROOF. Asking costs: for userfaultfd smaps alone
 * tells, which walks the page tables of all mappings below the space, some 15 ms for each GiB of
 * resident 4 KiB pages there. Since 0.1.0. */
HPZ_API int hpz_space_reset(struct hpz_space *space, struct hpz_team *team,
                            const struct hpz_extent *extents, size_t count,
                            const struct hpz_job_options *options,
                            struct hpz_job_report *report) HPZ_NOEXCEPT;

/* Gives memory back: MADV_DONTNEED for private anonymous mappings, MADV_REMOVE for shared ones,
 * which punches a hole into the mapped file. Whole pages of the mapping are given back; what an
 * extent holds of a page in part is cleared. -EOPNOTSUPP, before anything is done: private mappings
 * of files, mappings registered with userfaultfd or locked in memory, devices; and everything where
 * /proc does not tell what is mapped. Asking costs as for reset.
 *
 * Guard pages (MADV_GUARD_INSTALL) stay what they are, and a poisoned page of a shared file stays a
 * fault to touch. Memory that a device has pinned (VFIO) is released all the same, and the device
 * keeps the old pages: release none of it. Since 0.1.0. */
HPZ_API int hpz_space_release(struct hpz_space *space, struct hpz_team *team,
                              const struct hpz_extent *extents, size_t count,
                              const struct hpz_job_options *options,
                              struct hpz_job_report *report) HPZ_NOEXCEPT;

HPZ_EXTERN_C_END

#endif
