// SPDX-License-Identifier: BSD-2-Clause
//
// A slab of a pool as the memory of a guest that QEMU runs. The guest itself looks whether what it
// got is zero, all but the parts in which its kernel lives, after somebody else had the slab; and
// it does notice where it is not. How long QEMU takes to start, beside its own preallocation, is
// printed and not judged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hpzero/hpzero.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/pool/pools.h"
#include "tests/support/descriptors.h"
#include "tests/support/huge_pool.h"
#include "tests/support/memory.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/watchdog.h"
#include "tests/vmm/qemu.h"

namespace hpz::test {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kSlabBytes = 512 * kMiB;
constexpr auto kSlabPages = static_cast<long>(kSlabBytes / kHugeBytes);
// What the guest looks at, and its kernel keeps off: that has what is below, the initramfs and the
// firmware what is above.
constexpr uint64_t kCheckedFrom = 128 * kMiB, kCheckedBytes = 320 * kMiB;
constexpr uint64_t kCheckedPages = kCheckedBytes / 4096;
constexpr unsigned char kGuestsSecret = 0x5A;  // guest_memory.c

PoolPointer pool_of_one_slab(uint32_t flags = 0) {
  hpz_pool_options options = HPZ_POOL_OPTIONS_INIT;
  options.slab_bytes = kSlabBytes;
  options.pages_per_node = 1;
  options.flags = HPZ_POOL_EXPORT | flags;
  return make_pool(options);
}

// Taken, and full of what nobody else is to see.
hpz_page spoiled_slab(const PoolPointer &pool) {
  hpz_page slab;
  EXPECT_EQ(take(pool, slab), 1);
  spoil(slab);
  return slab;
}

// What a guest says whose memory the slab is.
std::string boot(const hpz_page &slab) {
  const ScratchFolder folder;
  const std::string console = folder.path("console");
  char words[256];
  snprintf(words, sizeof words,
           "console=ttyS0 loglevel=2 panic=-1 mitigations=off memmap=%lluM$%lluM "
           "guest_nodes=0 guest_huge_pages=0 -- /guest_memory %llu %llu",
           static_cast<unsigned long long>(kCheckedBytes / kMiB),
           static_cast<unsigned long long>(kCheckedFrom / kMiB),
           static_cast<unsigned long long>(kCheckedFrom),
           static_cast<unsigned long long>(kCheckedBytes));
  Qemu qemu(kSlabBytes, memory_of_descriptor(slab.fd, slab.len), slab.fd,
            {"-serial", "file:" + console, "-kernel", HPZERO_GUEST_KERNEL, "-initrd",
             HPZERO_GUEST_INITRAMFS, "-append", words});
  const int status = qemu.wait(150);
  EXPECT_NE(status, 127) << "no qemu-system-x86_64 (Debian's package qemu-system-x86)";
  EXPECT_EQ(status, 0) << (status == -SIGKILL ? "it did not end" : "it failed");
  std::string said = status == 0 || status == -SIGKILL ? read_file(console) : "";
  EXPECT_THAT(said, HasSubstr("\nGUEST: exit status 0"));
  return said;
}

// Judged by what it counted, not by what it thinks of it.
void expect_not_zero(const std::string &said, uint64_t bytes, uint64_t pages) {
  char wanted[128];
  snprintf(wanted, sizeof wanted, "\nGUEST: checked %llu pages, %llu bytes not zero, in %llu pages",
           static_cast<unsigned long long>(kCheckedPages), static_cast<unsigned long long>(bytes),
           static_cast<unsigned long long>(pages));
  EXPECT_THAT(said, HasSubstr(wanted));
  EXPECT_EQ(said.find("GUEST: MEMORY READS ZERO") != std::string::npos, bytes == 0) << said;
}

// ... and that it was in this slab.
void expect_a_guest_to_see_zero(const hpz_page &slab) {
  expect_not_zero(boot(slab), 0, 0);
  const unsigned char *const from = bytes_of(slab) + kCheckedFrom;
  EXPECT_TRUE(all_are(from, from + kCheckedBytes, kGuestsSecret, "what the guest has left"));
}

class QemuMemory : public testing::Test {
 protected:
  // Why there are none, or "".
  std::string reserve(long slabs) { return machine_.take(slabs * kSlabPages); }

