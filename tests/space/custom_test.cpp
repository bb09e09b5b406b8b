// SPDX-License-Identifier: BSD-2-Clause
//
// Spaces whose memory is reached by callbacks: the verbs, exactly, and the rules of the callbacks.
#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <hpzero/hpzero.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "tests/space/custom_arena.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/settings.h"
#include "tests/support/workers.h"

namespace hpz::test {
namespace {

using Verb = decltype(&hpz_space_zero);
constexpr Verb kVerbs[] = {hpz_space_zero, hpz_space_populate, hpz_space_reset, hpz_space_release};

// One page at a time, in batches, by windows, and pages of other sizes. The last page is short.
constexpr ArenaShape kShapes[] = {
    {(1 << 20) + 300'001, 4096, 0, 1},        {(1 << 20) + 300'001, 4096, 0, 7},
    {(1 << 20) + 300'001, 16384, 0, 100},     {(1 << 20) + 400'000, 4096, 65536, 1},
    {(1 << 20) + 300'001, 8192, 3 * 8192, 4},
};

// Which bytes of an arena are wanted: 1.
using Mask = std::vector<unsigned char>;
Mask mask_of(const std::vector<hpz_extent> &extents, uint64_t len) {
  Mask wanted(len);
  for (const hpz_extent &extent : extents) {
    std::fill_n(wanted.begin() + static_cast<ptrdiff_t>(extent.offset), extent.len, 1);
  }
  return wanted;
}

int call(Verb verb, const SpacePointer &space, hpz_team *team,
         const std::vector<hpz_extent> &extents, const hpz_job_options *options,
         hpz_job_report *report) {
  const hpz_extent none = {};
  return verb(space.get(), team, extents.empty() ? &none : extents.data(), extents.size(), options,
              report);
}

TEST(CustomSpaceCreation, bad_arguments) {
  hpz_space_ops good = HPZ_SPACE_OPS_INIT;
  good.len = 1;
  good.map = [](void *, uint64_t, uint64_t, void **) { return -EIO; };
  good.unmap = [](void *, uint64_t, uint64_t, void *) {};
  hpz_space *space = nullptr;
  EXPECT_EQ(hpz_space_custom(nullptr, nullptr, &space), -EINVAL);
  EXPECT_EQ(hpz_space_custom(&good, nullptr, nullptr), -EINVAL);
  const auto is_refused = [&](void (*spoil)(hpz_space_ops &)) {
    hpz_space_ops ops = good;
    spoil(ops);
    return hpz_space_custom(&ops, nullptr, &space) == -EINVAL && space == nullptr;
  };
  EXPECT_TRUE(is_refused([](hpz_space_ops &ops) { ops.size = 3; }));
  EXPECT_TRUE(is_refused([](hpz_space_ops &ops) { ops.len = 0; }));
  EXPECT_TRUE(is_refused([](hpz_space_ops &ops) { ops.len = UINT64_MAX; }));
  EXPECT_TRUE(is_refused([](hpz_space_ops &ops) { ops.len = (UINT64_MAX >> 1) + 2; }));
  EXPECT_TRUE(is_refused([](hpz_space_ops &ops) { ops.map = nullptr; }));
  EXPECT_TRUE(is_refused([](hpz_space_ops &ops) { ops.unmap = nullptr; }));
  EXPECT_TRUE(is_refused([](hpz_space_ops &ops) { ops.flags = 2; }));
  EXPECT_TRUE(is_refused([](hpz_space_ops &ops) { ops.page_bytes = 2048; }));
  EXPECT_TRUE(is_refused([](hpz_space_ops &ops) { ops.page_bytes = 12288; }));
  EXPECT_TRUE(is_refused([](hpz_space_ops &ops) { ops.page_bytes = uint64_t{1} << 50; }));
  EXPECT_TRUE(is_refused([](hpz_space_ops &ops) { ops.window_bytes = 4096; }))
      << "several pages at a time want the flag";
  EXPECT_TRUE(is_refused([](hpz_space_ops &ops) {
    ops.flags = HPZ_SPACE_OPS_CONTIGUOUS;
    ops.window_bytes = 4097;
  }));

  // As large as it may be: all of it addressable by offset, none of it there.
  good.len = uint64_t{1} << 63;
  ASSERT_EQ(hpz_space_custom(&good, nullptr, &space), 0);
  const hpz_extent last = {good.len - 1, 1}, beyond = {good.len, 1};
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  EXPECT_EQ(hpz_space_zero(space, nullptr, &last, 1, nullptr, &report), -EIO);
  EXPECT_EQ(report.first_bad_offset, last.offset);
  EXPECT_EQ(hpz_space_zero(space, nullptr, &beyond, 1, nullptr, &report), -EINVAL);
  EXPECT_EQ(hpz_space_zero(space, nullptr, nullptr, 0, nullptr, &report), -EIO);
  EXPECT_EQ(report.first_bad_offset, 0u);
  EXPECT_EQ(report.done_bytes, 0u);
  hpz_space_destroy(space);
}

class CustomSpace : public ByWorkers {};
HPZERO_BY_WORKERS(CustomSpace);

std::vector<hpz_extent> random_extents(std::mt19937_64 &random, uint64_t len) {
  const auto up_to = [&](uint64_t most) { return random() % (most + 1); };
  std::vector<hpz_extent> extents(up_to(40));
  const bool are_pages = up_to(2) == 0;
  for (hpz_extent &extent : extents) {
    extent.offset = are_pages ? up_to(len / 4096 - 1) * 4096 : up_to(len);
    const uint64_t most = std::min<uint64_t>(len - extent.offset, up_to(3) == 0 ? len : 10'000);
    extent.len = are_pages ? 4096 : up_to(most);
  }
  return extents;
}

// The oracle is a second copy that a byte loop clears.
TEST_P(CustomSpace, exactly_the_extents) {
  SCOPED_TRACE("HPZERO_TEST_SEED=" + std::to_string(seed()));
  std::mt19937_64 random(seed() + GetParam());
  for (const ArenaShape &shape : kShapes) {
    CustomArena arena(shape, random());
    const SpacePointer space = arena.make_space();
    for (int round = 0; round < (quick() ? 4 : 16); ++round) {
      SCOPED_TRACE("pages of " + std::to_string(shape.page_bytes) + ", round " +
                   std::to_string(round));
      for (uint64_t at = 0; at < arena.whole_len(); at += shape.page_bytes) {
        arena.set_unused(at / shape.page_bytes, random() % 3 == 0);
      }
      const std::vector<hpz_extent> extents = random_extents(random, shape.len);
      const Mask wanted = mask_of(extents, shape.len);
      hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
      options.chunk_bytes = random() % 2 == 0 ? 0 : 1 + random() % 200'000;
      options.touch_next = &options;
      for (const Verb verb : kVerbs) {
        arena.poison();
        arena.forget_populated();
        std::vector<unsigned char> expected(arena.bytes(), arena.bytes() + arena.whole_len());
        hpz_job_report report = HPZ_JOB_REPORT_INIT;
        ASSERT_EQ(call(verb, space, team(), extents, &options, &report), 0);
        uint64_t total = 0, used = 0;
        for (uint64_t at = 0; at < shape.len; ++at) {
          if (!wanted[at]) continue;
          ++total;
          if (!arena.is_unused(at)) ++used;
          if (verb != hpz_space_populate) expected[at] = 0;
        }
        ASSERT_EQ(memcmp(arena.bytes(), expected.data(), expected.size()), 0);
        EXPECT_EQ(report.done_bytes, total);
        EXPECT_EQ(report.cleared_bytes + report.populated_bytes + report.skipped_bytes, total);
        EXPECT_EQ(report.first_bad_offset, UINT64_MAX);
        EXPECT_EQ(report.flags & HPZ_JOB_NO_PROOF, 0u);
        if (verb == hpz_space_zero || verb == hpz_space_reset) {
          EXPECT_EQ(report.cleared_bytes, verb == hpz_space_zero ? total : used);
        }
        if (verb != hpz_space_populate) continue;
        for (uint64_t at = 0; at < shape.len; at += shape.page_bytes) {
          const auto page = wanted.begin() + static_cast<ptrdiff_t>(at);
          const auto bytes = static_cast<ptrdiff_t>(std::min(shape.page_bytes, shape.len - at));
          EXPECT_EQ(arena.is_populated(at), std::find(page, page + bytes, 1) != page + bytes);
        }
      }
      ASSERT_EQ(arena.complaints(), "");
    }
  }
}

TEST_P(CustomSpace, all_of_it) {
  for (const ArenaShape &shape : kShapes) {
    CustomArena arena(shape, seed());
    const SpacePointer space = arena.make_space();
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    ASSERT_EQ(hpz_space_zero(space.get(), team(), nullptr, 0, nullptr, &report), 0);
    EXPECT_EQ(report.cleared_bytes, shape.len);
    // With several nodes nobody knows, and the report says so.
    if ((report.flags & HPZ_JOB_NO_PLACEMENT) == 0) {
      EXPECT_EQ(report.local_bytes + report.remote_bytes, shape.len);
    }
    EXPECT_TRUE(hpz_is_zero(arena.bytes(), shape.len));
    EXPECT_TRUE(all_are(arena.bytes() + shape.len, arena.bytes() + arena.whole_len(), kPoison,
                        "behind the end"));
  }
}

// As many maps as may be, of as much as may be, and no more of them than that takes.
TEST_P(CustomSpace, windows_and_batches) {
  for (const ArenaShape &shape : kShapes) {
    CustomArena arena(shape, seed());
    const SpacePointer space = arena.make_space();
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.chunk_bytes = arena.whole_len();
    options.threads = 1;
    ASSERT_EQ(hpz_space_zero(space.get(), team(), nullptr, 0, &options, nullptr), 0);
    const uint64_t window = std::max(shape.window_bytes, shape.page_bytes);
    const uint64_t most = std::min<uint64_t>(shape.most_maps, 64);
    EXPECT_EQ(arena.largest_map(), window);
    EXPECT_EQ(arena.most_held(), std::min<uint64_t>(most, (shape.len + window - 1) / window));
    EXPECT_LE(arena.maps(), (shape.len + window - 1) / window + 2) << "chunks end at 2 MiB";
  }
}

// Many extents in one page take one map of it.
TEST_P(CustomSpace, a_page_is_mapped_once_for_what_is_wanted_of_it) {
  CustomArena arena({1 << 20, 4096, 65536, 4}, seed());
  const SpacePointer space = arena.make_space();
  std::vector<hpz_extent> extents;
  for (uint64_t at = 4096; at < 3 * 4096; at += 512) extents.push_back({at + 3, 100});
  extents.push_back({8 * 4096 + 5, 1});
  ASSERT_EQ(call(hpz_space_zero, space, team(), extents, nullptr, nullptr), 0);
  EXPECT_EQ(arena.maps(), 2u);
  EXPECT_EQ(arena.largest_map(), 2u * 4096) << "no page that nothing is wanted of";
}

struct VerbCase {
  const char *name;
  Verb verb;
  unsigned without;
};
constexpr VerbCase kCases[] = {
    {"zero", hpz_space_zero, CustomArena::kNothing},
    {"populate", hpz_space_populate, CustomArena::kNothing},
    {"populate by touching", hpz_space_populate, CustomArena::kPopulate},
    {"reset", hpz_space_reset, CustomArena::kNothing},
    {"reset without proof", hpz_space_reset, CustomArena::kFindUsed},
    {"release", hpz_space_release, CustomArena::kNothing},
};

// What a job has left behind after one of the calls failed. Behind a fault so many bytes may be
// zero and not counted: begun.
void expect_exact(const CustomArena &arena, const VerbCase &tried, const Mask &wanted,
                  const hpz_job_report &report, uint64_t begun = 0) {
  uint64_t wrong = 0, zero = 0, used_zero = 0, populated = 0;
  const bool may_clear = tried.verb != hpz_space_populate;
  for (uint64_t page = 0; page < arena.whole_len(); page += arena.page_bytes()) {
    const unsigned char before = arena.is_unused(page) ? 0 : kPoison;
    uint64_t wanted_bytes = 0, zero_bytes = 0;
    for (uint64_t at = page; at < page + arena.page_bytes(); ++at) {
      const unsigned char byte = arena.bytes()[at];
      const bool is_wanted = at < wanted.size() && wanted[at] != 0;
      wrong += byte != before && !(byte == 0 && is_wanted && may_clear);
      wanted_bytes += is_wanted;
      zero_bytes += is_wanted && byte == 0;
    }
    zero += zero_bytes;
    used_zero += before != 0 ? zero_bytes : 0;
    populated += arena.is_populated(page) ? wanted_bytes : 0;
  }
  ASSERT_EQ(wrong, 0u) << "bytes that are neither as before nor cleared";
  EXPECT_EQ(report.cleared_bytes + report.populated_bytes + report.skipped_bytes,
            report.done_bytes);
  if (tried.verb == hpz_space_populate) {
    EXPECT_EQ(report.populated_bytes, report.done_bytes);
    if (tried.without == CustomArena::kNothing) {
      EXPECT_EQ(report.done_bytes, populated);
    }
  } else if (tried.verb == hpz_space_reset && tried.without == CustomArena::kNothing) {
    EXPECT_EQ(report.cleared_bytes, used_zero);
    EXPECT_LE(report.skipped_bytes, zero - used_zero);
  } else {
    // What was zero before is done where nobody came as well.
    EXPECT_LE(report.done_bytes, zero);
    EXPECT_GE(report.done_bytes + begun, used_zero);
  }
}

TEST_P(CustomSpace, every_call_may_fail) {
  constexpr ArenaShape kFewCalls[] = {{(1 << 20) + 250'001, 16384, 0, 3},
                                      {(1 << 20) + 250'001, 4096, 32768, 2}};
  for (const ArenaShape &shape : kFewCalls) {
    CustomArena arena(shape, seed());
    for (uint64_t page = 0; page < arena.whole_len() / shape.page_bytes; ++page) {
      arena.set_unused(page, page % 5 == 1 || page % 7 == 2);
    }
    const std::vector<hpz_extent> extents = {
        {10, 100}, {200, 50}, {40'000, 600'000}, {640'100, shape.len - 640'100 - 5}};
    const Mask wanted = mask_of(extents, shape.len);
    for (const VerbCase &tried : kCases) {
      const SpacePointer space = arena.make_space(tried.without);
      hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
      options.chunk_bytes = 64 * 1024;
      arena.poison();
      arena.fail_at(SIZE_MAX, 0);
      ASSERT_EQ(call(tried.verb, space, team(), extents, &options, nullptr), 0);
      const size_t calls = arena.calls();
      EXPECT_GT(calls, 15u);
      for (size_t i = 0; i < calls; i += quick() ? 1 + calls / 8 : 1) {
        SCOPED_TRACE(std::string(tried.name) + ", call " + std::to_string(i) + " of " +
                     std::to_string(calls));
        arena.poison();
        arena.forget_populated();
        arena.fail_at(i, -EXDEV);
        hpz_job_report report = HPZ_JOB_REPORT_INIT;
        ASSERT_EQ(call(tried.verb, space, team(), extents, &options, &report), -EXDEV);
        ASSERT_TRUE(arena.has_failed());
        EXPECT_EQ(report.error, -EXDEV);
        const auto failed = static_cast<ptrdiff_t>(arena.failed_offset());
        EXPECT_EQ(report.first_bad_offset,
                  static_cast<uint64_t>(std::find(wanted.begin() + failed, wanted.end(), 1) -
                                        wanted.begin()));
        ASSERT_NO_FATAL_FAILURE(expect_exact(arena, tried, wanted, report));
        ASSERT_EQ(arena.complaints(), "");
      }
      // The space is as good as before.
      arena.fail_at(SIZE_MAX, 0);
      EXPECT_EQ(call(tried.verb, space, team(), extents, &options, nullptr), 0);
    }
  }
}

// Whatever a callback says is told, also what else means that nothing was begun.
TEST_P(CustomSpace, results_of_callbacks) {
  CustomArena arena(kShapes[1], seed());
  const SpacePointer space = arena.make_space();
  const struct {
    int result, expected;
  } cases[] = {{-EINVAL, -EINVAL}, {-ECHILD, -ECHILD}, {-4095, -4095},        {-4096, -EIO},
               {1, -EIO},          {INT32_MAX, -EIO},  {-INT32_MAX - 1, -EIO}};
  for (const auto &[result, expected] : cases) {
    for (const Verb verb : kVerbs) {
      arena.poison();
      arena.fail_at(0, result);
      hpz_job_report report = HPZ_JOB_REPORT_INIT;
      EXPECT_EQ(verb(space.get(), team(), nullptr, 0, nullptr, &report), expected);
      EXPECT_EQ(report.error, expected);
      EXPECT_NE(report.first_bad_offset, UINT64_MAX);
    }
  }
}

TEST_P(CustomSpace, maps_to_nowhere) {
  CustomArena arena(kShapes[3], seed());
  const SpacePointer space = arena.make_space(CustomArena::kPopulate);
  void *const top = reinterpret_cast<void *>(~uintptr_t{4095});
  for (void *const address : {static_cast<void *>(nullptr), static_cast<void *>(arena.bytes() + 64),
                              static_cast<void *>(arena.bytes() + 2049), top}) {
    arena.give_instead(address);
    for (const Verb verb : {hpz_space_zero, hpz_space_populate, hpz_space_reset}) {
      // In one chunk, which is the calling thread's; by the workers, of whom any may be the first.
      hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
      hpz_job_report report = HPZ_JOB_REPORT_INIT;
      EXPECT_EQ(verb(space.get(), team(), nullptr, 0, &options, &report), -EFAULT);
      EXPECT_EQ(report.done_bytes, 0u);
      EXPECT_EQ(report.first_bad_offset, 0u);
      options.chunk_bytes = 64 * 1024;
      EXPECT_EQ(verb(space.get(), team(), nullptr, 0, &options, &report), -EFAULT);
      EXPECT_EQ(report.done_bytes, 0u);
      EXPECT_LT(report.first_bad_offset, arena.len());
    }
    EXPECT_EQ(arena.complaints(), "") << "unmapped all the same";
  }
  EXPECT_TRUE(all_are(arena.bytes(), arena.bytes() + arena.whole_len(), kPoison, ""));
}

// No answer makes it go on for ever, or leave out bytes.
TEST_P(CustomSpace, nonsense_of_find_used) {
  constexpr ArenaShape kShape = {1 << 16};
  CustomArena arena(kShape, seed());
  const SpacePointer space = arena.make_space();
  const std::vector<hpz_extent> extents = {{100, 60'000}};
  using Answer = CustomArena::Answer;
  for (const Answer &nonsense :
       {Answer{200, 200}, Answer{300, 200}, Answer{0, 50}, Answer{0, 100}, Answer{UINT64_MAX, 0},
        Answer{60'100, 60'000}, Answer{100, 0}, Answer{0, 0}}) {
    arena.answer_instead(&nonsense);
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    EXPECT_EQ(call(hpz_space_reset, space, team(), extents, nullptr, &report), -EPROTO)
        << nonsense.begin << " to " << nonsense.end;
    EXPECT_EQ(report.done_bytes, 0u);
    EXPECT_EQ(report.first_bad_offset, 100u);
    EXPECT_TRUE(all_are(arena.bytes(), arena.bytes() + arena.whole_len(), kPoison, ""));
  }
  // Runs that reach beyond what was asked for are fine.
  for (const Answer &wide : {Answer{0, UINT64_MAX}, Answer{100, 60'100}, Answer{0, 60'101}}) {
    arena.poison();
    arena.answer_instead(&wide);
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    EXPECT_EQ(call(hpz_space_reset, space, team(), extents, nullptr, &report), 0);
    EXPECT_EQ(report.cleared_bytes, 60'000u);
    EXPECT_TRUE(hpz_is_zero(arena.bytes() + 100, 60'000));
    EXPECT_EQ(arena.bytes()[99], kPoison);
    EXPECT_EQ(arena.bytes()[60'100], kPoison);
  }
  // So is none at all, said by a run behind the end.
  const Answer behind = {70'000, 80'000};
  arena.answer_instead(&behind);
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  EXPECT_EQ(call(hpz_space_reset, space, team(), extents, nullptr, &report), 0);
  EXPECT_EQ(report.skipped_bytes, 60'000u);
  // One that stops making sense only later.
  arena.poison();
  const Answer once = {200, 300};
  arena.answer_instead(&once);
  EXPECT_EQ(call(hpz_space_reset, space, team(), extents, nullptr, &report), -EPROTO);
  EXPECT_EQ(report.first_bad_offset, 300u);
  EXPECT_EQ(report.cleared_bytes, 100u);
  EXPECT_EQ(report.done_bytes, 200u);
  arena.answer_instead(nullptr);
}

TEST_P(CustomSpace, without_the_optional_callbacks) {
  CustomArena arena(kShapes[2], seed());
  const SpacePointer space =
      arena.make_space(CustomArena::kPopulate | CustomArena::kRelease | CustomArena::kFindUsed);
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  EXPECT_EQ(hpz_space_release(space.get(), team(), nullptr, 0, nullptr, &report), -EOPNOTSUPP);
  EXPECT_EQ(report.error, -EOPNOTSUPP);
  EXPECT_EQ(report.done_bytes, 0u);
  EXPECT_EQ(arena.calls(), 0u) << "before anything is done";
  EXPECT_EQ(hpz_space_populate(space.get(), team(), nullptr, 0, nullptr, &report), 0);
  EXPECT_EQ(report.populated_bytes, arena.len());
  EXPECT_TRUE(all_are(arena.bytes(), arena.bytes() + arena.whole_len(), kPoison, "populated"));
  for (uint64_t page = 0; page < 5; ++page) arena.set_unused(page, true);
  EXPECT_EQ(hpz_space_reset(space.get(), team(), nullptr, 0, nullptr, &report), 0);
  EXPECT_NE(report.flags & HPZ_JOB_NO_PROOF, 0u);
  EXPECT_EQ(report.cleared_bytes, arena.len());
  EXPECT_TRUE(hpz_is_zero(arena.bytes(), arena.len()));
}

void claim(int, siginfo_t *info, void *context) {
  if (hpz_fault_claim(info, context) != 1) _exit(77);
}

// The host's handler, for as long as this lives.
class ClaimingHandler {
 public:
  ClaimingHandler() {
    struct sigaction action = {};
    action.sa_sigaction = claim;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before_);
  }
  ~ClaimingHandler() { sigaction(SIGSEGV, &before_, nullptr); }
  ClaimingHandler(const ClaimingHandler &) = delete;
  ClaimingHandler &operator=(const ClaimingHandler &) = delete;

 private:
  struct sigaction before_;
};

// Inside of a window, among others that are mapped at the time.
TEST_P(CustomSpace, claimed_faults) {
  const ClaimingHandler handler;
  for (const ArenaShape &shape : kShapes) {
    CustomArena arena(shape, seed());
    const SpacePointer space = arena.make_space(CustomArena::kFindUsed);
    const uint64_t bad = arena.whole_len() / shape.page_bytes - 20;
    arena.protect_page(bad);
    const std::vector<hpz_extent> extents = {{100, shape.len - 300}};
    const Mask wanted = mask_of(extents, shape.len);
    for (const VerbCase &tried : {kCases[0], kCases[4]}) {
      arena.poison();
      hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
      options.chunk_bytes = 256 * 1024;
      hpz_job_report report = HPZ_JOB_REPORT_INIT;
      ASSERT_EQ(call(tried.verb, space, team(), extents, &options, &report), -EFAULT);
      EXPECT_EQ(report.first_bad_offset, bad * shape.page_bytes);
      ASSERT_NO_FATAL_FAILURE(expect_exact(arena, tried, wanted, report, options.chunk_bytes));
      EXPECT_EQ(arena.complaints(), "");
    }
    // In order, by one thread: all before it.
    arena.poison();
    hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
    options.threads = 1;
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    ASSERT_EQ(call(hpz_space_zero, space, team(), extents, &options, &report), -EFAULT);
    EXPECT_EQ(report.done_bytes, bad * shape.page_bytes - 100);
    EXPECT_EQ(report.cleared_bytes, report.done_bytes);
    EXPECT_TRUE(hpz_is_zero(arena.bytes() + 100, report.done_bytes));
    arena.protect_page(UINT64_MAX);
    EXPECT_EQ(call(hpz_space_zero, space, team(), extents, &options, &report), 0);
  }
}

// Rows of the direct space that are about jobs, not memory.
TEST_P(CustomSpace, cancel_deadline_progress) {
  CustomArena arena(kShapes[1], seed());
  const SpacePointer space = arena.make_space();
  const uint32_t cancel = 1;
  hpz_job_options cancelled = HPZ_JOB_OPTIONS_INIT, late = HPZ_JOB_OPTIONS_INIT;
  cancelled.cancel = &cancel;
  late.deadline_ns = 1;
  for (const Verb verb : kVerbs) {
    hpz_job_report report = HPZ_JOB_REPORT_INIT;
    EXPECT_EQ(verb(space.get(), team(), nullptr, 0, &cancelled, &report), -ECANCELED);
    EXPECT_EQ(report.done_bytes, 0u);
    EXPECT_EQ(verb(space.get(), team(), nullptr, 0, &late, &report), -ETIMEDOUT);
    EXPECT_EQ(report.done_bytes, 0u);
  }
  EXPECT_EQ(arena.calls(), 0u);
  EXPECT_TRUE(all_are(arena.bytes(), arena.bytes() + arena.whole_len(), kPoison, ""));

  hpz_job_options options = HPZ_JOB_OPTIONS_INIT;
  options.chunk_bytes = 64 * 1024;
  std::vector<uint64_t> told;
  options.user = &told;
  options.progress = [](void *user, uint64_t done, uint64_t) {
    static_cast<std::vector<uint64_t> *>(user)->push_back(done);
    return 0;
  };
  ASSERT_EQ(hpz_space_zero(space.get(), team(), nullptr, 0, &options, nullptr), 0);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back(), arena.len());
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));

  // Cancelled in the middle: what is zero is what the report says.
  options.progress = [](void *, uint64_t, uint64_t) { return 1; };
  hpz_job_report report = HPZ_JOB_REPORT_INIT;
  arena.poison();
  const int result = hpz_space_zero(space.get(), team(), nullptr, 0, &options, &report);
  if (team() == nullptr) {
    ASSERT_EQ(result, -ECANCELED) << "told after the first of many chunks";
  }
  ASSERT_TRUE(result == -ECANCELED || report.done_bytes == arena.len()) << result;
  const Mask all(arena.len(), 1);
  expect_exact(arena, kCases[0], all, report);
}

// A callback may clear other memory.
TEST_P(CustomSpace, callbacks_may_use_the_library) {
  static constexpr uint64_t kPages = 300;
  struct Simple {
    Memory memory{kPages * 4096};
    Memory other{64 * 1024};
  } simple;
  memset(simple.memory.begin(), kPoison, simple.memory.bytes());
  memset(simple.other.begin(), kPoison, simple.other.bytes());
  hpz_space_ops ops = HPZ_SPACE_OPS_INIT;
  ops.len = kPages * 4096;
  ops.map = [](void *context, uint64_t offset, uint64_t, void **out) {
    auto &self = *static_cast<Simple *>(context);
    *out = self.memory.begin() + offset;
    const SpacePointer space = make_space(self.other.begin(), self.other.bytes());
    return hpz_space_zero(space.get(), nullptr, nullptr, 0, nullptr, nullptr);
  };
  ops.unmap = [](void *, uint64_t, uint64_t, void *at) { hpz_is_zero(at, 4096); };
  hpz_space *created = nullptr;
  ASSERT_EQ(hpz_space_custom(&ops, &simple, &created), 0);
  const SpacePointer space(created, hpz_space_destroy);
  EXPECT_EQ(hpz_space_zero(space.get(), team(), nullptr, 0, nullptr, nullptr), 0);
  EXPECT_TRUE(hpz_is_zero(simple.memory.begin(), simple.memory.bytes()));
  EXPECT_TRUE(hpz_is_zero(simple.other.begin(), simple.other.bytes()));
}

TEST(CustomSpaceCreation, in_cxx) {
  std::vector<char> memory(4 * 4096, 'x');
  hpz_space_ops ops = HPZ_SPACE_OPS_INIT;
  ops.len = 3 * 4096;
  EXPECT_THROW(hpzero::space(ops, nullptr), std::system_error);
  ops.map = [](void *context, uint64_t offset, uint64_t, void **out) {
    const auto base = (reinterpret_cast<uintptr_t>(context) + 4095) / 4096 * 4096;
    *out = reinterpret_cast<void *>(base + offset);
    return 0;
  };
  ops.unmap = [](void *, uint64_t, uint64_t, void *) {};
  hpzero::space space(ops, memory.data());
  EXPECT_EQ(space.zero_all().cleared_bytes, ops.len);
  EXPECT_EQ(std::count(memory.begin(), memory.end(), 0), 3 * 4096);
}

}  // namespace
}  // namespace hpz::test
