// SPDX-License-Identifier: BSD-2-Clause
#include "bench/row_titles.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <tuple>

namespace hpz::bench {
namespace {

struct Title {
  std::string_view id, title;
};

// In the order of the tables. Ids that speak for themselves are here for their place.
constexpr Title kRows[] = {
    {"hpz_zero", "hpz_zero"},
    {"hpz_zero_cached", "hpz_zero_cached"},
    {"hpz_zero_stream", "hpz_zero_stream"},
    {"hpz_zero_pages", "hpz_zero_pages"},
    // mapping
    {"mapped_pieces", "mmap, clear, munmap per 4 KiB"},
    {"mapped_pieces_rep_stosb", "mmap, REP STOSB, munmap per 4 KiB"},
    {"barrier_pieces", "per 4 KiB, 4 compiler barriers"},
    {"barrier_pieces_rep_stosb", "REP STOSB per 4 KiB, 4 barriers"},
    {"fenced_pieces", "per 4 KiB, 4 full fences"},
    {"fenced_pieces_rep_stosb", "REP STOSB per 4 KiB, 4 full fences"},
    {"pieces", "per 4 KiB, nothing between"},
    {"pieces_rep_stosb", "REP STOSB per 4 KiB, nothing between"},
    {"direct", "the whole extent, one call"},
    {"space_direct", "hpz_space_direct"},
    {"file_lasting", "hpz_space_file, mapped once"},
    {"window_4KiB", "hpz_space_file, windows of 4 KiB"},
    {"window_64KiB", "hpz_space_file, windows of 64 KiB"},
    {"window_2MiB", "hpz_space_file, windows of 2 MiB"},
    {"window_64MiB", "hpz_space_file, windows of 64 MiB"},
    {"window_256MiB", "hpz_space_file, windows of 256 MiB"},
    {"punch", "hole punched, memory given back"},
    {"punch_populate", "hole punched and populated again"},
    {"touch_4k", "4 KiB pages: mapped and touched"},
    {"populate_4k", "... hpz_space_populate between"},
    {"populate_team_4k", "... by a team"},
    {"touch_thp", "huge pages: mapped and touched"},
    {"populate_thp", "... hpz_space_populate between"},
    {"populate_team_thp", "... by a team"},
    // twice
    {"cleared_twice", "populated, then hpz_zero_stream"},
    {"populate", "hpz_space_populate alone"},
    {"populate_map", "hpz_map_populate, then hpz_map_zero"},
    {"map_zero_dirty", "resident, hpz_map_zero of a dirty map"},
    {"map_zero_known", "resident, hpz_map_zero of what is known"},
    // metadata
    {"open_eager", "a map, one subpage of each page marked"},
    {"open_lazy", "hpz_map_create"},
    {"open_array", "a byte for each subpage, initialised"},
    {"mark_first_4KiB", "pages of 4 KiB, a new map"},
    {"mark_4KiB", "pages of 4 KiB, a map in use"},
    {"mark_first_2MiB", "pages of 2 MiB, a new map"},
    {"mark_2MiB", "pages of 2 MiB, a map in use"},
    {"zero_subpage", "hpz_map_zero of the page"},
    // pool
    {"kernel", "the kernel: released, touched again"},
    {"pool_off", "a pool, filling off"},
    {"pool_on", "a pool, filled in the background"},
    {"clear", "clearing a page, nothing else"},
    {"registers_alone", "counts in registers, alone"},
    {"registers_beside", "... beside the filler"},
    {"half_l2_alone", "reads half of L2, alone"},
    {"half_l2_beside", "... beside the filler"},
    {"half_llc_alone", "reads half of the last level, alone"},
    {"half_llc_beside", "... beside the filler"},
    // calls of teams
    {"team_create_8", "hpz_team_create, 8 threads, and destroyed"},
    {"idle_job_alone", "a job without work, in the calling thread"},
    {"idle_job_team_t1", "a job without work, a team, 1 thread"},
    {"idle_job_team_t2", "a job without work, a team, 2 threads"},
    {"futex_round_trip", "a round trip of two threads by futexes"},
    {"small_zero_stream", "a small range by hpz_zero_stream"},
    {"small_zero_team", "a small range by a team"},
    {"cancel", "from cancel to the return of the call"},
    // By-standers, and peers.
    {"nothing", "nothing is cleared, for as long"},
    {"std_fill", "std::fill"},
    {"pmem_memset", "libpmem pmem_memset"},
    {"map_populate", "kernel mmap+populate"},
};

// Of rows that differ by their threads.
constexpr Title kFamilies[] = {
    {"team", "hpz_space_zero, a team"},
    {"populate", "hpz_space_populate, a team"},
    {"release", "hpz_space_release, a team"},
    {"zero_whole", "zero of the whole, a team"},
    {"reset_4k", "hpz_space_reset, 4 KiB pages"},
    {"reset_thp", "hpz_space_reset, huge pages"},
    {"madv_populate", "MADV_POPULATE_WRITE"},
    {"madv_dontneed", "MADV_DONTNEED, one call"},
    {"touch", "touch loop"},
    {"pairs", "taken and given back"},
};

constexpr std::string_view kPerPiece = "_per_4KiB";
constexpr std::string_view kAuto = "_auto";

template <size_t N> const Title *find(const Title (&titles)[N], std::string_view id) {
  const auto found = std::find_if(std::begin(titles), std::end(titles),
                                  [&](const Title &title) { return title.id == id; });
  return found == std::end(titles) ? nullptr : &*found;
}

// Of what several experiments have.
std::string common_title(std::string_view id) {
  if (id == "rep_stosb_per_4KiB") return "REP STOSB per 4 KiB";
  if (id == "release_populate") return "kernel release+populate";
  if (id.ends_with(kPerPiece)) return std::string(id.substr(0, id.size() - 9)) + " per 4 KiB";
  return std::string(id);
}

size_t rank_of(std::string_view id, const RowFamily &family) {
  if (const Title *const row = find(kRows, id)) return static_cast<size_t>(row - kRows);
  constexpr size_t kBehind = std::size(kRows);
  if (const Title *const row = find(kFamilies, family.name)) {
    return kBehind + static_cast<size_t>(row - kFamilies);
  }
  return kBehind + std::size(kFamilies);
}

}  // namespace

RowFamily family_of(std::string_view id) {
  const size_t at = id.rfind("_t");
  if (at == std::string_view::npos || at == 0) return {std::string(id), 0};
  uint32_t threads = 0;
  const char *const end = id.data() + id.size();
  const auto [rest, error] = std::from_chars(id.data() + at + 2, end, threads);
  if (error != std::errc() || rest != end || threads == 0) return {std::string(id), 0};
  return {std::string(id.substr(0, at)), threads};
}

std::string family_title(std::string_view family) {
  const Title *const known = find(kFamilies, family);
  return known == nullptr ? common_title(family) : std::string(known->title);
}

std::string row_title(std::string_view id) {
  if (const Title *const known = find(kRows, id)) return std::string(known->title);
  const RowFamily family = family_of(id);
  if (family.threads > 0) {
    return family_title(family.name) + ", " + std::to_string(family.threads) +
           (family.threads == 1 ? " thread" : " threads");
  }
  if (id.ends_with(kAuto)) {
    return family_title(id.substr(0, id.size() - kAuto.size())) + ", the knee";
  }
  return family_title(id);
}

bool is_row_before(std::string_view a, std::string_view b) {
  const RowFamily first = family_of(a), second = family_of(b);
  const size_t first_rank = rank_of(a, first), second_rank = rank_of(b, second);
  return std::tie(first_rank, first.name, first.threads, a) <
         std::tie(second_rank, second.name, second.threads, b);
}

}  // namespace hpz::bench
