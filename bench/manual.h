// SPDX-License-Identifier: BSD-2-Clause
//
// The manual hpzero-bench(1), written from the tables that --help is made of.
#ifndef HPZERO_BENCH_MANUAL_H
#define HPZERO_BENCH_MANUAL_H

#include <string>

namespace hpz::bench {

// In the language of man(7).
std::string manual();

}  // namespace hpz::bench

#endif