 private:
  HugePool machine_;
};

// Row G1.
TEST_F(QemuMemory, field_G1_a_guest_sees_nothing_of_who_had_the_slab_before) {
  if (const std::string why = reserve(1); !why.empty()) GTEST_SKIP() << why;
  const PoolPointer pool = pool_of_one_slab();
  hpz_page slab = spoiled_slab(pool);
  const ino_t file = file_of(slab.fd);
  // Nobody else had it; then a guest, whose emulator has ended.
  for (int guest = 0; guest < 2; ++guest) {
    ASSERT_EQ(hpz_pool_give(pool.get(), &slab, 1, HPZ_GIVE_SOLE_OWNER), 0);
    ASSERT_EQ(take(pool, slab), 1);
    EXPECT_EQ(file_of(slab.fd), file) << "cleared and used again";
    expect_a_guest_to_see_zero(slab);
  }
}

TEST_F(QemuMemory, a_guest_in_the_place_of_a_dropped_slab_sees_zero) {
  if (const std::string why = reserve(1); !why.empty()) GTEST_SKIP() << why;
  const PoolPointer pool = pool_of_one_slab();
  hpz_page slab = spoiled_slab(pool);
  const ino_t file = file_of(slab.fd);
  ASSERT_EQ(hpz_pool_give(pool.get(), &slab, 1, 0), 0);
  ASSERT_EQ(take(pool, slab), 1);
  EXPECT_NE(file_of(slab.fd), file);
  expect_a_guest_to_see_zero(slab);
}

// Else the tests before would prove nothing.
TEST_F(QemuMemory, a_guest_notices_what_is_not_zero) {
  if (const std::string why = reserve(1); !why.empty()) GTEST_SKIP() << why;
  const PoolPointer pool = pool_of_one_slab(HPZ_POOL_NO_FILLING);
  hpz_page slab;
  ASSERT_EQ(take(pool, slab), 1);
  unsigned char *const checked = bytes_of(slab) + kCheckedFrom;
  checked[0] = checked[kCheckedBytes - 1] = 1;
  checked[kCheckedBytes / 2 + 4711] = checked[kCheckedBytes / 2 + 4712] = 0x80;
  expect_not_zero(boot(slab), 4, 3);

  spoil(slab);
  ASSERT_EQ(hpz_pool_give(pool.get(), &slab, 1, HPZ_GIVE_SOLE_OWNER), 0);
  ASSERT_EQ(take(pool, slab, HPZ_TAKE_ANY_CONTENT), 1);
  expect_not_zero(boot(slab), kCheckedBytes, kCheckedPages);
}

double now_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

struct Way {
  const char *name;
  bool from_pool;
  const char *more;
  std::vector<double> ms;

  double median() const { return ms[ms.size() / 2]; }
};

// In turn. The slab is clean before each start: how long a filler takes is no part of it.
void time_starts(const PoolPointer &pool, std::vector<Way> &ways, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (Way &way : ways) {
      wait_until([&] {
        const hpz_pool_stats stats = stats_of(pool);
        return stats.dirty + stats.busy == 0;
      });
      const double begin = now_ms();
      hpz_page slab = HPZ_PAGE_INIT;
      if (way.from_pool) {
        ASSERT_EQ(take(pool, slab), 1);
        EXPECT_EQ(slab.outcome, unsigned{HPZ_TAKE_HIT});
      }
      const std::string memory =
          way.from_pool ? memory_of_descriptor(slab.fd, slab.len) : memory_of_its_own(kSlabBytes);
      Qemu qemu(kSlabBytes, memory + way.more, slab.fd, {"-S"});
      ASSERT_THAT(qemu.ask("qmp_capabilities"), HasSubstr("\"return\"")) << way.name;
      ASSERT_THAT(qemu.ask("query-status"), HasSubstr("\"prelaunch\"")) << way.name;
      way.ms.push_back(now_ms() - begin);
      qemu.ask("quit");
      EXPECT_EQ(qemu.wait(60), 0) << way.name;
      if (!way.from_pool) continue;
      memset(slab.base, kPoison, slab.len);
      ASSERT_EQ(hpz_pool_give(pool.get(), &slab, 1, HPZ_GIVE_SOLE_OWNER), 0);
    }
  }
  for (Way &way : ways) std::sort(way.ms.begin(), way.ms.end());
}

TEST_F(QemuMemory, start_times_beside_its_own_preallocation) {
  if (const std::string why = reserve(2); !why.empty()) GTEST_SKIP() << why;
  const Watchdog watchdog(300);
  const PoolPointer pool = pool_of_one_slab();
  constexpr int kRounds = 7;
  std::vector<Way> ways = {{"its own huge pages, none of them there yet", false, "", {}},
                           {"its own huge pages, prealloc=on", false, ",prealloc=on", {}},
                           {"a slab from the pool", true, "", {}},
                           {"a slab from the pool, prealloc=on", true, ",prealloc=on", {}}};
  time_starts(pool, ways, kRounds);
  if (HasFatalFailure()) return;
  printf(
      "QEMU with %llu MiB of 2 MiB pages, from the wish for memory until it answers: ms\n"
      "%-44s%10s%10s%10s\n",
      static_cast<unsigned long long>(kSlabBytes / kMiB), "", "median", "min", "max");
  for (const Way &way : ways) {
    ASSERT_EQ(way.ms.size(), size_t{kRounds});
    printf("%-44s%10.1f%10.1f%10.1f\n", way.name, way.median(), way.ms.front(), way.ms.back());
  }
  printf("prealloc=on by the slab, medians: %.2f\n", ways[1].median() / ways[2].median());
}

}  // namespace
}  // namespace hpz::test
