// SPDX-License-Identifier: BSD-2-Clause
#include "bench/evidence.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <utility>

#include "bench/bystander_rounds.h"
#include "bench/significance.h"
#include "bench/sizes.h"
#include "bench/table.h"

namespace hpz::bench {
namespace {

double geometric_mean(const std::vector<double> &values) {
  double logarithms = 0;
  for (const double value : values) logarithms += std::log(value);
  return values.empty() ? 0 : std::exp(logarithms / static_cast<double>(values.size()));
}

// --- Rates -------------------------------------------------------------------------------------

KernelRates rates_of_place(const KernelSamples &samples) {
  std::vector<const std::vector<Sample> *> rows;
  for (const auto &[kernel, taken] : samples) rows.push_back(&taken);
  const std::vector<double> levelled = levelled_rates(rows);
  KernelRates result;
  size_t next = 0;
  for (const auto &[kernel, taken] : samples) {
    const double rate = levelled[next++];
    if (rate > 0) result[kernel] = rate;
  }
  return result;
}

double noise_of_place(const KernelSamples &samples) {
  std::vector<double> errors;
  for (const auto &[kernel, taken] : samples) errors.push_back(relative_error(rates(taken)));
  return median(std::move(errors));
}

// A geometric mean loses the least part of the rate, over all places: none of them counts for more
// because it is the fastest.
SizeRates rates_of_all(const SizeSamples &samples, const std::vector<Band> &built_in) {
  SizeRates at;
  at.size = samples.size;
  if (!built_in.empty()) at.usual = band_kernel(built_in, samples.size);
  std::map<std::string, std::vector<double>> by_kernel;
  size_t places = 0;
  double squares = 0;
  for (const KernelSamples &place : samples.places) {
    const KernelRates here = rates_of_place(place);
    if (here.empty()) continue;
    ++places;
    double best = 0;
    for (const auto &[kernel, rate] : here) best = std::max(best, rate);
    for (const auto &[kernel, rate] : here) {
      by_kernel[kernel].push_back(rate);
      double &share = at.least_share.try_emplace(kernel, 1).first->second;
      share = std::min(share, rate / best);
    }
    squares += std::pow(noise_of_place(place), 2);
    size_t rounds = 0;
    for (const auto &[kernel, taken] : place) rounds = std::max(rounds, taken.size());
    at.rounds = places == 1 ? rounds : std::min(at.rounds, rounds);
  }
  for (const auto &[kernel, at_places] : by_kernel) {
    if (at_places.size() == places) at.rates[kernel] = geometric_mean(at_places);
  }
  if (places > 0) at.noise = std::sqrt(squares) / static_cast<double>(places);
  return at;
}

std::vector<SizeRates> rates_of_all(const std::vector<SizeSamples> &sizes,
                                    const std::vector<Band> &built_in) {
  std::vector<SizeRates> result;
  for (const SizeSamples &at : sizes) result.push_back(rates_of_all(at, built_in));
  return result;
}

const std::vector<Sample> *samples_of(const KernelSamples &place, const std::string &kernel) {
  const auto found = place.find(kernel);
  return found == place.end() || found->second.empty() ? nullptr : &found->second;
}

// --- Questions, and how far to believe the answers ---------------------------------------------

std::vector<double> times(std::vector<double> values, double factor) {
  for (double &value : values) value *= factor;
  return values;
}

// Rates of a and factor times those of b: that a is certainly faster, and seems to be so by a
// factor, is not yet that it is certainly so by that factor.
std::vector<Stratum> strata_of(const SizeSamples &samples, const std::string &a,
                               const std::string &b, double factor) {
  std::vector<Stratum> strata;
  for (const KernelSamples &place : samples.places) {
    const std::vector<Sample> *const of_a = samples_of(place, a);
    const std::vector<Sample> *const of_b = samples_of(place, b);
    if (of_a != nullptr && of_b != nullptr) {
      strata.push_back({rates(*of_a), times(rates(*of_b), factor)});
    }
  }
  return strata;
}

// a's rate by b's in the place where a does worst.
double least_ratio(const SizeSamples &samples, const std::string &a, const std::string &b) {
  double least = INFINITY;
  for (const KernelSamples &place : samples.places) {
    const KernelRates here = rates_of_place(place);
    const auto of_a = here.find(a), of_b = here.find(b);
    if (of_a != here.end() && of_b != here.end()) {
      least = std::min(least, of_a->second / of_b->second);
    }
  }
  return least;
}

class Questions {
 public:
  // Whether a's figures are the larger ones. What would be of no consequence is asked like all
  // others, for it was looked at.
  size_t ask(const std::vector<Stratum> &strata, bool matters) {
    least_.push_back(least_stratified_p(strata));
    const StratifiedTest test = matters ? stratified_test(strata) : StratifiedTest();
    p_.push_back(test.is_a_larger ? test.p : 1);
    return p_.size() - 1;
  }
  // By question: certainly so.
  std::vector<bool> answers() const { return believed(p_, least_, kMostDoubt); }

