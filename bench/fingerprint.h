// SPDX-License-Identifier: BSD-2-Clause
//
// Which library ran: two that call themselves the same version may still be two.
#ifndef HPZERO_BENCH_FINGERPRINT_H
#define HPZERO_BENCH_FINGERPRINT_H

#include <string>

namespace hpz::bench {

// 16 digits that files of the same bytes have in common (FNV-1a); "unknown" if it cannot be read.
std::string fingerprint_of_file(const std::string &path);

// Of the file that the library lies in.
std::string fingerprint_of_library();

}  // namespace hpz::bench

#endif
