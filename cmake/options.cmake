# SPDX-License-Identifier: BSD-2-Clause
#
# What a builder can choose. All of it defaults to what a package wants.
option(HPZERO_CORE_ONLY "Build libhpzero_core alone: no dependency but the C library" OFF)
set(build_all OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT HPZERO_CORE_ONLY)
  set(build_all ON)
endif()
option(HPZERO_BUILD_BENCH "Build hpzero-bench (needs Google Benchmark, nlohmann-json)" ${build_all})
option(HPZERO_BUILD_TESTS "Build the tests (needs GoogleTest)" ${build_all})
option(HPZERO_INSTALL "Install libraries, headers and package files" ON)
option(HPZERO_WERROR "Make warnings errors" OFF)
option(HPZERO_NATIVE "Compile for this machine's CPU alone; the result may not run elsewhere" OFF)
option(HPZERO_FUZZ "Build the fuzzing targets (clang)" OFF)
set(HPZERO_SANITIZE "" CACHE STRING
    "Sanitizers for library and tests: address, undefined, thread, memory, comma-separated")

if(HPZERO_CORE_ONLY AND HPZERO_BUILD_BENCH)
  message(FATAL_ERROR "hpzero-bench uses libhpzero: HPZERO_CORE_ONLY excludes it")
endif()

# Optimised with line tables where the builder says nothing: an unoptimised build of a library whose
# only point is speed is never what was meant. A superproject decides for itself.
get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT multi_config)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
endif()
