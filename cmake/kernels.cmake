# SPDX-License-Identifier: BSD-2-Clause
#
# The sources of arch/ for this target: each row of kernels.def is the file <id>.cpp beside it. A
# row without a file and a file without a row stop the configuration: a kernel cannot be forgotten.

# Processor names -> directory of arch/. A new instruction set is one line here; one without a line
# has the generic kernels alone.
set(HPZERO_ARCH portable)
foreach(row "x86_64|amd64|AMD64=x86" "aarch64|arm64=arm64")
  string(REPLACE "=" ";" row "${row}")
  list(GET row 0 processors)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(${processors})$")
    list(GET row 1 HPZERO_ARCH)
  endif()
endforeach()
message(STATUS "Kernels of arch/${HPZERO_ARCH} for ${CMAKE_SYSTEM_PROCESSOR}")

# hpzero_kernel_sources(<out> <directory> [files that are no kernels...])
function(hpzero_kernel_sources out directory)
  set(rows ${directory}/kernels.def)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${rows})
  file(STRINGS ${rows} lines REGEX "^HPZ_KERNEL\\(")
  set(listed "")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^HPZ_KERNEL\\(([a-z][a-z0-9_]*),")
      message(FATAL_ERROR "${rows}: not a kernel id: ${line}")
    endif()
    set(source ${directory}/${CMAKE_MATCH_1}.cpp)
    if(NOT EXISTS ${source})
      message(FATAL_ERROR "${rows}: the row of kernel ${CMAKE_MATCH_1} has no file ${source}")
    endif()
    if(source IN_LIST listed)
      message(FATAL_ERROR "${rows}: kernel ${CMAKE_MATCH_1} has two rows")
    endif()
    list(APPEND listed ${source})
  endforeach()
  # Elsewhere a file without rows is one whose rows do not start their lines.
  if(NOT listed AND NOT directory MATCHES "/portable$")
    message(FATAL_ERROR "${rows}: no rows (a row starts its line with HPZ_KERNEL)")
  endif()
  list(TRANSFORM ARGN PREPEND ${directory}/)
  list(APPEND listed ${ARGN})
  file(GLOB present CONFIGURE_DEPENDS ${directory}/*.cpp)
  foreach(source IN LISTS present)
    if(NOT source IN_LIST listed)
      message(FATAL_ERROR "${source} has no row in ${rows}")
    endif()
  endforeach()
  set(${out} ${listed} PARENT_SCOPE)
endfunction()

hpzero_kernel_sources(hpzero_generic_sources ${PROJECT_SOURCE_DIR}/arch/generic)
hpzero_kernel_sources(hpzero_isa_sources ${PROJECT_SOURCE_DIR}/arch/${HPZERO_ARCH}
                      ${HPZERO_ARCH}.cpp detect.cpp)
set(HPZERO_ARCH_SOURCES ${hpzero_generic_sources} ${hpzero_isa_sources})
