// SPDX-License-Identifier: BSD-2-Clause
//
// hpz_space_file: checks, and hands over.
#include <errno.h>
#include <hpzero/space.h>

#include "lib/plan/options.h"
#include "lib/space/backed.h"
#include "lib/space/file.h"

using namespace hpz;

extern "C" int hpz_space_file(int fd, uint64_t offset, uint64_t len,
                              const struct hpz_space_options *options,
                              struct hpz_space **out) noexcept {
  if (out == nullptr) return -EINVAL;
  hpz_space_options known = HPZ_SPACE_OPTIONS_INIT;
  if (options != nullptr && !read_options(options, options->size, known)) return -EINVAL;
  constexpr uint32_t kFlags = HPZ_SPACE_PUNCH | HPZ_SPACE_ALLOCATE;
  if ((known.flags & ~kFlags) != 0 || known.flags == kFlags || known.reserved != 0) return -EINVAL;
  if (known.page_bytes != 0) return -EINVAL;
  Backing backing;
  int error = open_file_backing(fd, offset, len, known, "", backing);
  if (error != 0) return error;
  error = make_backed_space(backing, len, out);
  if (error != 0) backing.ops->destroy(backing.self);
  return error;
}
