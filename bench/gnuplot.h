// SPDX-License-Identifier: BSD-2-Clause
//
// The only door to gnuplot, which is a program and no library: started for each chart, without its
// user's settings, given the program on its standard input and no file.
#ifndef HPZERO_BENCH_GNUPLOT_H
#define HPZERO_BENCH_GNUPLOT_H

#include <string>
#include <string_view>

namespace hpz::bench {

// Throws Refusal where there is no gnuplot, or one that lacks what is needed; before anything is
// measured.
void require_gnuplot(bool for_pictures);

// What it writes to standard output. Throws std::runtime_error with what it says.
std::string run_gnuplot(const std::string &program);

// The SVG of a chart, to stand inside a page: colours are the page's, ids are made its own by
// prefix, and there is a title for whoever cannot see it. Pure; throws std::runtime_error for what
// is no SVG of gnuplot's.
std::string inline_svg(std::string_view svg, const std::string &prefix, const std::string &title);

}  // namespace hpz::bench

#endif
