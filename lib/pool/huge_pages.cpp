// SPDX-License-Identifier: BSD-2-Clause
#include "lib/pool/huge_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>

namespace hpz {
namespace {

struct Path {
  char text[512];
};

Path folder(const char *root, uint64_t page_bytes) noexcept {
  Path path;
  (void)snprintf(path.text, sizeof path.text, "%s/sys/kernel/mm/hugepages/hugepages-%llukB", root,
                 static_cast<unsigned long long>(page_bytes / 1024));
  return path;
}

Path folder_of_node(const char *root, uint64_t page_bytes, int32_t node) noexcept {
  Path path;
  (void)snprintf(path.text, sizeof path.text,
                 "%s/sys/devices/system/node/node%d/hugepages/hugepages-%llukB", root, node,
                 static_cast<unsigned long long>(page_bytes / 1024));
  return path;
}

int64_t read_number(const Path &folder, const char *name) noexcept {
  Path path;
  if (snprintf(path.text, sizeof path.text, "%s/%s", folder.text, name) >=
      static_cast<int>(sizeof path.text)) {
    return -ENAMETOOLONG;
  }
  const int fd = open(path.text, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  char text[32] = {};
  const ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return -EIO;
  int64_t value = 0;
  for (const char *at = text; *at >= '0' && *at <= '9'; ++at) value = value * 10 + (*at - '0');
  return value;
}

}  // namespace

uint64_t transparent_page_bytes(const char *root) noexcept {
  Path path;
  (void)snprintf(path.text, sizeof path.text, "%s/sys/kernel/mm/transparent_hugepage", root);
  return static_cast<uint64_t>(std::max<int64_t>(0, read_number(path, "hpage_pmd_size")));
}

int64_t free_huge_pages(const char *root, uint64_t page_bytes, int32_t node) noexcept {
  const Path all = folder(root, page_bytes);
  const int64_t free = read_number(all, "free_hugepages");
  const int64_t reserved = read_number(all, "resv_hugepages");
  if (free < 0) return free;
  const int64_t unreserved = std::max<int64_t>(0, free - std::max<int64_t>(0, reserved));
  const int64_t of_node = read_number(folder_of_node(root, page_bytes, node), "free_hugepages");
  return of_node < 0 ? unreserved : std::min(unreserved, of_node);
}

}  // namespace hpz
