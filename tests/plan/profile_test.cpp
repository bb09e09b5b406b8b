// SPDX-License-Identifier: BSD-2-Clause
//
// Profiles: what is one, what is not and in which line, and files that want to harm their reader.
#include "lib/plan/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <random>

#include "tests/plan/invented_kernel.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/settings.h"

namespace hpz::test {
namespace {

constexpr const char *kIdentity = "GenuineIntel-6-143-8";
const std::string kGood =
    "hpzero-profile 1\n"
    "# measured on a Tuesday\n"
    "\n"
    "cpu GenuineIntel-6-143-8\n"
    "cached 36864 avx512_st\n"
    "cached max rep_stosb\n"
    "stream 2048 memset\n"
    "stream max avx512_nt\n"
    "probe 262144 50331648\n";

// Rows by the names of some of x86, on every instruction set: the table is an argument. This CPU
// has no clzero.
constexpr FeatureSet kWide = 1, kString = 2, kOther = 4;
constexpr Kernel kTable[] = {
    invented_kernel("clzero", kStream, kOther),
    invented_kernel("avx512_nt", kStream, kWide),
    invented_kernel("avx512_st", kCached, kWide),
    invented_kernel("rep_stosb", kBulk | kStream, kString),
    invented_kernel("memset", kCached | kLibc),
    invented_kernel("word64"),
};

ProfileError parse(const std::string &text, Selection &out) {
  return parse_profile(text, kTable, kWide | kString, kIdentity, out);
}

std::string without(const std::string &line) {
  std::string text = kGood;
  text.erase(text.find(line), line.size() + 1);
  return text;
}
std::string instead_of(const std::string &line, const std::string &other) {
  std::string text = kGood;
  text.replace(text.find(line), line.size(), other);
  return text;
}

void expect_good(const std::string &text) {
  Selection selection;
  const ProfileError e = parse(text, selection);
  ASSERT_EQ(e.error, 0) << e.line << ": " << e.reason << "\n" << text;
  EXPECT_EQ(text_of(selection.cached), "36864:avx512_st,max:rep_stosb");
  EXPECT_EQ(text_of(selection.stream), "2048:memset,max:avx512_nt");
  EXPECT_EQ(selection.probe_from, 262144U);
  EXPECT_EQ(selection.probe_upto, 50331648U);
}

TEST(Profile, good_ones) {
  expect_good(kGood);
  expect_good(kGood.substr(0, kGood.size() - 1));  // no newline at the end
  expect_good(kGood + "\n\n#\n#x");
  expect_good(instead_of("cached max rep_stosb", "  cached   max  rep_stosb   "));
  expect_good(instead_of("max rep_stosb", "18446744073709551615 rep_stosb"));
  // The order of keywords is free; that of bands is not.
  expect_good(
      "hpzero-profile 1\nprobe 262144 50331648\nstream 2048 memset\n"
      "cached 36864 avx512_st\nstream max avx512_nt\ncached max rep_stosb\n"
      "cpu GenuineIntel-6-143-8");
  // Equal neighbours are one band.
  expect_good(instead_of("cached 36864 avx512_st", "cached 1 avx512_st\ncached 36864 avx512_st"));
}

TEST(Profile, no_probe_is_two_equal_numbers) {
  Selection selection;
  ASSERT_EQ(parse(instead_of("262144 50331648", "1048576 1048576"), selection).error, 0);
  EXPECT_EQ(selection.probe_from, 1048576U);
  EXPECT_EQ(selection.probe_upto, 1048576U);
}

TEST(Profile, every_error_and_its_line) {
  struct Case {
    std::string text;
    int error;
    unsigned line;
    const char *reason;
  };
  const std::string eight_bands = [] {
    std::string text;
    for (int i = 1; i <= 8; ++i) {
      text += "stream " + std::to_string(i) + (i % 2 == 0 ? " memset\n" : " avx512_nt\n");
    }
    return text;
  }();
  const char *const kNoHead = "does not begin with \"hpzero-profile 1\"";
  const Case cases[] = {
      {"", -EBADMSG, 1, kNoHead},
      {"\n" + kGood, -EBADMSG, 1, kNoHead},
      {" " + kGood, -EBADMSG, 1, kNoHead},
      {instead_of("profile 1", "profile 2"), -EBADMSG, 1, kNoHead},
      {instead_of("profile 1", "profile 1 "), -EBADMSG, 1, kNoHead},
      {instead_of("profile 1", "profile 1\r"), -EBADMSG, 1, kNoHead},
      {std::string("hpzero-profile 1\0\n", 18) + kGood, -EBADMSG, 1, kNoHead},
      {"hpzero-profile 1", -EBADMSG, 0, "has no cpu line"},
      {without("cpu GenuineIntel-6-143-8"), -EBADMSG, 0, "has no cpu line"},
      {without("probe 262144 50331648"), -EBADMSG, 0, "has no probe line"},
      {without("cached max rep_stosb"), -EBADMSG, 0, "has no \"cached max\" line"},
      {without("stream max avx512_nt"), -EBADMSG, 0, "has no \"stream max\" line"},
      {instead_of("# measured", "measured"), -EBADMSG, 2, "unknown keyword"},
      {instead_of("# measured", " # measured"), -EBADMSG, 2, "unknown keyword"},
      {instead_of("\n\n", "\n \n"), -EBADMSG, 3, "unknown keyword"},
      {instead_of("cached 36864", "cached\t36864"), -EBADMSG, 5, "unknown keyword"},
      {instead_of("cached 36864", "Cached 36864"), -EBADMSG, 5, "unknown keyword"},
      {instead_of("cpu GenuineIntel-6-143-8", "cpu GenuineIntel-6-143-8 x"), -EBADMSG, 4,
       "too many words"},
      {instead_of("avx512_st", "avx512_st memset"), -EBADMSG, 5, "too many words"},
      {instead_of("50331648", "50331648 # why"), -EBADMSG, 9, "too many words"},
      {instead_of("cpu GenuineIntel-6-143-8", "cpu GenuineIntel-6-143-9"), -ENODEV, 4,
       "is of another CPU"},
      {instead_of("cpu GenuineIntel-6-143-8", "cpu GenuineIntel-6-143-80"), -ENODEV, 4,
       "is of another CPU"},
      {instead_of("cpu GenuineIntel-6-143-8", "cpu"), -ENODEV, 4, "is of another CPU"},
      {kGood + "cpu GenuineIntel-6-143-8\n", -EBADMSG, 10, "second cpu line"},
      {kGood + "probe 262144 50331648\n", -EBADMSG, 10, "second probe line"},
      {instead_of("cached 36864", "cached x"), -EBADMSG, 5, "no number of bytes"},
      {instead_of("cached 36864", "cached -1"), -EBADMSG, 5, "no number of bytes"},
      {instead_of("cached 36864", "cached 0x100"), -EBADMSG, 5, "no number of bytes"},
      {instead_of("cached 36864", "cached 36KiB"), -EBADMSG, 5, "no number of bytes"},
      {instead_of("cached 36864", "cached 18446744073709551616"), -EBADMSG, 5,
       "no number of bytes"},
      {instead_of("cached 36864", "cached 99999999999999999999999"), -EBADMSG, 5,
       "no number of bytes"},
      {instead_of("cached 36864 avx512_st", "cached"), -EBADMSG, 5, "no number of bytes"},
      {instead_of("cached 36864", "cached 0"), -EBADMSG, 5, "bands do not ascend"},
      {instead_of("cached max", "cached 36864"), -EBADMSG, 6, "bands do not ascend"},
      {instead_of("cached max", "cached 36863"), -EBADMSG, 6, "bands do not ascend"},
      {kGood + "cached max memset\n", -EBADMSG, 10, "bands do not ascend"},
      {instead_of("avx512_st", "avx512"), -EBADMSG, 5, "no such kernel"},
      {instead_of("avx512_st", ""), -EBADMSG, 5, "no such kernel"},
      {instead_of("avx512_st", "AVX512_ST"), -EBADMSG, 5, "no such kernel"},
      {instead_of("avx512_nt", "clzero"), -ENODEV, 8, "kernel cannot run here"},
      {instead_of("stream 2048 memset\n", eight_bands), -EBADMSG, 15, "too many bands"},
      {instead_of("262144 50331648", ""), -EBADMSG, 9, "no number of bytes"},
      {instead_of("262144 50331648", "262144"), -EBADMSG, 9, "no number of bytes"},
      {instead_of("262144 50331648", "262144 max"), -EBADMSG, 9, "no number of bytes"},
      {instead_of("262144 50331648", "16383 50331648"), -EBADMSG, 9, "impossible probe range"},
      {instead_of("262144 50331648", "0 0"), -EBADMSG, 9, "impossible probe range"},
      {instead_of("262144 50331648", "262144 262143"), -EBADMSG, 9, "impossible probe range"},
  };
  for (const Case &c : cases) {
    Selection selection;
    const ProfileError e = parse(c.text, selection);
    EXPECT_EQ(e.error, c.error) << c.text;
    EXPECT_EQ(e.line, c.line) << c.text;
    EXPECT_STREQ(e.reason, c.reason) << c.text;
  }
}

// What hpz_plan_info reports for hpz_zero is one list of at most eight bands, the last one without
// limit: a profile that needs more is refused.
TEST(Profile, bands_of_both_policies_fit_one_list) {
  std::string cached, stream;
  for (int i = 1; i <= 7; ++i) {
    const char *const kernel = i % 2 == 0 ? " memset\n" : " word64\n";
    cached += "cached " + std::to_string(i) + kernel;
    stream += "stream " + std::to_string(i << 24) + kernel;
  }
  const std::string text = "hpzero-profile 1\ncpu GenuineIntel-6-143-8\nprobe 16384 16384\n" +
                           cached + "cached max rep_stosb\n" + stream + "stream max avx512_nt\n";
  Selection selection;
  const ProfileError e = parse(text, selection);
  EXPECT_EQ(e.error, -EBADMSG);
  EXPECT_STREQ(e.reason, "too many bands");
}

// Whatever a text is, the parser ends, and what it accepts is sound.
TEST(Profile, garbled_texts) {
  std::mt19937_64 random(seed());
  SCOPED_TRACE("HPZERO_TEST_SEED=" + std::to_string(seed()));
  const int rounds = quick() ? 2000 : 100000;
  int accepted = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string text = kGood;
    for (uint64_t changes = 1 + random() % 4; changes > 0 && !text.empty(); --changes) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 20);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 30));
          break;
        default:
          text.resize(at);
          break;
      }
    }
    Selection selection;
    const ProfileError e = parse(text, selection);
    if (e.error != 0) {
      ASSERT_STRNE(e.reason, "");
      continue;
    }
    ++accepted;
    for (const Bands *const bands : {&selection.cached, &selection.stream}) {
      ASSERT_GE(bands->count, 1U);
      ASSERT_LE(bands->count, kMaxBands);
      ASSERT_EQ(bands->band[bands->count - 1].upto, kNoLimit);
    }
    ASSERT_GE(selection.probe_from, 16384U);
    ASSERT_LE(selection.probe_from, selection.probe_upto);
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, rounds);
}

