// SPDX-License-Identifier: BSD-2-Clause
#include "bench/charts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace hpz::bench {
namespace {

struct Frame {
  int width, height, font;
  size_t x_labels;  // that fit side by side
  size_t key_columns;
  size_t name_letters;  // that fit a bar
};

Frame frame_of(const Chart &chart, ChartFormat format) {
  const bool is_narrow = format == ChartFormat::kNarrow;
  Frame frame = is_narrow ? Frame{340, 0, 12, 4, 1, 51} : Frame{880, 0, 13, 12, 4, 90};
  if (!chart.bars.empty()) {
    frame.height = 84 + static_cast<int>(chart.bars.size()) * 40;
    return frame;
  }
  size_t named = 0, longest = 0;
  const auto see = [&](const std::string &name) {
    named += name.empty() ? 0U : 1U;
    longest = std::max(longest, name.size());
  };
  for (const ChartLine &line : chart.lines) see(line.name);
  for (const ChartLevel &level : chart.levels) see(level.name);
  if (!chart.marks.empty()) see(chart.marks_name);
  // A letter, and the piece of line before the name, in pixels, more or less.
  constexpr size_t kLetter = 8, kSample = 60;
  frame.key_columns = std::clamp<size_t>(
      static_cast<size_t>(frame.width) / (longest * kLetter + kSample), 1, frame.key_columns);
  const size_t key_lines = (named + frame.key_columns - 1) / frame.key_columns;
  frame.height = (is_narrow ? 270 : 390) + static_cast<int>(key_lines) * (is_narrow ? 16 : 18);
  return frame;
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", std::isfinite(value) ? value : 0.0);
  return text;
}

std::string quoted(std::string_view text) {
  return "'" + chart_text(text) + "'";
}

std::string colour(std::string_view name) {
  for (const ChartColour &known : kChartColours) {
    if (known.name == name) return "rgb '" + std::string(known.light) + "'";
  }
  return "rgb '" + std::string(kChartColours[0].light) + "'";
}

constexpr const char *kDashes[] = {"1", "(8,4)", "(2,3)", "(10,3,2,3)"};
// Filled and open ones: circle, triangle, square, diamond, pentagon.
constexpr int kMarkers[] = {7, 9, 5, 13, 15, 6, 8, 4, 12, 14};

std::string look(const ChartStyle &style, bool has_line = true) {
  switch (style.kind) {
    case ChartStyle::Kind::kStrong:
      return "lc " + colour("ink") + (has_line ? " lw 3.2 dt 1" : "") + " pt 7 ps 0.75";
    case ChartStyle::Kind::kMuted:
      return "lc " + colour("muted") + (has_line ? " lw 0.7 dt 1" : "") + " pt 2 ps 0.3";
    case ChartStyle::Kind::kPlain:
      break;
  }
  const size_t index = style.index;
  return "lc " + colour(kChartColours[kFirstDataColour + index % kDataColours].name) +
         (has_line ? std::string(" lw 2 dt ") +
                         kDashes[(index / kDataColours + index) % std::size(kDashes)]
                   : "") +
         " pt " + std::to_string(kMarkers[index % std::size(kMarkers)]) + " ps 0.75";
}

std::string axis_label(const char *axis, const std::string &label) {
  if (label.empty()) return "";
  return std::string("set ") + axis + "label " + quoted(label) + " textcolor " + colour("ink") +
         "\n";
}

std::string doubled_percent(const std::string &text) {
  std::string out;
  for (const char letter : text) out += letter == '%' ? std::string("%%") : std::string(1, letter);
  return out;
}

// Labels of the axis that are further apart than most_labels allows, the last of them first.
std::string ticks(const char *axis, const std::vector<ChartTick> &all, size_t most_labels,
                  bool is_logarithmic) {
  const auto place = [&](const ChartTick &tick) {
    return is_logarithmic ? std::log(tick.at) : tick.at;
  };
  const double whole = place(all.back()) - place(all.front());
  const double apart = 0.999 * whole / static_cast<double>(std::max<size_t>(most_labels - 1, 1));
  std::string text;
  double labelled = 0;
  for (size_t i = all.size(); i-- > 0;) {
    const bool fits = i + 1 == all.size() || labelled - place(all[i]) >= apart;
    if (fits) labelled = place(all[i]);
    // To gnuplot these are formats.
    text = quoted(fits ? doubled_percent(all[i].label) : "") + " " + number(all[i].at) +
           (text.empty() ? "" : ", ") + text;
  }
  return std::string("set ") + axis + "tics (" + text + ") nomirror textcolor " + colour("ink") +
         "\n";
}

std::string data_block(const std::string &name, const std::vector<ChartPoint> &points) {
  std::string text = "$" + name + " << EOD\n";
  for (const ChartPoint &point : points) text += number(point.x) + " " + number(point.y) + "\n";
  return text + "EOD\n";
}

std::string terminal(const Frame &frame, ChartFormat format) {
  const std::string size = std::to_string(frame.width) + "," + std::to_string(frame.height);
  if (format == ChartFormat::kPicture) {
    return "set terminal pngcairo size " + size + " noenhanced font 'sans-serif,11' background " +
           colour("paper") + "\n";
  }
  return "set terminal svg size " + size + " dynamic noenhanced font 'sans-serif," +
         std::to_string(frame.font) + "' linewidth 1 dashlength 1\n";
}

constexpr const char *kUsual =
    "set encoding utf8\n"
    "set decimalsign '.'\n"
    "unset mouse\n"
    "set tics nomirror scale 0.5\n";

std::string border(const char *sides) {
  return std::string("set border ") + sides + " lc " + colour("muted") + " lw 1\n";
}

// --- Lines ---------------------------------------------------------------------------------------

// has_title: over the chart, which makes room for it.
std::string lines_program(const Chart &chart, const Frame &frame, bool has_title) {
  std::string text = border("3");
  text += "set grid ytics lc " + colour("faint") + " lw 1 dt 1\n";
  text +=
      "set key outside below center horizontal Left reverse noenhanced samplen 2.4 height 0.8 "
      "maxcols " +
      std::to_string(frame.key_columns) + " textcolor " + colour("ink") + "\n";
  // Over the axis, where it takes no width.
  text += "set label 1 " + quoted(chart.y_label) +
          " at graph 0,graph 1 left offset character -1,1 textcolor " + colour("ink") + "\n";
  text += axis_label("x", chart.x_label) + "set tmargin " + (has_title ? "5" : "2.2") + "\n";
  double least_x = 0, most_x = 0, least_y = 0, most_y = 0;
  bool is_first = true;
  const auto see = [&](double x, double y) {
    least_x = is_first ? x : std::min(least_x, x);
    most_x = is_first ? x : std::max(most_x, x);
    least_y = is_first ? y : std::min(least_y, y);
    most_y = is_first ? y : std::max(most_y, y);
    is_first = false;
  };
  for (const ChartLine &line : chart.lines) {
    for (const ChartPoint &point : line.points) see(point.x, point.y);
  }
  for (const ChartLevel &level : chart.levels) {
    if (!is_first) see(least_x, level.y);
  }
  if (chart.is_x_logarithmic) {
    text += "set logscale x 2\nset xrange [" + number(least_x / 1.3) + ":" + number(most_x * 1.3) +
            "]\n";
  } else {
    const double room = std::max(0.06 * (most_x - least_x), 0.25);
    text += "unset logscale x\nset xrange [" + number(least_x - room) + ":" +
            number(most_x + room) + "]\n";
  }
  if (chart.is_y_logarithmic) {
    text += "set logscale y 10\nset yrange [" + number(least_y / 1.15) + ":" +
            number(most_y * 1.15) + "]\n";
  } else {
    text += "unset logscale y\nset yrange [0:" + number(most_y > 0 ? most_y * 1.08 : 1) + "]\n";
  }
  if (!chart.x_ticks.empty())
    text += ticks("x", chart.x_ticks, frame.x_labels, chart.is_x_logarithmic);
  if (chart.y_ticks.empty()) {
    text += "set ytics autofreq nomirror textcolor " + colour("ink") + "\n";
  } else {
    text += ticks("y", chart.y_ticks, 10, chart.is_y_logarithmic);
  }
  std::string plots, key;
  const auto plot = [&](const std::string &what) { plots += (plots.empty() ? "" : ", ") + what; };
  const auto explain = [&](const std::string &name, const std::string &how) {
    if (!name.empty()) key += ", keyentry with " + how + " title " + quoted(name);
  };
  // What matters most is drawn last, and comes first in the key.
  using Kind = ChartStyle::Kind;
  for (const Kind kind : {Kind::kMuted, Kind::kPlain, Kind::kStrong}) {
    for (size_t i = 0; i < chart.lines.size(); ++i) {
      const ChartLine &line = chart.lines[i];
      if (line.style.kind != kind || line.points.empty()) continue;
      const std::string block = "line" + std::to_string(i);
      text += data_block(block, line.points);
      plot("$" + block + " using 1:2 with linespoints " + look(line.style) + " notitle");
    }
  }
  for (const Kind kind : {Kind::kStrong, Kind::kPlain, Kind::kMuted}) {
    for (const ChartLine &line : chart.lines) {
      if (line.style.kind == kind && !line.points.empty()) {
        explain(line.name, "linespoints " + look(line.style));
      }
    }
  }
  for (size_t i = 0; i < chart.levels.size(); ++i) {
    const ChartLevel &level = chart.levels[i];
    const std::string block = "level" + std::to_string(i);
    const std::string how = "lines lc " + colour("ink") + " lw 1.2 dt (3,3)";
    const double room = chart.is_x_logarithmic ? 1.3 : 1;
    text += data_block(block, {{least_x / room, level.y}, {most_x * room, level.y}});
    plot("$" + block + " using 1:2 with " + how + " notitle");
    explain(level.name, how);
  }
  if (!chart.marks.empty()) {
    const std::string how = "points lc " + colour("ink") + " lw 1.4 pt 6 ps 1.9";
    text += data_block("marks", chart.marks);
    plot("$marks using 1:2 with " + how + " notitle");
    explain(chart.marks_name, how);
  }
  if (plots.empty()) plots = "0 notitle lc " + colour("paper");
  return text + "plot " + plots + key + "\n";
}

// --- Bars ----------------------------------------------------------------------------------------

std::string bars_program(const Chart &chart, const Frame &frame) {
  std::string text = border("1") + "unset key\nunset ytics\n";
  text += "set grid xtics lc " + colour("faint") + " lw 1 dt 1\n";
  text += axis_label("x", chart.x_label);
  text += "set xtics autofreq textcolor " + colour("ink") + "\n";
  text += "set lmargin 1\nset rmargin 1.5\nset tmargin 0.5\n";
  double most = 0;
  for (const ChartBar &bar : chart.bars) most = std::max(most, bar.value + bar.deviation);
  if (most <= 0) most = 1;
  const auto count = static_cast<double>(chart.bars.size());
  text +=
      "set xrange [0:" + number(most * 1.02) + "]\nset yrange [" + number(count - 0.1) + ":-0.5]\n";
  // Lengths below half a pixel would be no bar.
  const double least = most * 0.6 / frame.width;
  std::string plots;
  const auto plot = [&](const std::string &what) { plots += (plots.empty() ? "" : ", ") + what; };
  int label = 0;
  for (size_t i = 0; i < chart.bars.size(); ++i) {
    const ChartBar &bar = chart.bars[i];
    const auto at = static_cast<double>(i);
    std::string name = bar.name;
    const size_t room = frame.name_letters - std::min(frame.name_letters - 4, bar.label.size());
    if (name.size() > room) name = name.substr(0, room - 3) + "...";
    const std::string row = number(at - 0.2);
    text += "set label " + std::to_string(++label) + " " + quoted(name) + " at first 0," + row +
            " left front textcolor " + colour("ink") + "\n";
    text += "set label " + std::to_string(++label) + " " + quoted(bar.label) +
            " at graph 1,first " + row + " right front textcolor " + colour("ink") + "\n";
    const std::string block = "bar" + std::to_string(i);
    const double value = std::max(bar.value, least);
    text += "$" + block + " << EOD\n" + number(value / 2) + " " + number(at + 0.25) + " 0 " +
            number(value) + " " + number(at + 0.06) + " " + number(at + 0.44) + "\nEOD\n";
    const std::string hue = colour(bar.is_published   ? "orange"
                                   : bar.is_reference ? "muted"
                                                      : "blue");
    plot("$" + block + " using 1:2:3:4:5:6 with boxxyerror lc " + hue +
         (bar.is_published ? " fs pattern 4" : " fs solid 1 noborder") + " notitle");
    if (bar.deviation > 0) {
      text += "$error" + std::to_string(i) + " << EOD\n" +
              number(std::max(0.0, bar.value - bar.deviation)) + " " + number(at + 0.25) + "\n" +
              number(bar.value + bar.deviation) + " " + number(at + 0.25) + "\nEOD\n";
      plot("$error" + std::to_string(i) + " using 1:2 with linespoints lc " + colour("ink") +
           " lw 1.2 pt 0 ps 0.7 notitle");
    }
  }
  return text + "plot " + plots + "\n";
}

}  // namespace

