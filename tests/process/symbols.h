// SPDX-License-Identifier: BSD-2-Clause
//
// The symbol table of an ELF file that was not stripped: which function an address is in.
#ifndef HPZERO_TESTS_PROCESS_SYMBOLS_H
#define HPZERO_TESTS_PROCESS_SYMBOLS_H

#include <stdint.h>

#include <string>
#include <vector>

namespace hpz::test {

struct Symbol {
  std::string name;  // demangled, without arguments: "hpz::kernel::avx2_nt"
  uint64_t begin = 0, end = 0;
};

class Symbols {
 public:
  explicit Symbols(const std::string &path);  // throws where there is no table

  // Null: none, or more than one.
  const Symbol *named(const std::string &name) const;
  const std::vector<Symbol> &functions() const { return functions_; }

 private:
  std::vector<Symbol> functions_, objects_;
};

}  // namespace hpz::test

#endif