 private:
  std::vector<double> p_, least_;
};

// --- Who costs by-standers more ----------------------------------------------------------------

// If working sets become this much slower while nothing is cleared, what kernels cost is drowned in
// what others do.
constexpr double kLoudControl = 1.5;

bool is_loud(const std::vector<BystanderRow> &rows) {
  return std::any_of(rows.begin(), rows.end(), [](const BystanderRow &row) {
    return row.id == kBystanderControl && row.cost().together() > kLoudControl;
  });
}

// One figure a sample, as BystanderCost::together has one of all: of those during which nobody else
// had the CPU, if there are any.
std::vector<double> slow_downs(const std::vector<Sample> &samples) {
  std::vector<double> undisturbed, all;
  for (const Sample &sample : samples) {
    std::vector<double> times;
    for (const Reread &read : {sample.l2, sample.llc}) {
      if (read.warm_ns > 0 && read.ns > 0) times.push_back(std::max(read.ns / read.warm_ns, 1.0));
    }
    if (times.empty()) continue;
    all.push_back(geometric_mean(times));
    if (sample.preempted == 0) undisturbed.push_back(all.back());
  }
  return undisturbed.empty() ? all : undisturbed;
}

struct Costs {
  KernelCosts together;                                   // over all places
  std::set<std::pair<std::string, std::string>> certain;  // the first costs more than the second
};

Costs costs_of(const std::vector<std::vector<BystanderRow>> &places) {
  std::map<std::string, std::vector<double>> by_kernel;
  std::map<std::string, std::vector<std::vector<double>>> figures;  // by place and who reads
  size_t used = 0;
  for (const std::vector<BystanderRow> &rows : places) {
    if (rows.empty() || is_loud(rows)) continue;
    ++used;
    for (const BystanderRow &row : rows) {
      if (row.id == kBystanderControl || row.same.size() < kRoundsToTrust) continue;
      by_kernel[row.id].push_back(row.cost().together());
      for (const std::vector<Sample> *samples : {&row.same, &row.other_l2, &row.other_llc}) {
        figures[row.id].push_back(slow_downs(*samples));
      }
    }
  }
  Costs costs;
  for (const auto &[kernel, at_places] : by_kernel) {
    if (at_places.size() == used) costs.together[kernel] = geometric_mean(at_places);
  }
  Questions questions;
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto &[dear, cost] : costs.together) {
    for (const auto &[cheap, less] : costs.together) {
      if (cost <= less) continue;
      std::vector<Stratum> strata;
      const auto &a = figures[dear], &b = figures[cheap];
      for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        strata.push_back({a[i], times(b[i], kDearer)});
      }
      questions.ask(strata, true);
      pairs.emplace_back(dear, cheap);
    }
  }
  const std::vector<bool> answers = questions.answers();
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (answers[i]) costs.certain.insert(pairs[i]);
  }
  return costs;
}

// --- Who is faster than the usual kernel -------------------------------------------------------

enum class Finding { kOpen, kFaster, kSlower };
using Findings = std::map<std::string, Finding>;  // by kernel, of one size