// --- Files --------------------------------------------------------------------------------------

class ProfileFile : public testing::Test {
 protected:
  long read(const std::string &path) { return read_profile(path.c_str(), buffer_.data()); }
  std::string write(const std::string &name, const std::string &content) {
    return folder_.write(name, content);
  }
  ScratchFolder folder_;
  // One byte more than a profile may have, to see that it is not touched.
  std::vector<char> buffer_ = std::vector<char>(kMaxProfileBytes + 1, '!');
};

TEST_F(ProfileFile, is_read_whole) {
  EXPECT_EQ(read(write("good", kGood)), static_cast<long>(kGood.size()));
  EXPECT_EQ(std::string(buffer_.data(), kGood.size()), kGood);
  EXPECT_EQ(buffer_[kGood.size()], '!');
  EXPECT_EQ(read(write("empty", "")), 0);
}

TEST_F(ProfileFile, may_have_64_KiB_and_not_a_byte_more) {
  const std::string largest(kMaxProfileBytes, '#');
  EXPECT_EQ(read(write("largest", largest)), static_cast<long>(kMaxProfileBytes));
  EXPECT_EQ(read(write("too_large", largest + '#')), -EFBIG);
  EXPECT_EQ(buffer_[kMaxProfileBytes], '!');
  const std::string sparse = write("sparse", "");
  ASSERT_EQ(truncate(sparse.c_str(), off_t{1} << 40), 0);
  EXPECT_EQ(read(sparse), -EFBIG);
}

