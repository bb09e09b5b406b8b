# SPDX-License-Identifier: BSD-2-Clause
#
# Another instruction set by Debian's cross compiler, its programs run by qemu-user. Included by
# <processor>.cmake, which sets CMAKE_SYSTEM_PROCESSOR.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_LIBRARY_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
set(CMAKE_C_COMPILER ${CMAKE_LIBRARY_ARCHITECTURE}-gcc)
set(CMAKE_CXX_COMPILER ${CMAKE_LIBRARY_ARCHITECTURE}-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${CMAKE_SYSTEM_PROCESSOR})
# What is built is found in the target's own folders, what runs while building in the machine's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
