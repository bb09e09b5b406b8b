// SPDX-License-Identifier: BSD-2-Clause
//
// Files of --json as text, made to order.
#ifndef HPZERO_TESTS_BENCH_RECORDED_H
#define HPZERO_TESTS_BENCH_RECORDED_H

#include <string>
#include <utility>
#include <vector>

#include "bench/json_schema.h"

namespace hpz::bench::test {

using Keys = std::vector<std::pair<std::string, std::string>>;  // values as JSON has them

inline std::string object(const Keys &keys) {
  std::string text;
  for (const auto &[key, value] : keys) {
    text += (text.empty() ? "" : ", ");
    text += '"';
    text += key;
    text += "\": ";
    text += value;
  }
  return "{" + text + "}";
}

// keys with those of changes instead, in their places or behind; an empty value takes one away.
inline Keys changed(Keys keys, const Keys &changes) {
  for (const auto &[key, value] : changes) {
    size_t at = 0;
    while (at < keys.size() && keys[at].first != key) ++at;
    if (at == keys.size()) keys.emplace_back(key, "");
    keys[at].second = value;
    if (value.empty()) keys.erase(keys.begin() + static_cast<Keys::difference_type>(at));
  }
  return keys;
}

// 16 KiB in 1000 ns.
inline Keys entry(const std::string &name, int round, const Keys &changes = {}) {
  return changed({{"name", "\"" + name + "\""},
                  {"run_type", "\"iteration\""},
                  {"repetition_index", std::to_string(round)},
                  {"threads", "1"},
                  {"visit", "0.0"},
                  {"real_time", "1.0000000000000000e+03"},
                  {"time_unit", "\"ns\""},
                  {"bytes", "1.6384000000000000e+04"},
                  {"bytes_per_second", "1.6384e+10"},
                  {"ns", "1.0000000000000000e+03"},
                  {"page_faults", "0.0"},
                  {"preempted", "0.0"},
                  {"ranges", "4.0"},
                  {"sections", "1.0"},
                  {"subtracted_clock_ns", "20.0"}},
                 changes);
}

inline Keys timed_entry(const std::string &name, int round, double ns) {
  return entry(name, round, {{"ns", std::to_string(ns)}, {"real_time", std::to_string(ns)}});
}

inline Keys usual_context(const Keys &changes = {}) {
  return changed({{"date", "\"2026-11-30T12:00:00+00:00\""},
                  {"num_cpus", "2"},
                  {"caches", R"([{"type": "Data", "level": 1}])"},
                  {"hpzero_schema", "\"" + std::to_string(kJsonSchema) + "\""},
                  {"hpzero_command", "\"run\""},
                  {"hpzero_version", "\"0.1.0\""}},
                 changes);
}

inline std::string results_text(const std::vector<Keys> &entries,
                                const Keys &context = usual_context()) {
  std::string list;
  for (const Keys &keys : entries) list += (list.empty() ? "" : ",\n") + object(keys);
  return object({{"context", object(context)}, {"benchmarks", "[" + list + "]"}});
}

}  // namespace hpz::bench::test

#endif