struct State {
  const std::vector<SizeSamples> &samples;
  std::vector<SizeRates> rates;
  std::vector<Findings> verdicts = {};
};

void judge(std::vector<State *> states) {
  struct Asked {
    State *state;
    size_t size;
    std::string kernel;
    bool is_faster;
    size_t question;
  };
  Questions questions;
  std::vector<Asked> all;
  for (State *const state : states) {
    state->verdicts.assign(state->rates.size(), {});
    for (size_t i = 0; i < state->rates.size(); ++i) {
      const SizeRates &at = state->rates[i];
      const auto usual = at.rates.find(at.usual);
      if (usual == at.rates.end()) continue;
      for (const auto &[kernel, rate] : at.rates) {
        if (kernel == at.usual) continue;
        const double ratio = rate / usual->second;
        const bool is_slower = ratio < 1;
        const SizeSamples &here = state->samples[i];
        const bool matters = is_slower || (ratio >= kTakeOver &&
                                           least_ratio(here, kernel, at.usual) >= 1 / kTakeOver);
        const size_t question =
            questions.ask(is_slower ? strata_of(here, at.usual, kernel, 1)
                                    : strata_of(here, kernel, at.usual, kTakeOver),
                          matters);
        all.push_back({state, i, kernel, !is_slower, question});
      }
    }
  }
  const std::vector<bool> answers = questions.answers();
  for (const Asked &asked : all) {
    if (!answers[asked.question]) continue;
    asked.state->verdicts[asked.size][asked.kernel] =
        asked.is_faster ? Finding::kFaster : Finding::kSlower;
  }
}

// Of the rates those of the usual kernel and of whoever is certainly faster; and of whoever is so
// at a smaller and at a larger size, with nothing said against it between and no place losing
// notably: an open answer must not cut a band in two.
std::vector<SizeRates> certain_rates(const State &state) {
  std::vector<SizeRates> certain = state.rates;
  for (SizeRates &at : certain) {
    const auto usual = at.rates.find(at.usual);
    // Where that was not measured, nothing is known of the others.
    at.rates = {{at.usual, usual == at.rates.end() ? 1 : usual->second}};
  }
  std::map<std::string, size_t> last_faster;
  for (size_t i = 0; i < state.rates.size(); ++i) {
    for (const auto &[kernel, rate] : state.rates[i].rates) {
      const auto verdict = state.verdicts[i].find(kernel);
      if (verdict == state.verdicts[i].end()) continue;
      if (verdict->second == Finding::kSlower) last_faster.erase(kernel);
      if (verdict->second != Finding::kFaster) continue;
      const auto before = last_faster.find(kernel);
      for (size_t at = before == last_faster.end() ? i : before->second + 1; at <= i; ++at) {
        const auto here = state.rates[at].rates.find(kernel);
        if (here == state.rates[at].rates.end()) continue;
        const double least = least_ratio(state.samples[at], kernel, state.rates[at].usual);
        if (least >= 1 / kTakeOver) certain[at].rates.insert(*here);
      }
      last_faster[kernel] = i;
    }
  }
  return certain;
}

// "64KiB, 128KiB": sizes that the usual kernel keeps, at which somebody seemed faster and is not
// certainly so.
std::string doubtful_sizes(const State &state, const std::vector<Band> &bands) {
  std::string sizes;
  for (size_t i = 0; i < state.rates.size(); ++i) {
    const SizeRates &at = state.rates[i];
    const auto usual = at.rates.find(at.usual);
    if (usual == at.rates.end() || band_kernel(bands, at.size) != at.usual) continue;
    bool is_one_faster = false, is_one_certain = false;
    for (const auto &[kernel, rate] : at.rates) {
      const auto verdict = state.verdicts[i].find(kernel);
      is_one_faster |= rate >= usual->second * kTakeOver;
      is_one_certain |= verdict != state.verdicts[i].end() && verdict->second == Finding::kFaster;
    }
    if (!is_one_faster || is_one_certain) continue;
    sizes += (sizes.empty() ? "" : ", ") + format_size(at.size);
  }
  return sizes;
}

