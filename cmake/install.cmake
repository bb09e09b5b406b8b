# SPDX-License-Identifier: BSD-2-Clause
#
# Installation: libraries, headers, CMake package "hpzero" and pkg-config files, all relocatable.
if(NOT HPZERO_INSTALL)
  return()
endif()
include(CMakePackageConfigHelpers)

set(hpzero_installed hpzero_core hpzero_core_static)
if(NOT HPZERO_CORE_ONLY)
  list(APPEND hpzero_installed hpzero)
endif()
install(TARGETS ${hpzero_installed} EXPORT hpzero-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT hpzero_runtime
                NAMELINK_COMPONENT hpzero_development)
install(TARGETS hpzero_core_archive
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT hpzero_development)
# All headers, also with the core alone: hpzero.h, which includes them, is the same everywhere, and
# a call that the core does not have fails to link, by its name.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/hpzero DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT hpzero_development)

# The CMake package.
set(hpzero_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hpzero)
install(EXPORT hpzero-targets NAMESPACE hpzero:: DESTINATION ${hpzero_package_dir}
        COMPONENT hpzero_development)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/hpzero-config.cmake.in
  ${PROJECT_BINARY_DIR}/hpzero-config.cmake INSTALL_DESTINATION ${hpzero_package_dir}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hpzero-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hpzero-config.cmake
              ${PROJECT_BINARY_DIR}/hpzero-config-version.cmake
        DESTINATION ${hpzero_package_dir} COMPONENT hpzero_development)

# pkg-config. The prefix is where the file lies, so a moved installation keeps working; a directory
# that the builder gave as an absolute path is kept as it is.
set(hpzero_pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(hpzero_pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
set(hpzero_pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(hpzero_pc_includedir ${CMAKE_INSTALL_INCLUDEDIR})
endif()
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(hpzero_pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(hpzero_pc_libdir ${CMAKE_INSTALL_LIBDIR})
else()
  file(RELATIVE_PATH up /p/${hpzero_pc_dir} /p)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(hpzero_pc_prefix "\${pcfiledir}/${up}")
endif()

# hpzero_pc(<name> <description> <Libs.private>)
function(hpzero_pc name description libs_private)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/hpzero.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${hpzero_pc_dir}
          COMPONENT hpzero_development)
endfunction()
hpzero_pc(hpzero_core "Clears memory as fast as the machine can write, by libc alone" "")
if(NOT HPZERO_CORE_ONLY)
  # Libraries, not Requires.private: that would make pkg-config ask for their development packages
  # even where a program only links the shared libhpzero.
  hpzero_pc(hpzero "Clears memory as fast as the machine can write" "-lcpuinfo -lhwloc")
endif()
