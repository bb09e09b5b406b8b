# SPDX-License-Identifier: BSD-2-Clause
#
# arm64, with the packages of Debian's architecture arm64 installed beside the machine's own
# (tools/setup arm64).
set(CMAKE_SYSTEM_PROCESSOR aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/debian_cross.cmake)
# libcpuinfo-dev:arm64 cannot be installed beside the machine's own (Debian 12: a file in both). The
# headers are the same, so the library alone is named.
set(HPZERO_CPUINFO_LIBRARY /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/libcpuinfo.so.0 CACHE FILEPATH "")
# The other libraries by the descriptions of that architecture, not by the machine's own.
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig:/usr/share/pkgconfig)
