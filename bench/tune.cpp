// SPDX-License-Identifier: BSD-2-Clause
//
// hpzero-bench tune: measures which kernel leads at which size, on every kind of pages and every
// node of this machine, and writes the profile that hpz_init reads. The measuring is
// tune_places.cpp's, the decisions are evidence.cpp's and bands.cpp's.
#include <hpzero/hpzero.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <optional>

#include "bench/atomic_file.h"
#include "bench/bands.h"
#include "bench/bystander_rounds.h"
#include "bench/context.h"
#include "bench/evidence.h"
#include "bench/experiment.h"
#include "bench/json_schema.h"
#include "bench/measure.h"
#include "bench/nodes.h"
#include "bench/progress.h"
#include "bench/refusal.h"
#include "bench/sizes.h"
#include "bench/table.h"
#include "bench/threads.h"
#include "bench/tune_places.h"
#include "bench/warnings.h"

namespace hpz::bench {
namespace {

// Of each place, without --seconds: what the confidence of a quiet machine takes.
constexpr double kSecondsPerPlace = 60;

std::vector<Band> bands_of(const hpz_plan_info &plan) {
  std::vector<Band> bands;
  for (uint32_t i = 0; i < plan.bands; ++i) {
    bands.push_back({plan.band[i].upto_bytes, plan.band[i].kernel});
  }
  return bands;
}

BuiltIn built_in() {
  const hpz_plan_info automatic = plan_of(HPZ_POLICY_AUTO);
  return {bands_of(plan_of(HPZ_POLICY_CACHED)),
          bands_of(plan_of(HPZ_POLICY_STREAM)),
          {automatic.probe_from_bytes, automatic.probe_upto_bytes}};
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[32] = "";
  std::tm calendar;
  if (gmtime_r(&now, &calendar) != nullptr) {
    std::strftime(text, sizeof text, "%Y-%m-%d", &calendar);
  }
  return text;
}

// Rates of the kernels that got a band, and of those that had it, per size: what the decision was
// made of.
std::string decision_table(const std::vector<SizeRates> &sizes, const std::vector<Band> &bands,
                           const std::vector<Band> &built_in) {
  TextTable table;
  std::vector<std::string> heading{"size"};
  std::vector<std::string> kernels{"memset"};
  for (const std::vector<Band> *list : {&bands, &built_in}) {
    for (const Band &band : *list) {
      if (std::find(kernels.begin(), kernels.end(), band.kernel) == kernels.end()) {
        kernels.push_back(band.kernel);
      }
    }
  }
  heading.insert(heading.end(), kernels.begin(), kernels.end());
  heading.push_back("built in");
  heading.push_back("chosen");
  table.add_row(heading);
  for (const SizeRates &at : sizes) {
    std::vector<std::string> line{format_size(at.size)};
    for (const std::string &kernel : kernels) {
      const auto found = at.rates.find(kernel);
      line.push_back(found == at.rates.end() ? "-" : format_rate(found->second));
    }
    const std::string &chosen = band_kernel(bands, at.size);
    line.push_back(at.usual);
    line.push_back(chosen == at.usual ? "=" : chosen);
    table.add_row(std::move(line));
  }
  return table.text();
}

// What one profile for all of them costs each place.
std::string reached_table(const TuneSamples &samples, const Choice &choice) {
  TextTable table;
  table.add_row({"of the best kernel's rate", "profile", "at worst", "built in", "at worst"});
  for (size_t place = 0; place < samples.places.size(); ++place) {
    const Reached profile = reached_by(samples, place, choice.cached, choice.stream);
    const Reached before =
        reached_by(samples, place, samples.built_in.cached, samples.built_in.stream);
    table.add_row({samples.places[place], format_percent(profile.median),
                   format_percent(profile.least), format_percent(before.median),
                   format_percent(before.least)});
  }
  return table.text();
}

struct Measured {
  std::vector<JobPlace> places;  // that could be had
  std::vector<PlaceSamples> samples;
  std::vector<std::string> notes;
  double stolen_part = 0;  // of the CPUs' time, by the hypervisor
};

Measured measure(const Options &options, Rounds &rounds, Meter &meter) {
  const std::vector<int> cpus = usable_cpu_numbers();
  const std::vector<JobPlace> places = tune_places(options.pages);
  const auto count = static_cast<double>(places.size());
  double seconds = options.seconds.value_or(kSecondsPerPlace * count);
  Measured measured;
  const StolenTime stolen_before = stolen_time();
  Progress progress;
  for (size_t i = 0; i < places.size(); ++i) {
    // Who cannot be had leaves its part of --seconds to the others.
    const TuneTime time = {seconds / static_cast<double>(places.size() - i),
                           options.repetitions.value_or(0)};
    try {
      measured.samples.push_back(
          measure_tune_place(places[i], options, time, cpus, rounds, meter, progress));
      measured.places.push_back(places[i]);
    } catch (const Refusal &refusal) {
      if (!options.pages.empty()) throw;
      measured.notes.push_back("not measured: " + places[i].title() + ": " + refusal.what());
      if (!options.seconds) seconds -= time.seconds;
      continue;
    }
    seconds = std::max(0.0, seconds - time.seconds);
  }
  if (measured.places.empty()) throw Refusal(measured.notes.back());
  measured.stolen_part = stolen_part_since(stolen_before);
  return measured;
}

void print_bystanders(std::FILE *out, const JobPlace &place, const PlaceSamples &samples) {
  std::fprintf(
      out,
      "by-standers on %s: times as long as warm, after and during %s; working sets %s and %s; "
      "other thread: %s\n%s\n",
      place.title().c_str(), format_size(samples.cold.back().cell.size).c_str(),
      format_size_rounded(samples.sets.l2_bytes).c_str(),
      format_size_rounded(samples.sets.llc_bytes).c_str(),
      samples.neighbour.cpu < 0 ? "none" : samples.neighbour.title.c_str(),
      render_bystanders(samples.bystanders).c_str());
}

// The result: the warnings, joined as for JSON.
std::string print_notes(std::FILE *out, const Measured &measured, const TuneSamples &samples,
                        const Choice &choice, const Meter &meter) {
  std::vector<std::string> notes = measured.notes;
  Circumstances circumstances;
  circumstances.caches = meter.caches();
  circumstances.cpus = online_cpus();
  circumstances.stolen_part = measured.stolen_part;
  circumstances.is_pinned = true;
  circumstances.has_size_list = false;
  std::vector<CellResult> results;
  for (const PlaceSamples &place : measured.samples) {
    if (!place.shortfall.empty()) notes.push_back(place.shortfall);
    uint64_t &least = circumstances.smallest_cold_set_bytes;
    least = least == 0 ? place.set_bytes : std::min(least, place.set_bytes);
    circumstances.governor = governor(place.cpu);
    circumstances.is_pinned &= place.cpu >= 0;
    results.insert(results.end(), place.recycled.begin(), place.recycled.end());
    results.insert(results.end(), place.cold.begin(), place.cold.end());
  }
  notes.insert(notes.end(), choice.doubts.begin(), choice.doubts.end());
  for (size_t place = 0; samples.places.size() > 1 && place < samples.places.size(); ++place) {
    for (std::string &line : find_dissent(samples, place, choice)) notes.push_back(std::move(line));
  }
  std::vector<std::string> warnings = find_warnings(results, circumstances);
  for (const PlaceSamples &place : measured.samples) {
    for (std::string &line : bystander_warnings(
             place.bystanders, kBystanderControl, place.sets,
             "see what a smaller one costs by 'hpzero-bench bystander --set SIZE'")) {
      if (std::find(warnings.begin(), warnings.end(), line) == warnings.end()) {
        warnings.push_back(std::move(line));
      }
    }
  }
  for (const std::string &line : notes) std::fprintf(out, "note: %s\n", line.c_str());
  for (const std::string &line : warnings) std::fprintf(out, "warning: %s\n", line.c_str());
  return joined_warnings(warnings);
}

// The library's own plan is among what describes the machine.
void describe(const Measured &measured, const Meter &meter, const std::string &warnings,
              Rounds &rounds) {
  for (const auto &[key, value] : describe_machine(measured.samples.front().cpu)) {
    rounds.add_context(key, value);
  }
  rounds.add_context(std::string(kClockCostKey), decimals(meter.clock_cost_ns(), 0));
  rounds.add_context(std::string(kWarningsKey), warnings);
  for (size_t i = 0; i < measured.places.size(); ++i) {
    rounds.add_context("memory_" + std::string(page_kind_id(measured.places[i].kind)) +
                           node_suffix(measured.places[i].node),
                       measured.samples[i].memory);
  }
}

Profile make_profile(const Measured &measured, const Choice &choice) {
  Profile profile;
  profile.cpu = plan_of(HPZ_POLICY_AUTO).cpu;
  profile.cached = choice.cached;
  profile.stream = choice.stream;
  profile.probe = choice.probe;
  profile.comments = {"written by hpzero-bench tune of libhpzero " + std::string(hpz_version()) +
                      ", " + today()};
  for (const PlaceSamples &place : measured.samples) {
    profile.comments.push_back("on " + place.memory);
  }
  profile.comments.push_back(
      "cached: recycled ranges; stream: cold ranges, without kernels that certainly cost "
      "by-standers "
      "more");
  profile.comments.push_back(
      "another kernel than the built-in one only where it is certainly faster, over all of them, "
      "or "
      "cheaper to by-standers");
  profile.comments.push_back("hpz_zero asks the cache inside the probe range");
  return profile;
}

int run(const Options &options) {
  std::optional<AtomicFile> output, json;
  if (options.output) output.emplace(*options.output, "--output");
  if (options.json) json.emplace(*options.json, "--json");
  // What is usual here is what the library does by itself, not what an older profile says.
  unsetenv("HPZ_PROFILE");
  unsetenv("HPZ_KERNEL");
  hpz_init(nullptr);
  // The profile goes to standard output if nowhere else: then all else goes to standard error.
  std::FILE *const out = output ? stdout : stderr;

  Rounds rounds;
  Meter meter(rounds);
  const Measured measured = measure(options, rounds, meter);
  TuneSamples samples = gather(measured.places, measured.samples);
  samples.built_in = built_in();
  const Choice choice = choose(samples);

  std::fprintf(out, "tuned for %s\n", plan_of(HPZ_POLICY_AUTO).cpu);
  for (const PlaceSamples &place : measured.samples) {
    std::fprintf(out, "on %s\n", place.memory.c_str());
  }
  const char *const over = measured.places.size() > 1 ? ", geometric mean of all places" : "";
  std::fprintf(out, "\ncached: recycled ranges, GB/s%s\n%s\n", over,
               decision_table(choice.recycled, choice.cached, samples.built_in.cached).c_str());
  std::fprintf(out, "stream: cold ranges, GB/s%s\n%s\n", over,
               decision_table(choice.cold, choice.stream, samples.built_in.stream).c_str());
  for (size_t i = 0; i < measured.places.size(); ++i) {
    print_bystanders(out, measured.places[i], measured.samples[i]);
  }
  std::fprintf(out, "%s\n", reached_table(samples, choice).c_str());
  const std::string warnings = print_notes(out, measured, samples, choice, meter);

  if (json) {
    describe(measured, meter, warnings, rounds);
    json->commit(rounds.json(options.command));
  }
  const std::string noise = find_noisy_place(samples);
  if (!noise.empty() && !options.is_forced) {
    throw Refusal("no profile is written, for this run was too noisy: " + noise +
                  "; stop other programs, give it a larger --seconds, or use --force");
  }
  const std::string text = format_profile(make_profile(measured, choice));
  if (output) {
    output->commit(text);
    std::fprintf(out,
                 "\nwrote %s; to use it, start programs that call hpz_init with\nHPZ_PROFILE=%s\n",
                 options.output->c_str(), options.output->c_str());
  } else {
    std::fputs(text.c_str(), stdout);
    std::fprintf(out,
                 "\nto use it, keep standard output in a FILE and start programs that call "
                 "hpz_init with\nHPZ_PROFILE=FILE\n");
  }
  return kExitOk;
}

}  // namespace

const Experiment kTune = {
    "tune",
    "",
    "measures bands on this machine and writes a profile",
    0,
    "--pages --set --seconds --repetitions --output --force --json",
    "  sizes up to 1GiB, recycled ones to 256MiB;\n"
    "  pages 1g, 2m, thp and 4k, on every node with memory;\n"
    "  a minute of measuring for each of them: --seconds is for all together\n",
    run,
};

}  // namespace hpz::bench
