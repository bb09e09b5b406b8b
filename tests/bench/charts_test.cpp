// SPDX-License-Identifier: BSD-2-Clause
//
// Charts as programs for gnuplot, and its SVG made part of a page: what may reach either.
#include "bench/charts.h"

#include <gmock/gmock.h>

#include "bench/gnuplot.h"
#include "bench/html.h"

namespace hpz::bench {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(ChartText, KeepsWhatNamesAreMadeOf) {
  EXPECT_EQ(chart_text("hpz_zero, 2 threads: 24.5 GB/s (100 %)"),
            "hpz_zero, 2 threads: 24.5 GB/s (100 %)");
}

TEST(ChartText, LeavesNothingThatMeansSomethingToGnuplotOrSvg) {
  for (int c = 0; c < 256; ++c) {
    const std::string text = chart_text(std::string(1, static_cast<char>(c)));
    ASSERT_THAT(text, SizeIs(1));
    EXPECT_THAT(std::string("'\"`\\$@#!;{}<>&|\n\r\0\t~^", 21), Not(HasSubstr(text))) << c;
  }
}

TEST(ChartProgram, HasNamesInSingleQuotesAndNumbersInBlocks) {
  Chart chart;
  chart.y_label = "GB/s'; system('x')";
  chart.lines.push_back({"a'`id`\nEOD", {ChartStyle::Kind::kPlain, 3}, {{4096, 12.5}, {8192, 25}}});
  chart.x_ticks = {{4096, "4 KiB"}, {8192, "99 %s"}};
  const std::string program = chart_program(chart, ChartFormat::kWide);
  EXPECT_THAT(program, HasSubstr("$line0 << EOD\n4096 12.5\n8192 25\nEOD\n"));
  EXPECT_THAT(program, HasSubstr("title 'a??id??EOD'"));
  EXPECT_THAT(program, HasSubstr("'GB/s?? system(?x?)'"));
  EXPECT_THAT(program, HasSubstr("'99 %%s' 8192"));
  EXPECT_THAT(program, Not(HasSubstr("`")));
}

TEST(ChartProgram, NumbersThatAreNoneAreZero) {
  Chart chart;
  chart.bars.push_back({"x", "y", std::numeric_limits<double>::quiet_NaN(),
                        std::numeric_limits<double>::infinity(), false, false});
  EXPECT_THAT(chart_program(chart, ChartFormat::kNarrow), Not(ContainsRegex("[^a-z](nan|inf)")));
}

TEST(ChartProgram, LeavesOutLabelsThatWouldTouch) {
  Chart chart;
  chart.is_x_logarithmic = true;
  chart.lines.push_back({"a", {}, {{1, 1}, {1 << 30, 1}}});
  chart.x_ticks = {{1, "first"}, {1 << 29, "close"}, {1 << 30, "last"}};
  const std::string program = chart_program(chart, ChartFormat::kNarrow);
  EXPECT_THAT(program, HasSubstr("'first' 1,"));
  EXPECT_THAT(program, HasSubstr("'last' "));
  EXPECT_THAT(program, Not(HasSubstr("close")));
}

TEST(DecimalTicks, AreWithin) {
  const auto places = [](double least, double most) {
    std::vector<double> at;
    for (const ChartTick &tick : decimal_ticks(least, most, "")) at.push_back(tick.at);
    return at;
  };
  EXPECT_THAT(places(3, 40), ElementsAre(5, 10, 20));
  EXPECT_THAT(places(1, 10), ElementsAre(1, 2, 5, 10));
  EXPECT_THAT(places(0, 10), IsEmpty());
  EXPECT_THAT(places(5, 1), IsEmpty());
}

constexpr const char *kSvg =
    "<?xml version=\"1.0\"?>\n<svg \n viewBox=\"0 0 10 20\"\n "
    "xmlns=\"http:\">\n"
    "<title>Gnuplot</title>\n<desc>by</desc>\n<defs><circle id='gpPt6'/>"
    "<filter id='textbox'>\n</filter></defs>\n"
    "<g fill=\"none\" color=\"black\">\n</g>\n<g id=\"plot_1\" ><title>row</title>\n"
    "<path stroke='rgb(  0, 114, 178)' fill = 'url(#gpPat1)'/>"
    "<use xlink:href='#gpPt6' color='rgb(1,2,3)'/></g>\n</svg>\n";

TEST(InlineSvg, TakesColoursOfThePageAndIdsOfItsOwn) {
  const std::string svg = inline_svg(kSvg, "f1_", "a <title>");
  EXPECT_THAT(svg,
              HasSubstr("<svg role=\"img\" viewBox=\"0 0 10 20\"><title>a &lt;title&gt;</title>"));
  EXPECT_THAT(svg, HasSubstr("stroke='var(--blue)'"));
  EXPECT_THAT(svg, HasSubstr("color='currentColor'"));
  EXPECT_THAT(svg, HasSubstr("id='f1_gpPt6'"));
  EXPECT_THAT(svg, HasSubstr("href='#f1_gpPt6'"));
  EXPECT_THAT(svg, HasSubstr("url(#f1_gpPat1)"));
  EXPECT_THAT(svg, HasSubstr("id=\"f1_plot_1\""));
  for (const char *const gone : {"filter", "Gnuplot", "rgb(", "http", "<?xml", "black"}) {
    EXPECT_THAT(svg, Not(HasSubstr(gone)));
  }
}

TEST(InlineSvg, RefusesWhatIsNone) {
  for (const char *const text :
       {"", "<svg>", "<svg></svg>", "<svg viewBox=\"0 0 1 1\"><path stroke='rgb(1'/></svg>",
        "<svg viewBox=\"0\"><title></svg>"}) {
    EXPECT_THROW(inline_svg(text, "", ""), std::runtime_error) << text;
  }
}

TEST(Html, TextIsText) {
  EXPECT_EQ(escape_html("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  HtmlTable table;
  table.caption = "<c>";
  table.heading = {"<h>"};
  table.rows.push_back({"<r>", "<id>", {{"<d>", "<m>"}}});
  EXPECT_THAT(render_html(table), Not(ContainsRegex("<(c|h|r|id|d|m)>")));
}

}  // namespace
}  // namespace hpz::bench
