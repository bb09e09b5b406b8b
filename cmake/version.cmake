# SPDX-License-Identifier: BSD-2-Clause
#
# HPZERO_VERSION and HPZERO_SOVERSION, read from the version's one home: include/hpzero/version.h.
set(HPZERO_VERSION "")
foreach(part MAJOR MINOR PATCH)
  file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../include/hpzero/version.h line
       REGEX "^#define HPZ_VERSION_${part} [0-9]+$")
  if(NOT line MATCHES "([0-9]+)$")
    message(FATAL_ERROR "include/hpzero/version.h does not define HPZ_VERSION_${part}")
  endif()
  set(HPZERO_VERSION_${part} ${CMAKE_MATCH_1})
  list(APPEND HPZERO_VERSION ${CMAKE_MATCH_1})
endforeach()
list(JOIN HPZERO_VERSION "." HPZERO_VERSION)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${CMAKE_CURRENT_LIST_DIR}/../include/hpzero/version.h)

# While the major version is 0 every minor version may change the binary interface, so both make
# the soname (libhpzero.so.0.1); from 1.0 on the major version alone does. The names of the version
# node in lib/hpzero.map and of the package version file (SameMinorVersion) follow the same rule.
if(HPZERO_VERSION_MAJOR EQUAL 0)
  set(HPZERO_SOVERSION ${HPZERO_VERSION_MAJOR}.${HPZERO_VERSION_MINOR})
else()
  set(HPZERO_SOVERSION ${HPZERO_VERSION_MAJOR})
endif()
