// SPDX-License-Identifier: BSD-2-Clause
#include "bench/bands.h"

#include <algorithm>
#include <optional>

#include "bench/statistics.h"
#include "bench/table.h"

namespace hpz::bench {
namespace {

// The probe costs one miss, about this long, when the range is not in cache.
constexpr double kProbeNs = 300;
// ... which may cost this part of clearing a range that is in cache.
constexpr double kProbePart = 0.05;
// Who is this close to the best rate may be chosen for what it spares others.
constexpr double kGoodEnough = 0.95;
// One size in so many may have had too few rounds: the largest take seconds each.
constexpr size_t kMostFewRounds = 4;
// The library's own limits: the probe wants several pages to look at.
constexpr uint64_t kSmallestProbe = 16 * 1024;

double best_rate(const SizeRates &at) {
  double best = 0;
  for (const auto &[kernel, rate] : at.rates) best = std::max(best, rate);
  return best;
}

// At this size, nothing is faster than the kernel by the factor or more, beyond doubt.
bool holds(const SizeRates &at, const std::string &kernel, double factor) {
  // Two standard errors: one decision in twenty is noise then, of which hysteresis eats some.
  constexpr double kDoubt = 2;
  const auto found = at.rates.find(kernel);
  return found != at.rates.end() &&
         best_rate(at) < found->second * std::max(factor, 1 + kDoubt * at.noise);
}

// Sizes from the given one on that the kernel holds without a break.
size_t holds_for(const std::vector<SizeRates> &sizes, size_t from, const std::string &kernel,
                 double factor) {
  size_t count = 0;
  while (from + count < sizes.size() && holds(sizes[from + count], kernel, factor)) ++count;
  return count;
}

std::vector<Band> build_with(const std::vector<SizeRates> &sizes, double factor) {
  std::vector<Band> bands;
  for (size_t at = 0; at < sizes.size();) {
    std::string chosen;
    size_t longest = 0;
    if (holds(sizes[at], sizes[at].usual, factor)) {
      chosen = sizes[at].usual;
      longest = holds_for(sizes, at, chosen, factor);
    } else {
      // Of those as good as equal here, the one that stays so for longest: one lucky measurement
      // must not cut a band in two.
      double chosen_rate = 0;
      for (const auto &[kernel, rate] : sizes[at].rates) {
        const size_t lasts = holds_for(sizes, at, kernel, factor);
        if (lasts < longest || lasts == 0 || (lasts == longest && rate <= chosen_rate)) continue;
        chosen = kernel;
        longest = lasts;
        chosen_rate = rate;
      }
    }
    if (longest == 0) {
      ++at;  // nothing was measured here
      continue;
    }
    at += longest;
    bands.push_back({sizes[at - 1].size, chosen});
  }
  if (!bands.empty()) bands.back().upto_bytes = UINT64_MAX;
  return bands;
}

// The rate of a kernel at a size; nothing where it was not measured.
std::optional<double> rate_at(const std::vector<SizeRates> &sizes, uint64_t size,
                              const std::string &kernel) {
  for (const SizeRates &at : sizes) {
    if (at.size != size) continue;
    const auto found = at.rates.find(kernel);
    if (found == at.rates.end() || found->second <= 0) return std::nullopt;
    return found->second;
  }
  return std::nullopt;
}

}  // namespace

std::vector<SizeRates> spare_bystanders(const std::vector<SizeRates> &sizes,
                                        const KernelCosts &costs,
                                        const CertainlyDearer &is_certain) {
  const auto cost_of = [&](const std::string &kernel) -> std::optional<double> {
    const auto found = costs.find(kernel);
    if (found == costs.end() || found->second <= 0) return std::nullopt;
    return found->second;
  };
  std::vector<SizeRates> spared = sizes;
  for (SizeRates &at : spared) {
    const double best = best_rate(at);
    std::string cheapest;
    double least = 0;
    for (const auto &[kernel, rate] : at.rates) {
      const std::optional<double> cost = cost_of(kernel);
      const auto share = at.least_share.find(kernel);
      const double reached = share == at.least_share.end() ? rate / best : share->second;
      if (reached < kGoodEnough || !cost || (!cheapest.empty() && *cost >= least)) continue;
      cheapest = kernel;
      least = *cost;
    }
    if (cheapest.empty()) continue;
    std::erase_if(at.rates, [&](const auto &entry) {
      const std::optional<double> cost = cost_of(entry.first);
      return cost && *cost > least * kDearer && is_certain(entry.first, cheapest);
    });
    if (!at.rates.contains(at.usual)) at.usual = cheapest;
  }
  return spared;
}

std::string find_too_noisy(const std::vector<SizeRates> &recycled,
                           const std::vector<SizeRates> &cold) {
  std::vector<double> noise;
  size_t few = 0;
  for (const std::vector<SizeRates> *sizes : {&recycled, &cold}) {
    for (const SizeRates &at : *sizes) {
      noise.push_back(at.noise);
      few += at.rounds < kRoundsToTrust;
    }
  }
  const size_t count = noise.size();
  if (few * kMostFewRounds > count) {
    return "at " + std::to_string(few) + " of " + std::to_string(count) +
           " sizes there was time for less than " + std::to_string(kRoundsToTrust) + " rounds";
  }
  const double middle = median(std::move(noise));
  if (middle <= kMostNoise) return "";
  return "rates are uncertain by " + format_percent(middle) + " at half of the sizes, and " +
         format_percent(kMostNoise) + " is the most";
}

PolicyBands build_bands(const std::vector<SizeRates> &recycled, const std::vector<SizeRates> &cold,
                        size_t most) {
  // Growing impatience ends: at an infinite factor there is one band each.
  for (double factor = kTakeOver;; factor *= kTakeOver) {
    PolicyBands bands{build_with(recycled, factor), build_with(cold, factor)};
    if (bands.cached.size() + bands.stream.size() <= most) return bands;
  }
}

const std::string &band_kernel(const std::vector<Band> &bands, uint64_t size) {
  const auto found = std::find_if(bands.begin(), bands.end(),
                                  [size](const Band &band) { return size <= band.upto_bytes; });
  return found == bands.end() ? bands.back().kernel : found->kernel;
}

std::vector<Band> keep_built_in_bounds(std::vector<Band> bands, const std::vector<Band> &built_in,
                                       uint64_t largest) {
  for (size_t i = 0; i + 1 < bands.size(); ++i) {
    for (size_t own = 0; own + 1 < built_in.size(); ++own) {
      const uint64_t bound = built_in[own].upto_bytes;
      if (bound / 2 < bands[i].upto_bytes && bound >= bands[i].upto_bytes &&
          built_in[own].kernel == bands[i].kernel &&
          built_in[own + 1].kernel == bands[i + 1].kernel) {
        bands[i].upto_bytes = bound;
        break;
      }
    }
  }
  for (const Band &own : built_in) {
    if (bands.empty() || own.upto_bytes < largest) continue;
    if (bands.back().upto_bytes == UINT64_MAX || bands.back().kernel == own.kernel) {
      bands.back().upto_bytes = own.upto_bytes;
    } else {
      bands.push_back(own);
    }
  }
  return bands;
}

ProbeRange build_probe_range(const std::vector<SizeRates> &recycled,
                             const std::vector<SizeRates> &cold, const std::vector<Band> &cached,
                             const std::vector<Band> &stream, const ProbeDoubt &doubt) {
  const ProbeRange &built_in = doubt.built_in;
  ProbeRange range;
  uint64_t first = 0, last = 0;
  // Those by the library's own range, if they are measured sizes too.
  uint64_t own_first = 0, own_last = 0;
  for (const SizeRates &at : recycled) {
    if (at.size < kSmallestProbe) continue;
    const std::string &near_kernel = band_kernel(cached, at.size);
    const std::string &far_kernel = band_kernel(stream, at.size);
    const auto near_cached = rate_at(recycled, at.size, near_kernel);
    const auto far_cached = rate_at(recycled, at.size, far_kernel);
    const auto near_cold = rate_at(cold, at.size, near_kernel);
    const auto far_cold = rate_at(cold, at.size, far_kernel);
    if (!near_cached || !far_cached || !near_cold || !far_cold) continue;
    const double gain_cold = *far_cold / *near_cold;
    const double loss_cached = *near_cached / *far_cached;
    const double clear_ns = static_cast<double>(at.size) / *near_cached;
    // Where streaming loses little any more, there is nothing to ask.
    bool loses = loss_cached >= kMatters;
    bool is_worth_it =
        gain_cold >= kMatters && loss_cached >= kMatters && kProbeNs <= kProbePart * clear_ns;
    const bool is_in_own = at.size >= built_in.from_bytes && at.size <= built_in.upto_bytes;
    if (doubt.sizes.contains(at.size)) {
      loses = built_in.upto_bytes == 0 || at.size <= built_in.upto_bytes;
      is_worth_it = is_in_own;
    }
    if (loses) last = at.size;
    if (is_worth_it && first == 0) first = at.size;
    if (is_in_own) own_last = at.size;
    if (is_in_own && own_first == 0) own_first = at.size;
  }
  if (first == 0) {
    // Nothing to win by asking: cached kernels while they lead on cached ranges, then streaming.
    range.from_bytes = range.upto_bytes = std::max(last * 2, kSmallestProbe);
    return range;
  }
  range.from_bytes = first == own_first ? built_in.from_bytes : first;
  range.upto_bytes = last == own_last ? built_in.upto_bytes : std::max(last, first) * 2;
  return range;
}

std::string format_profile(const Profile &profile) {
  std::string text = "hpzero-profile 1\n";
  for (const std::string &comment : profile.comments) text += "# " + comment.substr(0, 200) + "\n";
  text += "cpu " + profile.cpu + "\n";
  const auto add = [&](const char *key, const std::vector<Band> &bands) {
    for (const Band &band : bands) {
      const bool is_last = band.upto_bytes == UINT64_MAX;
      text += std::string(key) + " " + (is_last ? "max" : std::to_string(band.upto_bytes)) + " " +
              band.kernel + "\n";
    }
  };
  add("cached", profile.cached);
  add("stream", profile.stream);
  text += "probe " + std::to_string(profile.probe.from_bytes) + " " +
          std::to_string(profile.probe.upto_bytes) + "\n";
  return text;
}

}  // namespace hpz::bench
