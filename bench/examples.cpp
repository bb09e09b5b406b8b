// SPDX-License-Identifier: BSD-2-Clause
#include "bench/examples.h"

namespace hpz::bench {
namespace {

// One row per example. Kernels and pages are those that every machine has.
constexpr Example kExamples[] = {
    {"run", "hpzero-bench",
     "all kernels and policies, on what pages there are: 15 seconds beside warming memory", true},
    {"run", "hpzero-bench run --pages thp --memory cold --size 4KiB..16MiB",
     "one of its tables: ranges that are in no cache"},
    {"run", "hpzero-bench run --kernel hpz_zero_stream,memset --reference memset",
     "two rows, and what one is by the other within each round"},
    {"run", "hpzero-bench run --json before.json",
     "every sample into a file, for compare, report and programs of your own", true},

    {"list", "hpzero-bench list", "ids of the kernels, and what those that do not run here lack"},
    {"list", "HPZ_CPU_DISABLE=avx512f hpzero-bench list", "the same of a CPU without AVX-512"},

    {"explain", "hpzero-bench explain 2MiB", "the kernels that clear 2 MiB here, and why these",
     true},
    {"explain", "HPZ_KERNEL=memset hpzero-bench explain 2MiB", "whether a forced kernel is obeyed"},

    {"tune", "hpzero-bench tune --output hpzero.profile",
     "measures which kernel is best up to which size: a minute for each kind of pages", true},
    {"tune", "HPZ_PROFILE=hpzero.profile hpzero-bench explain 2MiB", "what that changed"},

    {"overhead", "hpzero-bench overhead", "nanoseconds that a call costs beyond its kernel"},
    {"overhead", "hpzero-bench overhead --repetitions 200 --json overhead.json",
     "by more samples, all of them kept"},

    {"parallel", "hpzero-bench parallel --pages thp --threads 1,2",
     "one thread and two, as a team and as plain threads"},
    {"parallel", "hpzero-bench parallel --kernel memset --json parallel.json",
     "plain threads that use memset, on all kinds of pages"},

    {"populate", "hpzero-bench populate --pages thp --size 512MiB --set 1GiB",
     "a mapping made resident, by the kernel alone and by teams; reset of 1 GiB"},
    {"populate", "hpzero-bench populate --pages 4k --threads 1 --json populate.json",
     "on small pages, by one thread"},

    {"mapping", "hpzero-bench mapping --pages thp --size 2MiB",
     "2 MiB of a file by temporary mappings of 4 KiB, and by a lasting one"},
    {"mapping", "hpzero-bench mapping --kernel memset --set 1GiB --json mapping.json",
     "all of it by memset, on 1 GiB of memory"},

    {"twice", "hpzero-bench twice --pages thp --size 512MiB",
     "what it costs to clear what the kernel has cleared just now"},
    {"twice", "hpzero-bench twice --repetitions 20 --json twice.json", "by twenty rounds, kept"},

    {"metadata", "hpzero-bench metadata --size 64GiB", "maps of less than 512 GiB"},
    {"metadata", "hpzero-bench metadata --repetitions 20 --json metadata.json",
     "by twenty rounds, kept"},

    {"pool", "hpzero-bench pool --pages thp --size 512MiB",
     "waits for a page where no huge pages are reserved"},
    {"pool", "hpzero-bench pool --json pool.json", "on huge pages, as far as there are any"},

    {"bystander", "hpzero-bench bystander --pages thp --kernel memset,hpz_zero_stream",
     "what memset drives out of the caches, and what streaming leaves there"},
    {"bystander", "hpzero-bench bystander --pages thp --set 4MiB --json bystander.json",
     "somebody with 4 MiB in the last level, beside all kernels"},

    {"compare", "hpzero-bench run --json after.json",
     "after an update, on another machine, with another kernel", true},
    {"compare", "hpzero-bench compare before.json after.json",
     "a line for each row and size: faster, slower or the same", true},
    {"compare", "hpzero-bench compare --fail-below 0.95 before.json after.json",
     "for scripts: exit code 1 if anything lost more than 5 %"},
    {"compare", "hpzero-bench compare --absolute --least-effect 10 before.json after.json",
     "one machine, its firmware set otherwise: what all rows did alike counts, less than 10 % not"},

    {"report", "hpzero-bench report machine.html",
     "measures all that fits the machine, for two minutes, and draws it", true},
    {"report", "hpzero-bench report runs.html before.json populate.json",
     "draws what these files have; measures nothing"},
    {"report", "hpzero-bench report runs.html before.json --png runs.png",
     "the first charts as a picture, too"},

    {"completion",
     "hpzero-bench completion bash > ~/.local/share/bash-completion/completions/hpzero-bench",
     "for bash with its package bash-completion, if this was not installed with them"},
    {"completion", "hpzero-bench completion zsh > ~/.zfunc/_hpzero-bench",
     "for zsh; that folder must be in fpath before compinit runs"},
    {"completion", "hpzero-bench completion fish > ~/.config/fish/completions/hpzero-bench.fish",
     "for fish"},

    {"man", "hpzero-bench man | man -l -", "read it, installed or not"},
    {"man", "hpzero-bench man > hpzero-bench.1", "the source, for man, groff or mandoc"},
};

}  // namespace

std::span<const Example> all_examples() {
  return kExamples;
}

std::string example_help(const Example &example) {
  return "  " + std::string(example.line) + "\n      " + std::string(example.meaning) + "\n";
}

}  // namespace hpz::bench
