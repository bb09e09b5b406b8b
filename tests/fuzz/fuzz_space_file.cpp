// SPDX-License-Identifier: BSD-2-Clause
//
// Verbs on a space of a small file, with writes, holes and other lengths by somebody else in
// between, against a model of its content.
//
// Input: a byte that says how the file is reached, one where the space begins, then eight bytes a
// step: what, value, place (3 bytes), length (3 bytes).
#include <errno.h>
#include <fcntl.h>
#include <hpzero/hpzero.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "tests/fuzz/require.h"

namespace {

constexpr size_t kBytes = 80 * 1024, kPage = 4096;
constexpr off_t kPlace = 77;  // of the file's offset, which is the caller's
constexpr unsigned char kPoison = 0xA5;
int g_fd = -1;
size_t g_size;  // of the file, now
unsigned char g_model[kBytes], g_content[kBytes];

void write_file(size_t at, size_t len, unsigned char value) {
  memset(g_model + at, value, len);
  HPZ_REQUIRE(pwrite(g_fd, g_model + at, len, static_cast<off_t>(at)) == static_cast<ssize_t>(len));
}

void resize_file(size_t size) {
  HPZ_REQUIRE(ftruncate(g_fd, static_cast<off_t>(size)) == 0);
  if (size > g_size) memset(g_model + g_size, 0, size - g_size);
  g_size = size;
}

hpz_space *make_space(const uint8_t *input, size_t from) {
  hpz_space_options options = HPZ_SPACE_OPTIONS_INIT;
  constexpr uint32_t kFlags[] = {0, HPZ_SPACE_PUNCH, HPZ_SPACE_ALLOCATE, 0};
  options.flags = kFlags[input[0] & 3];
  options.window_bytes = uint64_t{input[0]} / 64 * 9000;
  hpz_space *space = nullptr;
  HPZ_REQUIRE(hpz_space_file(g_fd, from, kBytes - from, &options, &space) == 0);
  return space;
}

void run_verb(hpz_space *space, size_t from, const uint8_t *step, size_t at, size_t len) {
  const hpz_extent extent = {at, len};
  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.chunk_bytes = (step[0] & 0x40) != 0 ? kPage : 0;
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  int (*const verbs[])(hpz_space *, hpz_team *, const hpz_extent *, size_t, const hpz_job_options *,
                       hpz_job_report *) = {hpz_space_zero, hpz_space_reset, hpz_space_release,
                                            hpz_space_populate};
  const size_t verb = step[1] % 4;
  const int result = verbs[verb](space, nullptr, &extent, 1, &options, &report);
  const size_t begin = from + at, end = begin + len;
  if (end <= g_size || len == 0) {
    HPZ_REQUIRE(result == 0 && report.done_bytes == len);
  } else {
    // The chunk with the end in it, and all that follow, are left alone.
    HPZ_REQUIRE(result == -EFAULT);
    HPZ_REQUIRE(report.first_bad_offset == std::max(at, g_size - std::min(g_size, from)));
    HPZ_REQUIRE(report.done_bytes <= report.first_bad_offset - at);
  }
  if (verb != 3) memset(g_model + begin, 0, report.done_bytes);
}

void one_step(hpz_space *space, size_t from, const uint8_t *step) {
  size_t at = (step[2] | size_t{step[3]} << 8 | size_t{step[4]} << 16) % (kBytes - from);
  size_t len = (step[5] | size_t{step[6]} << 8 | size_t{step[7]} << 16) % (kBytes - from - at + 1);
  switch (step[0] % 16) {
    case 0:
    case 1:
    case 2:
      if (from + at + len <= g_size) write_file(from + at, len, step[1]);
      break;
    case 3:
      if (from + at + len > g_size || len == 0) break;
      HPZ_REQUIRE(fallocate(g_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                            static_cast<off_t>(from + at), static_cast<off_t>(len)) == 0);
      memset(g_model + from + at, 0, len);
      break;
    case 4:
      resize_file(step[1] % 2 == 0 ? kBytes : from + at);
      break;
    default:
      if ((step[0] & 0x80) != 0) {
        at &= ~(kPage - 1);
        len &= ~(kPage - 1);
      }
      run_verb(space, from, step, at, len);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  if (g_fd < 0) {
    g_fd = memfd_create("fuzz", MFD_CLOEXEC);
    HPZ_REQUIRE(g_fd >= 0);
  }
  resize_file(0);
  resize_file(kBytes);
  const size_t from = size_t{data[1]} * 100;
  write_file(0, kBytes / 2, kPoison);  // the other half is a hole
  HPZ_REQUIRE(lseek(g_fd, kPlace, SEEK_SET) == kPlace);
  hpz_space *const space = make_space(data, from);
  for (size_t at = 2; at + 8 <= size && at < 8 * 8; at += 8) one_step(space, from, data + at);
  hpz_space_destroy(space);
  HPZ_REQUIRE(lseek(g_fd, 0, SEEK_CUR) == kPlace);
  HPZ_REQUIRE(pread(g_fd, g_content, kBytes, 0) == static_cast<ssize_t>(g_size));
  HPZ_REQUIRE(memcmp(g_content, g_model, g_size) == 0);
  return 0;
}
