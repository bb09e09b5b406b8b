# SPDX-License-Identifier: BSD-2-Clause
#
# What the libraries are built from, besides the C library. Nothing here reaches a user of the
# installed package. Google Benchmark, nlohmann-json and GoogleTest are found in bench/ and tests/.

# Highway and xsimd: headers only, by static dispatch (Highway's dynamic dispatch would need libhwy,
# which needs the C++ run-time library), so no library target of theirs is linked.
# HPZERO_SIMD_INCLUDE_DIR names a folder with hwy/ and xsimd/ where the packages' own paths do not
# serve (a C library other than the system's).
set(HPZERO_SIMD_INCLUDE_DIR "" CACHE PATH "Folder with the headers of Highway and xsimd")
add_library(hpzero_simd_headers INTERFACE)
if(HPZERO_SIMD_INCLUDE_DIR)
  target_include_directories(hpzero_simd_headers SYSTEM INTERFACE ${HPZERO_SIMD_INCLUDE_DIR})
else()
  find_package(hwy REQUIRED CONFIG)
  find_package(xsimd REQUIRED CONFIG)
  foreach(package hwy::hwy xsimd)
    target_include_directories(hpzero_simd_headers SYSTEM INTERFACE
      $<TARGET_PROPERTY:${package},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
endif()

# libcpuinfo by pkg-config: its CMake config of Debian 12 names a target file that is not there.
# HPZERO_CPUINFO_LIBRARY names the library where its development package cannot be had and the
# header is one that the compiler finds anyhow (cmake/toolchains/aarch64.cmake).
set(HPZERO_CPUINFO_LIBRARY "" CACHE FILEPATH "libcpuinfo, instead of asking pkg-config")
if(HPZERO_CPUINFO_LIBRARY)
  set(HPZERO_CPUINFO_INCLUDE_DIRS "")
  set(HPZERO_CPUINFO_LINK_LIBRARIES ${HPZERO_CPUINFO_LIBRARY})
endif()

# hwloc, which only libhpzero needs.
if(NOT HPZERO_CORE_ONLY)
  find_package(PkgConfig REQUIRED)
  if(NOT HPZERO_CPUINFO_LIBRARY)
    pkg_check_modules(HPZERO_CPUINFO REQUIRED libcpuinfo)
  endif()
  pkg_check_modules(HPZERO_HWLOC REQUIRED hwloc>=2.1) # 2.1: hwloc_topology_set_components
endif()
