// SPDX-License-Identifier: BSD-2-Clause
//
// What --help and the manual say of the program as a whole. Of subcommands and options it is their
// tables that say it.
#ifndef HPZERO_BENCH_ABOUT_H
#define HPZERO_BENCH_ABOUT_H

#include <string_view>

namespace hpz::bench {

inline constexpr std::string_view kProgram = "hpzero-bench";
inline constexpr std::string_view kTagline = "how fast this machine clears memory, and by what";

// Paragraphs.
inline constexpr std::string_view kDescription[] = {
    "hpzero-bench shows how fast this machine clears memory, by which kernel of libhpzero, and "
    "whether the library picked the right one. Without a command it measures the kernels and "
    "policies against sizes, on what kinds of pages the machine can give.",
    "Huge pages that are missing are reserved where that is permitted, and taken away again at the "
    "end, also by any signal that ends the process but SIGKILL. Nothing else of the machine is "
    "changed.",
    "Options may stand before and behind operands; a value follows its option or an equals sign. "
    "Lists have single commas.",
};

inline constexpr std::string_view kUnits =
    "Sizes have units: B, KiB, MiB, GiB, kB, MB, GB. Rates are decimal: 1 GB/s is 10^9 bytes a "
    "second.";

struct NamedWords {
  std::string_view name, meaning;
};

inline constexpr NamedWords kExitCodes[] = {
    {"0", "done"},
    {"1", "failed (compare: slower than --fail-below)"},
    {"2", "refused (standard error says what to do instead)"},
};

// The library reads them; a test compares with its sources.
inline constexpr NamedWords kEnvironment[] = {
    {"HPZ_KERNEL", "id of the only kernel that the library is to use, but for short ranges"},
    {"HPZ_CPU_DISABLE", "features of the CPU to do without, as avx512f,clzero"},
    {"HPZ_PROFILE", "file that tune wrote on this machine: the library chooses by it"},
};

inline constexpr NamedWords kFiles[] = {
    {"/sys/kernel/mm/hugepages/hugepages-*/nr_hugepages",
     "the kernel's pools of huge pages: raised while they are measured on, as root, and put back"},
};

inline constexpr std::string_view kSeeAlso[] = {"memset(3)", "madvise(2)", "taskset(1)",
                                                "numactl(8)"};

}  // namespace hpz::bench

#endif
