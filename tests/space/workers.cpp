// SPDX-License-Identifier: BSD-2-Clause
#include "workers.h"

#include <sys/mman.h>
#include <unistd.h>

namespace hpz::test {

std::string workers_name(const testing::TestParamInfo<uint32_t> &threads) {
  return threads.param == 0 ? "alone" : "team_of_" + std::to_string(threads.param);
}

TeamPointer make_team(uint32_t threads) {
  hpz_team *team = nullptr;
  if (threads != 0) {
    hpz_team_options options = HPZ_TEAM_OPTIONS_INIT;
    options.threads = threads;
    EXPECT_EQ(hpz_team_create(&options, &team), 0);
  }
  return {team, hpz_team_destroy};
}

SpacePointer make_space(const std::vector<hpz_range> &ranges) {
  hpz_space *space = nullptr;
  EXPECT_EQ(hpz_space_direct(ranges.data(), ranges.size(), nullptr, &space), 0);
  return {space, hpz_space_destroy};
}

SpacePointer make_space(void *base, size_t len) {
  return make_space(std::vector<hpz_range>{{base, len}});
}

Memory::Memory(size_t bytes, int flags) : Memory(-1, bytes, MAP_PRIVATE | MAP_ANONYMOUS | flags) {}

Memory::Memory(int fd, size_t bytes, int flags)
    : begin_(
          static_cast<unsigned char *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0))),
      bytes_(bytes) {
  if (begin_ == MAP_FAILED) begin_ = nullptr;
}

Memory::~Memory() {
  if (begin_ != nullptr) munmap(begin_, bytes_);
}

size_t Memory::resident_bytes() const {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes_ + page - 1) / page);
  EXPECT_EQ(mincore(begin_, bytes_, pages.data()), 0);
  size_t resident = 0;
  for (const unsigned char flags : pages) resident += (flags & 1) * page;
  return resident;
}

}  // namespace hpz::test
