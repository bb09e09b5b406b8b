# SPDX-License-Identifier: BSD-2-Clause
#
# Flags of bench and tests alone. Included after the libraries are defined, whose targets took their
# directory's flags when they were made.

# The C++ standard library of the system is not instrumented, so MemorySanitizer reports what its
# headers and GoogleTest do with it; the library itself stays fully checked.
if("memory" IN_LIST sanitizers)
  add_compile_options(-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/msan-ignorelist.txt)
endif()
