// SPDX-License-Identifier: BSD-2-Clause
#include "bench/text_output.h"

#include <cstdio>
#include <string>

#include "bench/atomic_file.h"
#include "bench/refusal.h"

namespace hpz::bench {

int write_text(const Options &options, std::string_view text) {
  if (options.output) {
    AtomicFile(*options.output, "--output").commit(text);
  } else {
    std::printf("%s", std::string(text).c_str());
  }
  return kExitOk;
}

}  // namespace hpz::bench