// --- Where the probe is asked ------------------------------------------------------------------

const SizeSamples *find_size(const std::vector<SizeSamples> &sizes, uint64_t size) {
  const auto found = std::find_if(sizes.begin(), sizes.end(),
                                  [size](const SizeSamples &at) { return at.size == size; });
  return found == sizes.end() ? nullptr : &*found;
}

ProbeDoubt probe_doubt(const TuneSamples &samples, const Choice &choice) {
  ProbeDoubt doubt;
  doubt.built_in = samples.built_in.probe;
  Questions questions;
  std::vector<std::pair<uint64_t, size_t>> asked;
  for (const SizeRates &at : choice.recycled) {
    const std::string &near_kernel = band_kernel(choice.cached, at.size);
    const std::string &far_kernel = band_kernel(choice.stream, at.size);
    if (near_kernel == far_kernel) continue;
    for (const std::vector<SizeSamples> *sizes : {&samples.recycled, &samples.cold}) {
      const SizeSamples *const here = find_size(*sizes, at.size);
      if (here == nullptr) continue;
      const SizeRates both = rates_of_all(*here, {});
      if (!both.rates.contains(near_kernel) || !both.rates.contains(far_kernel)) continue;
      if (both.rounds < kRoundsToTrust || both.noise > kMostNoise) {
        doubt.sizes.insert(at.size);
        break;
      }
      const bool is_cold = sizes == &samples.cold;
      const std::string &faster = is_cold ? far_kernel : near_kernel;
      const std::string &slower = is_cold ? near_kernel : far_kernel;
      const bool matters = both.rates.at(faster) >= both.rates.at(slower) * kMatters;
      const size_t question = questions.ask(strata_of(*here, faster, slower, kMatters), matters);
      // That something is too small to matter needs no further proof than little noise.
      if (matters) asked.emplace_back(at.size, question);
    }
  }
  const std::vector<bool> answers = questions.answers();
  for (const auto &[size, question] : asked) {
    if (!answers[question]) doubt.sizes.insert(size);
  }
  return doubt;
}

// --- What was not measured ---------------------------------------------------------------------

uint64_t largest_of(const std::vector<SizeRates> &sizes) {
  return sizes.empty() ? 0 : sizes.back().size;
}

// Two are made of the rates in any case, one for each policy.
constexpr size_t kMostKept = kMaxBands - 2;

size_t bands_beyond(const std::vector<Band> &built_in, uint64_t largest) {
  return static_cast<size_t>(
      std::count_if(built_in.begin(), built_in.end(), [largest](const Band &band) {
        return band.upto_bytes != UINT64_MAX && band.upto_bytes >= largest;
      }));
}

}  // namespace

Choice choose(const TuneSamples &samples) {
  Choice choice;
  choice.recycled = rates_of_all(samples.recycled, samples.built_in.cached);
  choice.cold = rates_of_all(samples.cold, samples.built_in.stream);

  const Costs costs = costs_of(samples.bystanders);
  State recycled{samples.recycled, choice.recycled};
  State cold{samples.cold, spare_bystanders(choice.cold, costs.together,
                                            [&](const std::string &dear, const std::string &cheap) {
                                              return costs.certain.contains({dear, cheap});
                                            })};
  judge({&recycled, &cold});
  const uint64_t largest_recycled = largest_of(choice.recycled);
  const uint64_t largest_cold = largest_of(choice.cold);
  const size_t kept = bands_beyond(samples.built_in.cached, largest_recycled) +
                      bands_beyond(samples.built_in.stream, largest_cold);
  PolicyBands bands = build_bands(certain_rates(recycled), certain_rates(cold),
                                  kMaxBands - std::min(kept, kMostKept));
  choice.cached =
      keep_built_in_bounds(std::move(bands.cached), samples.built_in.cached, largest_recycled);
  choice.stream =
      keep_built_in_bounds(std::move(bands.stream), samples.built_in.stream, largest_cold);
  if (choice.cached.empty()) choice.cached = samples.built_in.cached;
  if (choice.stream.empty()) choice.stream = samples.built_in.stream;
  choice.probe = build_probe_range(choice.recycled, choice.cold, choice.cached, choice.stream,
                                   probe_doubt(samples, choice));

  const auto doubt = [&](const char *what, const State &state, const std::vector<Band> &chosen) {
    const std::string sizes = doubtful_sizes(state, chosen);
    if (sizes.empty()) return;
    choice.doubts.push_back(std::string(what) + ": at " + sizes +
                            " another kernel seemed faster, which is not certain at all places: "
                            "it is not chosen");
  };
  doubt("cached", recycled, choice.cached);
  doubt("stream", cold, choice.stream);
  return choice;
}

