# SPDX-License-Identifier: BSD-2-Clause
#
# libhpzero_core for musl on a machine whose own C library is another one (Debian: musl-tools).
# musl-gcc compiles and links C only, so C++ is compiled by the system's g++ with musl's headers in
# place of its own; libstdc++ serves with its headers alone, nothing of it is linked.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})
set(CMAKE_C_COMPILER musl-gcc)
set(CMAKE_CXX_COMPILER g++)

function(hpzero_ask_gxx out)
  execute_process(COMMAND g++ ${ARGN} OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  set(${out} ${answer} PARENT_SCOPE)
endfunction()
hpzero_ask_gxx(gxx_version -dumpversion)
hpzero_ask_gxx(gxx_multiarch -print-multiarch)
hpzero_ask_gxx(gxx_headers -print-file-name=include)

set(CMAKE_CXX_FLAGS_INIT "-nostdinc -nostdinc++")
foreach(folder /usr/include/c++/${gxx_version} /usr/include/${gxx_multiarch}/c++/${gxx_version}
               /usr/include/${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-musl ${gxx_headers})
  string(APPEND CMAKE_CXX_FLAGS_INIT " -isystem ${folder}")
endforeach()
string(APPEND CMAKE_CXX_FLAGS_INIT " -include ${CMAKE_CURRENT_LIST_DIR}/musl_names.h")

include(${CMAKE_CURRENT_LIST_DIR}/simd_headers.cmake)
