// SPDX-License-Identifier: BSD-2-Clause
#include "bench/pages.h"

#include <unistd.h>

#include <algorithm>

#include "bench/cleanup.h"
#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/text_file.h"

namespace hpz::bench {
namespace {

struct KindRow {
  PageKind kind;
  std::string_view id, title;
  uint64_t bytes;
};
constexpr KindRow kKinds[] = {
    {PageKind::k4k, "4k", "4 KiB pages", 4 * kKiB},
    {PageKind::kThp, "thp", "transparent huge pages", 2 * kMiB},
    {PageKind::k2m, "2m", "2 MiB pages (hugetlb)", 2 * kMiB},
    {PageKind::k1g, "1g", "1 GiB pages (hugetlb)", kGiB},
};

const KindRow &row_of(PageKind kind) {
  return *std::find_if(std::begin(kKinds), std::end(kKinds),
                       [kind](const KindRow &row) { return row.kind == kind; });
}

std::string pool_folder(PageKind kind, int node) {
  return (node == kAnyNode ? std::string("/sys/kernel/mm")
                           : "/sys/devices/system/node/node" + std::to_string(node)) +
         "/hugepages/hugepages-" + std::to_string(page_bytes(kind) / kKiB) + "kB/";
}

}  // namespace

std::string_view page_kind_id(PageKind kind) {
  return row_of(kind).id;
}
std::string_view page_kind_title(PageKind kind) {
  return row_of(kind).title;
}

PageKind parse_page_kind(std::string_view id) {
  for (const KindRow &row : kKinds) {
    if (row.id == id) return row.kind;
  }
  throw Refusal("unknown kind of pages '" + std::string(id) + "': write 4k, thp, 2m or 1g");
}

uint64_t page_bytes(PageKind kind) {
  if (kind == PageKind::k4k) return static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return row_of(kind).bytes;
}

PagePool page_pool(PageKind kind, int node) {
  const std::string folder = pool_folder(kind, node);
  const auto total = read_number_file(folder + "nr_hugepages");
  const auto free = read_number_file(folder + "free_hugepages");
  const auto reserved = read_number_file(folder + "resv_hugepages");
  PagePool pool;
  if (!total || !free) return pool;
  pool.exists = true;
  pool.total = *total;
  pool.free = *free - std::min(*free, reserved.value_or(0));
  return pool;
}

PageReservation::PageReservation(PageKind kind, uint64_t pages, int node) {
  const PagePool before = page_pool(kind, node);
  if (!before.exists) {
    trouble_ = "this kernel has no pool of them";
    return;
  }
  if (before.free >= pages) return;
  const std::string path = pool_folder(kind, node) + "nr_hugepages";
  const uint64_t wanted = before.total + (pages - before.free);
  if (access(path.c_str(), W_OK) != 0) {
    trouble_ = "reserving more of them needs root and a writable " + path;
    return;
  }
  // Noted before it is done: a signal in between must not leave gigabytes reserved.
  const uint64_t missing = pages - before.free;
  note_ = note_raised_number(path, static_cast<long>(before.total), static_cast<long>(missing));
  const bool written = write_text_file(path, std::to_string(wanted));
  const PagePool after = page_pool(kind, node);
  added_ = std::min(missing, after.total - std::min(after.total, before.total));
  settle_raised_number(note_, static_cast<long>(added_));
  if (added_ < missing) {
    trouble_ = written ? "memory is too fragmented or too full to reserve more of them"
                       : "the kernel refused to reserve more of them";
  }
}

PageReservation::~PageReservation() {
  if (note_ >= 0) put_back(note_);
}

}  // namespace hpz::bench