std::string chart_text(std::string_view text) {
  constexpr std::string_view kAllowed = " _.,+-()/:%=*";
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(),
      [&](char c) {
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool is_digit = c >= '0' && c <= '9';
        return !is_letter && !is_digit && kAllowed.find(c) == std::string_view::npos;
      },
      '?');
  return out;
}

std::vector<ChartTick> decimal_ticks(double least, double most, const char *unit) {
  std::vector<ChartTick> found;
  if (!(least > 0) || !(most >= least)) return found;
  for (int power = static_cast<int>(std::floor(std::log10(least))); power <= 18; ++power) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double at = digit * std::pow(10.0, power);
      if (at > most * 1.15) return found;
      if (at >= least / 1.15) found.push_back({at, number(at) + unit});
    }
  }
  return found;
}

std::string chart_program(const Chart &chart, ChartFormat format) {
  const Frame frame = frame_of(chart, format);
  return terminal(frame, format) + kUsual +
         (chart.bars.empty() ? lines_program(chart, frame, false) : bars_program(chart, frame));
}

std::string picture_program(const std::vector<Chart> &charts, const std::string &title) {
  if (charts.size() == 1) return chart_program(charts.front(), ChartFormat::kPicture);
  Frame frame = frame_of(charts.front(), ChartFormat::kWide);
  for (const Chart &chart : charts) {
    frame.height = std::max(frame.height, frame_of(chart, ChartFormat::kWide).height);
  }
  frame.width = 560 * static_cast<int>(charts.size());
  frame.height += 100;
  frame.x_labels = 5;
  frame.key_columns = 2;
  std::string text = terminal(frame, ChartFormat::kPicture) + kUsual;
  text += "set multiplot layout 1," + std::to_string(charts.size()) + " title " + quoted(title) +
          " font 'sans-serif,13'\n";
  for (const Chart &chart : charts) {
    text += "set title " + quoted(chart.title) + " offset 0,1.2 textcolor " + colour("ink") + "\n";
    text += lines_program(chart, frame, true);
  }
  return text + "unset multiplot\n";
}

}  // namespace hpz::bench
