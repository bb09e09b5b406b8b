// SPDX-License-Identifier: BSD-2-Clause
//
// Charts as what they show, and as a program for gnuplot. Pure. Names may come from a file that
// somebody made up: what reaches gnuplot is numbers, and letters that mean nothing to it.
#ifndef HPZERO_BENCH_CHARTS_H
#define HPZERO_BENCH_CHARTS_H

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hpz::bench {

// Colours go by these names until the page says what they are, in the light and in the dark: in SVG
// they become var(--NAME), in a picture they are those of the light.
struct ChartColour {
  std::string_view name, light, dark;
};
// Okabe and Ito's, which the colour-blind can tell apart; yellow, which white paper swallows, is
// left out. The first ones are for text and what surrounds the data.
inline constexpr ChartColour kChartColours[] = {
    {"ink", "#1b1f24", "#e6e8eb"},   {"faint", "#d9dde2", "#343a42"},
    {"muted", "#8b939c", "#828a94"}, {"paper", "#ffffff", "#15181c"},
    {"blue", "#0072b2", "#58b1f0"},  {"orange", "#d55e00", "#f58634"},
    {"green", "#009e73", "#2fc79c"}, {"purple", "#b8558f", "#e28fc0"},
    {"sky", "#3d9fd8", "#8fd3ff"},   {"amber", "#c98a00", "#f2b83a"},
};
inline constexpr size_t kFirstDataColour = 4;
inline constexpr size_t kDataColours = std::size(kChartColours) - kFirstDataColour;

struct ChartPoint {
  double x = 0, y = 0;
};

// How a row looks, in all charts of a page alike. Colour, dashes and markers all tell rows apart.
struct ChartStyle {
  enum class Kind { kStrong, kPlain, kMuted };
  Kind kind = Kind::kPlain;
  size_t index = 0;  // of kPlain: the same index, the same look
};

struct ChartLine {
  std::string name;  // in the key; empty: not there
  ChartStyle style;
  std::vector<ChartPoint> points;
};

// A horizontal line, and what it is.
struct ChartLevel {
  std::string name;
  double y = 0;
};

struct ChartTick {
  double at = 0;
  std::string label;
};

struct ChartBar {
  std::string name, label;  // label: the value in words
  double value = 0, deviation = 0;
  bool is_published = false;  // by somebody else: hatched
  bool is_reference = false;  // what others are measured by
};

struct Chart {
  std::string title;  // for whoever cannot see it
  std::string x_label, y_label;

  // Lines over numbers, or over places that ticks name.
  std::vector<ChartLine> lines;
  std::vector<ChartLevel> levels;
  std::vector<ChartPoint> marks;  // ringed
  std::string marks_name;
  std::vector<ChartTick> x_ticks, y_ticks;  // y_ticks empty: as gnuplot likes
  bool is_x_logarithmic = false, is_y_logarithmic = false;

  // Or bars, from the left, from zero.
  std::vector<ChartBar> bars;
};

enum class ChartFormat {
  kWide,     // SVG for a screen, and for paper
  kNarrow,   // SVG for a phone
  kPicture,  // PNG
};

// Ticks at 1, 2 and 5 times powers of ten, within and at the ends.
std::vector<ChartTick> decimal_ticks(double least, double most, const char *unit);

// Letters that mean nothing to gnuplot, nor to SVG: others become '?'.
std::string chart_text(std::string_view text);

std::string chart_program(const Chart &chart, ChartFormat format);
// Several charts of lines side by side, as one picture under one title.
std::string picture_program(const std::vector<Chart> &charts, const std::string &title);

}  // namespace hpz::bench

#endif
