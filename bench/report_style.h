// SPDX-License-Identifier: BSD-2-Clause
//
// How the page of 'report' looks: on a screen, in the dark, on a phone and on paper.
#ifndef HPZERO_BENCH_REPORT_STYLE_H
#define HPZERO_BENCH_REPORT_STYLE_H

#include <string>

namespace hpz::bench {

std::string report_style();  // CSS

}  // namespace hpz::bench

#endif
