// SPDX-License-Identifier: BSD-2-Clause
//
// Samples as times, as published figures are: mean, deviation, parts of another row's. Pure.
#ifndef HPZERO_BENCH_TIMES_H
#define HPZERO_BENCH_TIMES_H

#include <map>
#include <string>
#include <vector>

#include "bench/jobs.h"
#include "bench/statistics.h"

namespace hpz::bench {

// Of what a sample did several times, one time each: mean and standard deviation of the samples.
MeanDeviation time_ns(const std::vector<Sample> &samples);

// Median over rounds of a's time by b's in the same round, byte by byte; 0 if there are none.
double time_part(const std::vector<Sample> &a, const std::vector<Sample> &b);

std::string format_time(double ns);  // three digits: "874 ns", "131 us", "31.8 ms", "24.2 s"

// "12.3", "0.42", "0.0031": enough digits for a part.
std::string format_part(double part);
// Of a part: "62 %", "-13 %" for what takes longer.
std::string format_saved(double part);

// nullptr where there is none, or none that was measured.
const JobRowResult *measured_row(const JobResult &result, const std::string &id);

struct TimeTable {
  std::string reference;                       // row id; "": there is no column of parts
  std::string reference_name;                  // heading of the column of parts: "by NAME"
  std::string remark;                          // heading of the last column, if there is one
  std::map<std::string, std::string> remarks;  // by row id
};
std::string render_times(const JobResult &result, const TimeTable &table);

}  // namespace hpz::bench

#endif
