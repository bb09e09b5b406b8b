# SPDX-License-Identifier: BSD-2-Clause
#
# Compiler and linker flags. The target is the baseline CPU of the instruction set: kernels name
# what they need by function attributes, and no file ever gets an -m flag of its own (an inline
# function compiled with one could win at link time and run on a CPU that lacks it).
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# Warnings for everything of this project, the bench and the tests included.
add_library(hpzero_warnings INTERFACE)
target_compile_options(hpzero_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wundef -Wcast-align
  -Wformat=2 -Wvla -Wpointer-arith -Wwrite-strings
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual>
  $<$<BOOL:${HPZERO_WERROR}>:-Werror>)

# What the two libraries are compiled with, beyond the warnings. No -fno-threadsafe-statics: an
# accidental local static is then seen by the symbol check (__cxa_guard_acquire) instead of
# becoming a race.
add_library(hpzero_flags INTERFACE)
target_compile_options(hpzero_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti>
  $<$<BOOL:${HPZERO_NATIVE}>:-march=native>)
target_link_libraries(hpzero_flags INTERFACE hpzero_warnings)
# Otherwise gcc calls atomics of libgcc's, which come with a constructor: code at load time.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  target_compile_options(hpzero_flags INTERFACE -mno-outline-atomics)
endif()

# Undefined symbols are errors, so that a need for the C++ run-time library or another
# undeclared dependency fails the build. Exception: clang leaves the run-time of its sanitizers to
# the executable.
# -z now: the dynamic linker needs 3 KiB of stack when it binds a call late, which a signal handler
# that makes the first call may not have.
set(hpzero_link_options -Wl,--version-script=${PROJECT_SOURCE_DIR}/lib/hpzero.map -Wl,-z,now)
if(NOT (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND (HPZERO_SANITIZE OR HPZERO_FUZZ)))
  list(APPEND hpzero_link_options -Wl,-z,defs)
endif()

# The libraries are C++ inside and linked by the C driver (LINKER_LANGUAGE C in library.cmake),
# which does not know libstdc++; CMake would add it again from this list. C++ executables do not use
# the list: they are linked by the C++ driver.
set(CMAKE_CXX_IMPLICIT_LINK_LIBRARIES "")

if(HPZERO_SANITIZE)
  string(REPLACE "," ";" sanitizers "${HPZERO_SANITIZE}")
  foreach(sanitizer IN LISTS sanitizers)
    if(NOT sanitizer MATCHES "^(address|undefined|thread|memory)$")
      message(FATAL_ERROR "HPZERO_SANITIZE: unknown sanitizer \"${sanitizer}\"")
    endif()
  endforeach()
  add_compile_options(-fsanitize=${HPZERO_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HPZERO_SANITIZE})
  if("memory" IN_LIST sanitizers)
    add_compile_options(-fsanitize-memory-track-origins)
  endif()
endif()
if(HPZERO_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "HPZERO_FUZZ needs clang: its libFuzzer drives the targets")
  endif()
  # Coverage for the library; a fuzzing target itself links with -fsanitize=fuzzer.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