TuneSamples at_place(const TuneSamples &samples, size_t place) {
  TuneSamples alone;
  alone.places = {samples.places[place]};
  alone.built_in = samples.built_in;
  for (const auto &[from, to] :
       {std::pair{&samples.recycled, &alone.recycled}, {&samples.cold, &alone.cold}}) {
    for (const SizeSamples &at : *from) {
      if (place < at.places.size() && !at.places[place].empty()) {
        to->push_back({at.size, {at.places[place]}});
      }
    }
  }
  if (place < samples.bystanders.size()) alone.bystanders = {samples.bystanders[place]};
  return alone;
}

Reached reached_by(const TuneSamples &samples, size_t place, const std::vector<Band> &cached,
                   const std::vector<Band> &stream) {
  std::vector<double> shares;
  for (const auto &[sizes, bands] :
       {std::pair{&samples.recycled, &cached}, {&samples.cold, &stream}}) {
    for (const SizeSamples &at : *sizes) {
      if (place >= at.places.size()) continue;
      const SizeRates here = rates_of_all({at.size, {at.places[place]}}, *bands);
      const auto found = here.least_share.find(here.usual);
      if (found != here.least_share.end()) shares.push_back(found->second);
    }
  }
  if (shares.empty()) return {};
  const double least = *std::min_element(shares.begin(), shares.end());
  return {median(std::move(shares)), least};
}

std::vector<std::string> find_dissent(const TuneSamples &samples, size_t place,
                                      const Choice &choice) {
  const TuneSamples alone = at_place(samples, place);
  const Choice own = choose(alone);
  std::vector<std::string> sentences;
  const auto compare = [&](const std::vector<SizeRates> &sizes, const std::vector<Band> &own_bands,
                           const std::vector<Band> &bands, const std::string &policy) {
    std::string kernel;
    uint64_t first = 0, last = 0;
    double most = 0;
    const auto finish = [&] {
      if (kernel.empty()) return;
      sentences.push_back(samples.places[place] + " alone would have " + kernel + " in " + policy +
                          " at " + format_size(first) +
                          (last == first ? "" : " to " + format_size(last)) + ", faster by up to " +
                          format_percent(most - 1));
      kernel.clear();
      most = 0;
    };
    for (const SizeRates &at : sizes) {
      const std::string &wanted = band_kernel(own_bands, at.size);
      const auto has = at.rates.find(band_kernel(bands, at.size)), would = at.rates.find(wanted);
      const double ratio =
          has == at.rates.end() || would == at.rates.end() ? 0 : would->second / has->second;
      if (ratio < kTakeOver || wanted != kernel) finish();
      if (ratio < kTakeOver) continue;
      if (kernel.empty()) first = at.size;
      kernel = wanted;
      last = at.size;
      most = std::max(most, ratio);
    }
    finish();
  };
  compare(own.recycled, own.cached, choice.cached, "cached");
  compare(own.cold, own.stream, choice.stream, "stream");
  return sentences;
}

std::string find_noisy_place(const TuneSamples &samples) {
  for (size_t place = 0; place < samples.places.size(); ++place) {
    const TuneSamples alone = at_place(samples, place);
    const std::string noise =
        find_too_noisy(rates_of_all(alone.recycled, {}), rates_of_all(alone.cold, {}));
    if (!noise.empty()) return "on " + samples.places[place] + " " + noise;
  }
  return "";
}

}  // namespace hpz::bench
