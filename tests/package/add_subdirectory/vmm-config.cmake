# SPDX-License-Identifier: BSD-2-Clause
#
# CMake package of the project in this folder.
include(CMakeFindDependencyMacro)
find_dependency(hpzero CONFIG)
include("${CMAKE_CURRENT_LIST_DIR}/vmm-targets.cmake")
