// SPDX-License-Identifier: BSD-2-Clause
#include "bench/gnuplot.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <stdexcept>

#include "bench/charts.h"
#include "bench/child.h"
#include "bench/html.h"
#include "bench/refusal.h"

namespace hpz::bench {
namespace {

// A chart takes a tenth of a second.
constexpr double kMostSeconds = 60;

ChildEnd start(const std::string &program) {
  ChildRequest request;
  request.arguments = {"gnuplot", "-d"};  // -d: no settings of its user's
  request.input = program;
  request.seconds = kMostSeconds;
  request.unset = {"GNUTERM=", "GNUPLOT_", "GNUHELP=", "PAGER="};
  return run_child(request);
}

// In one line.
std::string words_of(const ChildEnd &end) {
  std::string says = end.errors.substr(0, 400);
  std::replace(says.begin(), says.end(), '\n', ' ');
  return says.empty() ? "it says nothing" : says;
}

// --- Reading SVG ---------------------------------------------------------------------------------

[[noreturn]] void give_up(const std::string &what) {
  throw std::runtime_error("gnuplot wrote SVG that this program cannot read (" + what + ")");
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// "rgb(  0, 114, 178)" -> "var(--blue)"; it may be spaced in any way.
std::string page_colours(const std::string &text) {
  std::string out;
  for (size_t at = 0;;) {
    const size_t begin = text.find("rgb(", at);
    out.append(text, at, begin == std::string::npos ? begin : begin - at);
    if (begin == std::string::npos) return out;
    const size_t end = text.find(')', begin);
    if (end == std::string::npos) give_up("a colour");
    unsigned parts[3] = {};
    const char *place = text.data() + begin + 4;
    for (unsigned &part : parts) {
      while (*place == ' ' || *place == ',') ++place;
      place = std::from_chars(place, text.data() + end, part).ptr;
    }
    char hex[32];
    std::snprintf(hex, sizeof hex, "#%02x%02x%02x", parts[0] & 255, parts[1] & 255, parts[2] & 255);
    const auto known = std::find_if(std::begin(kChartColours), std::end(kChartColours),
                                    [&](const ChartColour &colour) { return colour.light == hex; });
    out += known == std::end(kChartColours) ? std::string("currentColor")
                                            : "var(--" + std::string(known->name) + ")";
    at = end + 1;
  }
}

// Groups that hold nothing, which are half of what gnuplot writes.
std::string without_empty_groups(std::string text) {
  for (size_t at = text.find("<g "); at != std::string::npos;) {
    const size_t close = text.find('>', at);
    if (close == std::string::npos) give_up("a group");
    const size_t next = text.find_first_not_of(" \t\r\n", close + 1);
    if (next != std::string::npos && text.compare(next, 4, "</g>") == 0) {
      text.erase(at, next + 4 - at);
      at = text.find("<g ", at);
    } else {
      at = text.find("<g ", close);
    }
  }
  return text;
}

std::string without(std::string text, std::string_view begin, std::string_view end) {
  for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    const size_t last = text.find(end, at);
    if (last == std::string::npos) give_up(std::string(begin));
    text.erase(at, last + end.size() - at);
  }
  return text;
}

}  // namespace

void require_gnuplot(bool for_pictures) {
  const ChildEnd end = start(for_pictures ? "set terminal pngcairo\nprint GPVAL_VERSION\n"
                                          : "set terminal svg\nprint GPVAL_VERSION\n");
  if (end.is_missing) {
    throw Refusal(
        "'report' draws its charts with gnuplot, which is not installed: install Debian's package "
        "gnuplot-nox, or the equivalent");
  }
  // It knows no such terminal, or it does not start at all.
  if (end.code != 0 && end.errors.find("terminal") == std::string::npos) {
    throw Refusal("'report' draws its charts with gnuplot, which does not run here (" +
                  words_of(end) +
                  "): raise the limits of this shell (ulimit -a), or install it once more");
  }
  if (end.code != 0) {
    throw Refusal(std::string("this gnuplot does not write ") + (for_pictures ? "PNG" : "SVG") +
                  ": install Debian's package gnuplot-nox 5.4 or later, or the equivalent" +
                  (for_pictures ? ", or leave out --png" : ""));
  }
}

std::string run_gnuplot(const std::string &program) {
  ChildEnd end = start(program);
  if (end.code != 0 || end.is_late || end.output.empty()) {
    throw std::runtime_error("gnuplot failed: " + words_of(end));
  }
  return std::move(end.output);
}

std::string inline_svg(std::string_view svg, const std::string &prefix, const std::string &title) {
  const size_t begin = svg.find("<svg");
  const size_t end = svg.rfind("</svg>");
  if (begin == std::string_view::npos || end == std::string_view::npos) give_up("no drawing");
  const size_t frame = svg.find("viewBox=\"", begin);
  if (frame == std::string_view::npos) give_up("no viewBox");
  const size_t frame_end = svg.find('"', frame + 9);
  const size_t body = svg.find('>', frame);
  if (frame_end == std::string_view::npos || body == std::string_view::npos) give_up("no frame");
  std::string text(svg.substr(body + 1, end - body - 1));
  text = without(std::move(text), "<title>", "</title>");
  text = without(std::move(text), "<desc>", "</desc>");
  text = without(std::move(text), "<filter", "</filter>");
  text = without_empty_groups(std::move(text));
  text = page_colours(text);
  for (const auto &[from, to] : std::initializer_list<std::pair<const char *, const char *>>{
           {"fill=\"black\"", "fill=\"currentColor\""},
           {" color=\"black\"", ""},
           {" color=\"white\"", ""},
           {" color=\"gray\"", ""},
           {" font-family=\"sans-serif\"", ""},
           {" class=\"gridline\"", ""}}) {
    text = replace_all(std::move(text), from, to);
  }
  for (const char *const quote : {"'", "\""}) {
    text = replace_all(std::move(text), std::string(" id=") + quote,
                       std::string(" id=") + quote + prefix);
  }
  text = replace_all(std::move(text), "href='#", "href='#" + prefix);
  text = replace_all(std::move(text), "url(#", "url(#" + prefix);
  std::string lines;
  for (size_t at = 0; at < text.size();) {
    const size_t stop = std::min(text.find('\n', at), text.size());
    if (text.find_first_not_of(" \t\r", at) < stop) lines.append(text, at, stop + 1 - at);
    at = stop + 1;
  }
  return "<svg role=\"img\" " + std::string(svg.substr(frame, frame_end + 1 - frame)) + "><title>" +
         escape_html(title) + "</title>\n" + lines + "</svg>\n";
}

}  // namespace hpz::bench
