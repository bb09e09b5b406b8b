// SPDX-License-Identifier: BSD-2-Clause
#include "bench/report_style.h"

#include "bench/charts.h"

namespace hpz::bench {
namespace {

constexpr const char *kRules = R"(
*, *::before, *::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; scroll-behavior: smooth; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif;
  overflow-wrap: break-word; }
header, main, footer { max-width: 60rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 2.5rem; }
h1 { font-size: clamp(1.5rem, 1.1rem + 2vw, 2.25rem); line-height: 1.2; margin: 0 0 .75rem;
  letter-spacing: -.015em; text-wrap: balance; }
h2 { font-size: 1.5rem; line-height: 1.25; margin: 3.5rem 0 .5rem; letter-spacing: -.01em; }
h3 { font-size: 1.1rem; margin: 2.5rem 0 0; padding-bottom: .35rem;
  border-bottom: 1px solid var(--faint); }
h4 { font-size: 1.05rem; margin: 0; }
p { margin: .35rem 0 .75rem; max-width: 46rem; }
.lead, footer, caption, .file { color: var(--quiet); }
a { color: var(--blue); }
code { font: .85em ui-monospace, "DejaVu Sans Mono", monospace; color: var(--quiet);
  overflow-wrap: anywhere; }
.tiles { list-style: none; display: grid; gap: .75rem; padding: 0; margin: 1.5rem 0 0;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 15rem), 1fr)); }
.tiles li { border: 1px solid var(--faint); border-radius: .6rem; padding: .8rem 1rem; }
.tiles b { display: block; font-size: 1.6rem; line-height: 1.25; font-weight: 650;
  font-variant-numeric: tabular-nums; letter-spacing: -.01em; }
.tiles span { color: var(--quiet); font-size: .88rem; line-height: 1.4; display: block; }
nav ul { display: flex; flex-wrap: wrap; gap: .4rem 1.25rem; list-style: none; padding: 0;
  margin: 1.75rem 0 0; }
.warnings { border-left: 4px solid var(--orange); padding: .1rem 0 .1rem 1rem; margin-top: 2rem; }
.warnings h2 { font-size: 1.1rem; margin: .25rem 0; }
.warnings ul { margin: 0; padding-left: 1.1rem; }
.warnings li { font-size: .92rem; margin: .3rem 0; }
figure { margin: 1.75rem 0 2.25rem; }
figcaption { margin-bottom: .5rem; }
svg { display: block; width: 100%; height: auto; font-family: inherit; }
svg.narrow { display: none; }
details { margin-top: .35rem; }
summary { cursor: pointer; color: var(--blue); font-size: .9rem; padding: .2rem 0; }
.scroll { overflow-x: auto; margin: .5rem 0 1rem; }
.scroll:focus-visible { outline: 2px solid var(--blue); outline-offset: 2px; }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-size: .84rem; padding-bottom: .4rem; }
th, td { padding: .3rem .7rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--faint); }
th:first-child { text-align: left; padding-left: 0; font-weight: 500; }
thead th { color: var(--quiet); font-weight: 600; border-bottom-color: var(--muted); }
.prose th, .prose td { text-align: left; white-space: normal; vertical-align: top; }
.prose td { overflow-wrap: anywhere; min-width: 10rem; }
td.best { font-weight: 700; }
td.none { color: var(--muted); }
td.published { font-style: italic; }
footer { margin-top: 4rem; padding-top: 1rem; padding-bottom: 3rem; font-size: .9rem;
  border-top: 1px solid var(--faint); }
@media (max-width: 40rem) {
  svg.wide { display: none; }
  svg.narrow { display: block; }
  header { padding-top: 1.5rem; }
  h2 { margin-top: 2.5rem; }
}
@media print {
  @page { margin: 15mm; }
  body { font-size: 10pt; }
  header, main, footer { max-width: none; padding: 0; }
  svg.wide { display: block; }
  svg.narrow { display: none; }
  figure, .tiles li, tr { break-inside: avoid; }
  h2, h3, h4, figcaption { break-after: avoid; }
  nav, summary { display: none; }
  details::details-content { content-visibility: visible; display: block; block-size: auto; }
  .scroll { overflow: visible; }
  table { font-size: 7pt; }
  th, td { padding: .15rem .3rem; }
}
)";

std::string variables(std::string_view ChartColour::*shade) {
  std::string text;
  for (const ChartColour &colour : kChartColours) {
    text += " --" + std::string(colour.name) + ": " + std::string(colour.*shade) + ";";
  }
  return text;
}

}  // namespace

std::string report_style() {
  // Text that is not the main thing is darker than lines that are not.
  const std::string light = variables(&ChartColour::light) + " --quiet: #57606a;";
  const std::string dark = variables(&ChartColour::dark) + " --quiet: #a3abb4;";
  return ":root { color-scheme: light dark;" + light + " }\n@media screen and " +
         "(prefers-color-scheme: dark) { :root {" + dark + " } }" + kRules;
}

}  // namespace hpz::bench
