// SPDX-License-Identifier: BSD-2-Clause
//
// map.h: checks, and hands over.
#include <errno.h>
#include <hpzero/map.h>
#include <stdlib.h>

#include <algorithm>
#include <bit>
#include <new>

#include "lib/map/call.h"
#include "lib/map/dirty_bitmap.h"
#include "lib/map/map.h"
#include "lib/plan/options.h"

using namespace hpz;

namespace {

bool is_within(const Map &map, uint64_t offset, uint64_t len) noexcept {
  return offset <= map.pages.bytes() && len <= map.pages.bytes() - offset;
}

// Checks what all verbs have in common, and calls one. checked: the space's, of no bytes.
int call_map_verb(int (MapCall::*verb)() noexcept, Verb checked, hpz_map *map, hpz_space *space,
                  hpz_team *team, uint64_t offset, uint64_t len, const hpz_job_options *options,
                  hpz_job_report *report) noexcept {
  if (map == nullptr || !is_within(map->map, offset, len)) return -EINVAL;
  if (report != nullptr && !is_info_size(report->size)) return -EINVAL;
  if (!map->map.process.is_current()) return -ECHILD;
  hpz_job_options known = HPZ_JOB_OPTIONS_INIT;
  if (options != nullptr && !read_options(options, options->size, known)) return -EINVAL;
  MapCall call({map->map, space, team, {offset, offset + len}, known});
  // No bytes, at the end of the range: everything else is refused here as the space refuses it,
  // also where there would be nothing to do.
  const hpz_extent nothing = {offset + len, 0};
  int error = call_verb(checked, space, team, &nothing, 1, options, nullptr);
  if (error == 0) error = (call.*verb)();
  if (error == 0) error = call.tell_all_done();
  const hpz_job_report its = call.report(error);
  if (report != nullptr && !is_refusal(its)) write_info(report, its);
  return error;
}

}  // namespace

extern "C" {

int hpz_map_create(const struct hpz_map_options *options, struct hpz_map **out) noexcept {
  constexpr uint64_t kMostBytes = uint64_t{1} << 63, kMostPages = uint64_t{1} << 40;
  constexpr uint64_t kUsualPage = uint64_t{2} << 20, kUsualSubpage = 4096, kSmallestSubpage = 64;
  hpz_map_options known = HPZ_MAP_OPTIONS_INIT;
  if (options == nullptr || out == nullptr) return -EINVAL;
  if (!read_options(options, options->size, known)) return -EINVAL;
  if (known.page_bytes == 0) known.page_bytes = kUsualPage;
  if (known.subpage_bytes == 0) known.subpage_bytes = std::min(kUsualSubpage, known.page_bytes);
  if (!std::has_single_bit(known.page_bytes) || !std::has_single_bit(known.subpage_bytes) ||
      known.subpage_bytes < kSmallestSubpage || known.subpage_bytes > known.page_bytes ||
      known.page_bytes > kMostBytes) {
    return -EINVAL;
  }
  if (known.len == 0 || known.len > kMostBytes) return -EINVAL;
  if ((known.len - 1) / known.page_bytes >= kMostPages) return -EINVAL;
  if (static_cast<uint32_t>(known.initial_state) > HPZ_PAGE_FRESH || known.flags != 0) {
    return -EINVAL;
  }
  void *const memory = malloc(sizeof(hpz_map));
  if (memory == nullptr) return -ENOMEM;
  auto *const map = new (memory) hpz_map;
  if (!map->map.pages.open({known.len, known.page_bytes, known.subpage_bytes,
                            static_cast<PageState>(known.initial_state)})) {
    hpz_map_destroy(map);
    return -ENOMEM;
  }
  *out = map;
  return 0;
}

void hpz_map_destroy(struct hpz_map *map) noexcept {
  if (map == nullptr) return;
  map->~hpz_map();
  free(map);
}

int hpz_map_set(struct hpz_map *map, uint64_t offset, uint64_t len,
                enum hpz_page_state state) noexcept {
  if (map == nullptr || !is_within(map->map, offset, len)) return -EINVAL;
  if (state > HPZ_PAGE_FRESH) return -EINVAL;
  if (!map->map.process.is_current()) return -ECHILD;
  if (len == 0) return 0;
  Pages &pages = map->map.pages;
  const uint64_t end = offset + len;
  if (state == HPZ_PAGE_DIRTY) {
    Pages::begin_marking();
    const uint64_t last = pages.page_of(end - 1);
    for (uint64_t page = pages.page_of(offset); page <= last; ++page) {
      const Part part = pages.in_page(page, {offset, end});
      pages.mark(page, pages.subpage_in(page, part.begin),
                 pages.subpage_in(page, part.end - 1) + 1);
    }
    return 0;
  }
  Part range = pages.whole_units({offset, end}, pages.subpage_bytes());
  while (range.begin < range.end) {
    const uint64_t page = pages.page_of(range.begin);
    const Part part = pages.in_page(page, range);
    pages.say_zero(page, pages.subpage_in(page, part.begin), pages.subpage_in(page, part.end),
                   static_cast<PageState>(state));
    range.begin = part.end;
  }
  return 0;
}

int hpz_map_set_dirty_bitmap(struct hpz_map *map, uint64_t offset, const uint64_t *words,
                             size_t bits) noexcept {
  if (map == nullptr || (words == nullptr && bits != 0)) return -EINVAL;
  Pages &pages = map->map.pages;
  if (offset % pages.subpage_bytes() != 0 || offset > pages.bytes()) return -EINVAL;
  const uint64_t first = offset >> pages.subpage_shift();
  const uint64_t left = pages.subpages() - std::min(first, pages.subpages());
  DirtyBitmap bitmap = {words, bits};
  if (bitmap.has_ones_from(left)) return -EINVAL;
  if (!map->map.process.is_current()) return -ECHILD;
  bitmap.bits = std::min<uint64_t>(bits, left);  // what is beyond was looked at, and is not again
  bitmap.mark(pages, first);
  return 0;
}

int hpz_map_counts_get(const struct hpz_map *map, struct hpz_map_counts *out) noexcept {
  if (map == nullptr || out == nullptr || !is_info_size(out->size)) return -EINVAL;
  if (!map->map.process.is_current()) return -ECHILD;
  hpz_map_counts counts = HPZ_MAP_COUNTS_INIT;
  counts.memory_bytes = sizeof(hpz_map);
  // What is Partial is locked to be looked at.
  const_cast<hpz_map *>(map)->map.pages.count(counts);
  write_info(out, counts);
  return 0;
}

int hpz_map_zero(struct hpz_map *map, struct hpz_space *space, struct hpz_team *team,
                 uint64_t offset, uint64_t len, const struct hpz_job_options *options,
                 struct hpz_job_report *report) noexcept {
  return call_map_verb(&MapCall::zero, zero_space, map, space, team, offset, len, options, report);
}

int hpz_map_populate(struct hpz_map *map, struct hpz_space *space, struct hpz_team *team,
                     uint64_t offset, uint64_t len, const struct hpz_job_options *options,
                     struct hpz_job_report *report) noexcept {
  return call_map_verb(&MapCall::populate, populate_space, map, space, team, offset, len, options,
                       report);
}

int hpz_map_release(struct hpz_map *map, struct hpz_space *space, struct hpz_team *team,
                    uint64_t offset, uint64_t len, const struct hpz_job_options *options,
                    struct hpz_job_report *report) noexcept {
  // Of no bytes the space's release would ask what is mapped all the same.
  return call_map_verb(&MapCall::release, zero_space, map, space, team, offset, len, options,
                       report);
}

}  // extern "C"
