// SPDX-License-Identifier: BSD-2-Clause
//
// Structs of older and newer callers, and what the info structs say.
#include <errno.h>
#include <hpzero/hpzero.h>
#include <string.h>

#include <functional>
#include <vector>

#include "tests/support/guarded_buffer.h"
#include "tests/support/machine.h"

// In C every number is an enum: tests/api/by_number.c
extern "C" int plan_info_get_by_number(int policy, hpz_plan_info *out);

namespace hpz::test {
namespace {

// --- Output: min(size, own) bytes are written, the rest of the caller's is zeroed ---------------

// get fills a struct at that address, whatever the struct's size field says.
void expect_output_rules(size_t own, const std::function<int(void *)> &get) {
  for (size_t size = 0; size <= own + 80; ++size) {
    SCOPED_TRACE(size);
    // Flush against a guard page: a byte behind the struct is a fault.
    const GuardedBuffer buffer(own + 128);
    unsigned char *const at = buffer.end() - (size < sizeof(size_t) ? sizeof(size_t) : size);
    // Of odd sizes only the middle of the page is aligned for the size field; those sizes are none
    // that a compiler would make.
    if (size % alignof(size_t) != 0 && size >= sizeof(size_t)) continue;
    memcpy(at, &size, sizeof size);
    const int result = get(at);
    if (size < sizeof(size_t)) {
      EXPECT_EQ(result, -EINVAL);
      continue;
    }
    ASSERT_EQ(result, 0);
    size_t kept;
    memcpy(&kept, at, sizeof kept);
    EXPECT_EQ(kept, size);
    EXPECT_TRUE(all_are(buffer.begin(), at, kPoison, "before the struct"));
    if (size > own) {
      EXPECT_TRUE(all_are(at + own, at + size, 0, "what the library does not know"));
    }
  }
}

TEST(Structs, kernel_info_of_any_size) {
  expect_output_rules(sizeof(hpz_kernel_info), [](void *at) {
    return hpz_kernel_info_get(0, static_cast<hpz_kernel_info *>(at));
  });
}

TEST(Structs, plan_info_of_any_size) {
  expect_output_rules(sizeof(hpz_plan_info), [](void *at) {
    return hpz_plan_info_get(HPZ_POLICY_STREAM, static_cast<hpz_plan_info *>(at));
  });
}

TEST(Structs, a_short_struct_gets_the_same_content) {
  hpz_kernel_info whole = HPZ_KERNEL_INFO_INIT, part = HPZ_KERNEL_INFO_INIT;
  ASSERT_EQ(hpz_kernel_info_get(1, &whole), 0);
  part.size = offsetof(hpz_kernel_info, missing);
  part.lanes = 77;
  ASSERT_EQ(hpz_kernel_info_get(1, &part), 0);
  EXPECT_STREQ(part.id, whole.id);
  EXPECT_STREQ(part.summary, whole.summary);
  EXPECT_EQ(part.lanes, 77U);
}

TEST(Structs, bad_arguments_of_queries) {
  hpz_kernel_info kernel = HPZ_KERNEL_INFO_INIT;
  hpz_plan_info plan = HPZ_PLAN_INFO_INIT;
  EXPECT_EQ(hpz_kernel_info_get(hpz_kernel_count(), &kernel), -EINVAL);
  EXPECT_EQ(hpz_kernel_info_get(SIZE_MAX, &kernel), -EINVAL);
  EXPECT_EQ(hpz_kernel_info_get(0, nullptr), -EINVAL);
  EXPECT_EQ(kernel.id, nullptr) << "written in spite of the error";
  EXPECT_EQ(hpz_plan_info_get(HPZ_POLICY_AUTO, nullptr), -EINVAL);
  for (const int policy : {-1, 3, 1000000}) {
    EXPECT_EQ(plan_info_get_by_number(policy, &plan), -EINVAL) << policy;
  }
  EXPECT_EQ(plan.source, nullptr) << "written in spite of the error";
}

// --- Input: shorter is older, longer is newer and fine if what is unknown is zero ---------------

TEST(Structs, init_options_of_any_size) {
  struct Newer {
    hpz_init_options known;
    unsigned char tail[4096];
  } options;
  const auto init_with_size = [&options](size_t size) {
    options.known.size = size;
    return hpz_init(&options.known);
  };
  memset(&options, 0, sizeof options);
  options.known = HPZ_INIT_OPTIONS_INIT;
  for (const size_t size : Sizes{0, 1, 7}) EXPECT_EQ(init_with_size(size), -EINVAL) << size;
  EXPECT_EQ(init_with_size(offsetof(hpz_init_options, flags)), 0);
  EXPECT_EQ(init_with_size(offsetof(hpz_init_options, profile)), 0);
  EXPECT_EQ(init_with_size(sizeof(hpz_init_options)), 0);
  EXPECT_EQ(init_with_size(sizeof(hpz_init_options) + 8), 0);
  EXPECT_EQ(init_with_size(4096), 0);
  // A struct cut before a field does not speak about it.
  options.known.profile = "/nonexistent/profile";
  EXPECT_EQ(init_with_size(offsetof(hpz_init_options, profile)), 0);
  EXPECT_EQ(init_with_size(sizeof(hpz_init_options)), -ENOENT);
  options.known.profile = nullptr;
  // A tail that says something, in the last byte known and in the first that is not.
  for (const size_t at : Sizes{0, 8, 64, 4096 - sizeof(hpz_init_options) - 8}) {
    options.tail[at] = 1;
    EXPECT_EQ(init_with_size(4096), -EINVAL) << at;
    EXPECT_EQ(init_with_size(sizeof(hpz_init_options) + at + 8), -EINVAL) << at;
    EXPECT_EQ(init_with_size(sizeof(hpz_init_options) + at), 0) << at;
    options.tail[at] = 0;
    options.tail[at + 7] = 0x80;
    EXPECT_EQ(init_with_size(sizeof(hpz_init_options) + at + 8), -EINVAL) << at;
    options.tail[at + 7] = 0;
  }
  // A size that cuts a field in two.
  for (const size_t size :
       Sizes{9, 12, 20, sizeof(hpz_init_options) - 1, sizeof(hpz_init_options) + 1, 4095}) {
    EXPECT_EQ(init_with_size(size), -EINVAL) << size;
  }
  // A size that no struct has, as of memory that nobody initialised, is not walked.
  for (const size_t size : {size_t{1} << 20, size_t{1} << 40, SIZE_MAX}) {
    EXPECT_EQ(init_with_size(size), -EINVAL) << size;
  }
}

TEST(Structs, init_flags_that_nobody_knows) {
  hpz_init_options options = HPZ_INIT_OPTIONS_INIT;
  for (unsigned bit = 0; bit < 32; ++bit) {
    options.flags = uint32_t{1} << bit;
    const bool known = (options.flags & (HPZ_INIT_NO_PROBE | HPZ_INIT_CHECK_CPUS)) != 0;
    EXPECT_EQ(hpz_init(&options), known ? 0 : -EINVAL) << bit;
    options.flags |= HPZ_INIT_NO_PROBE;
    EXPECT_EQ(hpz_init(&options), known ? 0 : -EINVAL) << bit;
  }
  EXPECT_EQ(hpz_init(nullptr), 0);
}

// --- Content ------------------------------------------------------------------------------------

TEST(Structs, every_kernel_is_described) {
  std::set<std::string> ids;
  const std::vector<hpz_kernel_info> infos = kernel_infos();
  for (const hpz_kernel_info &info : infos) {
    SCOPED_TRACE(info.id);
    EXPECT_TRUE(ids.insert(info.id).second) << "twice";
    EXPECT_STRNE(info.summary, "");
    EXPECT_EQ(info.roles & ~(HPZ_ROLE_CACHED | HPZ_ROLE_BULK | HPZ_ROLE_STREAM | HPZ_ROLE_LIBC),
              0U);
    EXPECT_EQ(info.flags & ~HPZ_KERNEL_NEEDS_FENCE, 0U);
    EXPECT_GE(info.block_bytes, 1U);
    EXPECT_GE(info.lanes, 1U);
    EXPECT_LE(info.lanes, 16U);
    if (info.lanes > 1) {
      EXPECT_GE(info.lanes_from_bytes, info.lanes * uint64_t{64});
    }
    if (info.missing != nullptr) {
      EXPECT_STRNE(info.missing, "");
    }
    if (info.avoided != nullptr) {
      EXPECT_STRNE(info.avoided, "");
    }
  }
  for (const std::string &id : known_kernels()) EXPECT_EQ(ids.count(id), 1U) << id;
}

TEST(Structs, every_plan_is_described) {
  for (const hpz_policy policy : {HPZ_POLICY_AUTO, HPZ_POLICY_CACHED, HPZ_POLICY_STREAM}) {
    SCOPED_TRACE(static_cast<int>(policy));
    hpz_plan_info plan = HPZ_PLAN_INFO_INIT;
    ASSERT_EQ(hpz_plan_info_get(policy, &plan), 0);
    ASSERT_GE(plan.bands, 1U);
    ASSERT_LE(plan.bands, 8U);
    uint64_t below = 0;
    for (uint32_t i = 0; i < plan.bands; ++i) {
      EXPECT_GT(plan.band[i].upto_bytes, below);
      below = plan.band[i].upto_bytes;
      unsigned char byte = 1;
      EXPECT_EQ(hpz_zero_with(plan.band[i].kernel, &byte, 1), 0) << plan.band[i].kernel;
    }
    EXPECT_EQ(below, UINT64_MAX);
    EXPECT_STRNE(plan.source, "");
    EXPECT_NE(plan.features, nullptr);
    EXPECT_STRNE(plan.cpu, "");
    EXPECT_EQ(strchr(plan.cpu, ' '), nullptr);
    EXPECT_LE(plan.probe_from_bytes, plan.probe_upto_bytes);
    if (policy != HPZ_POLICY_AUTO) {
      EXPECT_EQ(plan.probe_upto_bytes, 0U) << "only hpz_zero ever times anything";
    }
  }
}

TEST(Structs, version_of_the_library_is_that_of_the_header) {
  EXPECT_EQ(hpz_version(), std::to_string(HPZ_VERSION_MAJOR) + '.' +
                               std::to_string(HPZ_VERSION_MINOR) + '.' +
                               std::to_string(HPZ_VERSION_PATCH));
  EXPECT_EQ(HPZ_VERSION_NUMBER,
            HPZ_VERSION_ENCODE(HPZ_VERSION_MAJOR, HPZ_VERSION_MINOR, HPZ_VERSION_PATCH));
  EXPECT_LT(HPZ_VERSION_ENCODE(0, 1, 999), HPZ_VERSION_ENCODE(0, 2, 0));
  EXPECT_LT(HPZ_VERSION_ENCODE(0, 999, 999), HPZ_VERSION_ENCODE(1, 0, 0));
}

}  // namespace
}  // namespace hpz::test
