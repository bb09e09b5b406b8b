# SPDX-License-Identifier: BSD-2-Clause
#
# Flags of bench and tests alone. Included after the libraries are defined, whose targets took their
# directory's flags when they were made.

# An installed hpzero-bench finds the library beside it, wherever the two were moved.
if(NOT DEFINED CMAKE_INSTALL_RPATH AND NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR}
   AND NOT IS_ABSOLUTE ${CMAKE_INSTALL_BINDIR})
  file(RELATIVE_PATH libdir_from_bindir /p/${CMAKE_INSTALL_BINDIR} /p/${CMAKE_INSTALL_LIBDIR})
  set(CMAKE_INSTALL_RPATH $ORIGIN/${libdir_from_bindir})
endif()

# The C++ standard library of the system is not instrumented, so MemorySanitizer reports what its
# headers and GoogleTest do with it; the library itself stays fully checked.
if("memory" IN_LIST sanitizers)
  add_compile_options(-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/msan-ignorelist.txt)
endif()