TEST_F(ProfileFile, must_be_a_regular_file) {
  EXPECT_EQ(read(folder_.path("none")), -ENOENT);
  EXPECT_EQ(read(""), -ENOENT);
  EXPECT_EQ(read(folder_.path("none/at/all")), -ENOENT);
  EXPECT_EQ(read(write("file", kGood) + "/below"), -ENOTDIR);
  EXPECT_EQ(read(folder_.path()), -EBADMSG);
  EXPECT_EQ(read("/dev/zero"), -EBADMSG);
  EXPECT_EQ(read("/dev/null"), -EBADMSG);
  const std::string loop = folder_.path("loop");
  ASSERT_EQ(symlink(loop.c_str(), loop.c_str()), 0);
  EXPECT_EQ(read(loop), -ELOOP);
  EXPECT_EQ(read(std::string(5000, 'x')), -ENAMETOOLONG);
  // Nobody writes to it: opening it the ordinary way would wait for ever.
  const std::string fifo = folder_.path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(read(fifo), -EBADMSG);
}

// Files of /proc say that they are regular and have 0 bytes; some never end.
TEST_F(ProfileFile, that_lies_about_its_size) {
  const long size = read("/proc/self/maps");
  EXPECT_GT(size, 0);
  EXPECT_LE(size, static_cast<long>(kMaxProfileBytes));
  EXPECT_EQ(buffer_[kMaxProfileBytes], '!');
}

