# SPDX-License-Identifier: BSD-2-Clause
#
# riscv64: the C library of the cross compiler, no package of that architecture.
set(CMAKE_SYSTEM_PROCESSOR riscv64)
include(${CMAKE_CURRENT_LIST_DIR}/debian_cross.cmake)
list(APPEND CMAKE_CROSSCOMPILING_EMULATOR -L /usr/${CMAKE_LIBRARY_ARCHITECTURE})
include(${CMAKE_CURRENT_LIST_DIR}/simd_headers.cmake)
