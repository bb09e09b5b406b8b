# SPDX-License-Identifier: BSD-2-Clause
#
# Highway and xsimd are headers alone, the same for every instruction set. Where they lie beside the
# headers of the system's own C library, which must stay out of sight, a folder of links shows them
# and nothing else.
set(HPZERO_SIMD_INCLUDE_DIR ${CMAKE_BINARY_DIR}/simd_headers CACHE PATH "")
if(NOT CMAKE_PROJECT_NAME STREQUAL "CMAKE_TRY_COMPILE")
  foreach(package hwy xsimd)
    file(MAKE_DIRECTORY ${HPZERO_SIMD_INCLUDE_DIR})
    file(CREATE_LINK /usr/include/${package} ${HPZERO_SIMD_INCLUDE_DIR}/${package} SYMBOLIC)
  endforeach()
endif()
