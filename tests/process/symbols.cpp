// SPDX-License-Identifier: BSD-2-Clause
//
// Reads section headers and .symtab of a 64-bit ELF file of this machine.
#include "tests/process/symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include <stdexcept>

#include "tests/support/scratch_folder.h"

namespace hpz::test {
namespace {

template <class T> T at(const std::string &file, uint64_t offset) {
  T value;
  if (offset + sizeof value > file.size()) throw std::runtime_error("ELF file cut off");
  memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

std::string readable(const char *mangled) {
  int status = 0;
  char *const demangled = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = status == 0 ? demangled : mangled;
  free(demangled);
  const std::string anonymous = "(anonymous namespace)::";
  for (size_t found; (found = name.find(anonymous)) != std::string::npos;) {
    name.erase(found, anonymous.size());
  }
  return name.substr(0, name.find('('));
}

}  // namespace

Symbols::Symbols(const std::string &path) {
  const std::string file = read_file(path);
  const auto header = at<Elf64_Ehdr>(file, 0);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) throw std::runtime_error("no ELF: " + path);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto table = at<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (table.sh_type != SHT_SYMTAB) continue;
    const auto names = at<Elf64_Shdr>(file, header.e_shoff + table.sh_link * sizeof(Elf64_Shdr));
    for (uint64_t offset = 0; offset < table.sh_size; offset += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(file, table.sh_offset + offset);
      const int type = ELF64_ST_TYPE(symbol.st_info);
      if (symbol.st_size == 0 || (type != STT_FUNC && type != STT_OBJECT)) continue;
      (type == STT_FUNC ? functions_ : objects_)
          .push_back({readable(file.c_str() + names.sh_offset + symbol.st_name), symbol.st_value,
                      symbol.st_value + symbol.st_size});
    }
  }
  if (functions_.empty()) throw std::runtime_error("no symbol table (stripped?): " + path);
}

const Symbol *Symbols::named(const std::string &name) const {
  const Symbol *found = nullptr;
  for (const std::vector<Symbol> *const list : {&functions_, &objects_}) {
    for (const Symbol &symbol : *list) {
      if (symbol.name != name) continue;
      if (found != nullptr) return nullptr;
      found = &symbol;
    }
  }
  return found;
}

}  // namespace hpz::test
