// SPDX-License-Identifier: BSD-2-Clause
//
// What a subcommand is. To add one: a file that defines its Experiment, and a row in
// experiments.cpp.
#ifndef HPZERO_BENCH_EXPERIMENT_H
#define HPZERO_BENCH_EXPERIMENT_H

#include "bench/options.h"

namespace hpz::bench {

struct Experiment {
  std::string_view name, operands, summary;  // no summary: not for people, not listed
  size_t operand_count;
  std::string_view options;     // those that it understands, separated by blanks
  std::string_view usual;       // pages and sizes without options, in lines; none: it has neither
  int (*run)(const Options &);  // exit code; throws Refusal
  std::string_view more_operands = "";  // as in the help, any number of them; none: no more
};

extern const Experiment kRun, kList, kExplain, kTune, kOverhead, kParallel, kPopulate, kMapping,
    kTwice, kMetadata, kPool, kBystander, kCompare, kReport, kCompletion, kManual, kFirstCall,
    kMemsetSamples, kIds;

}  // namespace hpz::bench

#endif