TEST_F(ProfileFile, leaves_no_descriptor_open) {
  const auto next_descriptor = [] {
    const int fd = open("/dev/null", O_RDONLY);
    close(fd);
    return fd;
  };
  const int before = next_descriptor();
  read(write("good", kGood));
  read(write("too_large", std::string(kMaxProfileBytes + 1, '#')));
  read(folder_.path());
  read("/dev/zero");
  EXPECT_EQ(next_descriptor(), before);
}

// Row "hostile profile": one line without an end, and every byte value.
TEST_F(ProfileFile, hostile_content) {
  std::string bytes;
  while (bytes.size() < kMaxProfileBytes) bytes += static_cast<char>(bytes.size());
  for (const std::string &content :
       {std::string(kMaxProfileBytes, 'x'), std::string(kMaxProfileBytes, ' '),
        std::string(kMaxProfileBytes, '\n'), std::string(kMaxProfileBytes, '\0'), bytes,
        "hpzero-profile 1\n" + std::string(60000, 'x'),
        "hpzero-profile 1\ncached " + std::string(60000, '9'),
        "hpzero-profile 1\ncached " + std::string(60000, ' ')}) {
    const long size = read(write("hostile", content));
    ASSERT_EQ(size, static_cast<long>(content.size()));
    Selection selection;
    const ProfileError e = parse(std::string(buffer_.data(), static_cast<size_t>(size)), selection);
    EXPECT_EQ(e.error, -EBADMSG);
  }
}

}  // namespace
}  // namespace hpz::test
