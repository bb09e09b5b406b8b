# SPDX-License-Identifier: BSD-2-Clause
#
# The two products of one source: libhpzero (shared) and libhpzero_core (shared and static). What
# the core has of lib/plan and lib/zero is the same in both but for one file: lib/plan/cpu.cpp asks
# libcpuinfo for a second opinion, cpu_none.cpp has none. The rooms above these are libhpzero's
# alone.

# hpzero_objects(<name> <sources...>): an object library in the libraries' own flags. Position
# independent throughout, so that shared, static and static-pie are made of the same objects.
function(hpzero_objects name)
  add_library(${name} OBJECT ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${name} PRIVATE hpzero_flags hpzero_simd_headers)
  set_target_properties(${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
endfunction()

hpzero_objects(hpzero_arch ${HPZERO_ARCH_SOURCES})
# Otherwise a loop that stores zeroes, even one of vector intrinsics, becomes a call of memset. It
# depends on the compiler whether link time optimisation remembers the option, so arch/ takes no
# part in it.
target_compile_options(hpzero_arch PRIVATE -fno-builtin -fno-lto)
set_target_properties(hpzero_arch PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)

# The rooms of lib/: every .cpp file in them is part of the library.
file(GLOB hpzero_lib_sources CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/lib/plan/*.cpp ${PROJECT_SOURCE_DIR}/lib/zero/*.cpp)
set(hpzero_cpu_source ${PROJECT_SOURCE_DIR}/lib/plan/cpu.cpp)
set(hpzero_cpu_none_source ${PROJECT_SOURCE_DIR}/lib/plan/cpu_none.cpp)
list(REMOVE_ITEM hpzero_lib_sources ${hpzero_cpu_source} ${hpzero_cpu_none_source})
hpzero_objects(hpzero_lib ${hpzero_lib_sources})
hpzero_objects(hpzero_cpu_none ${hpzero_cpu_none_source})
set(hpzero_core_objects $<TARGET_OBJECTS:hpzero_arch> $<TARGET_OBJECTS:hpzero_lib>
    $<TARGET_OBJECTS:hpzero_cpu_none>)

# hpzero_interface(<target> <scope>): what a user of the target compiles with.
function(hpzero_interface target scope)
  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# hpzero_shared(<target> <export name> <objects...>)
function(hpzero_shared target export_name)
  add_library(${target} SHARED ${ARGN})
  add_library(hpzero::${export_name} ALIAS ${target})
  hpzero_interface(${target} PUBLIC)
  target_link_options(${target} PRIVATE ${hpzero_link_options})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${export_name}
    LINKER_LANGUAGE C
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/lib/hpzero.map
    VERSION ${HPZERO_VERSION}
    SOVERSION ${HPZERO_SOVERSION})
endfunction()

hpzero_shared(hpzero_core core ${hpzero_core_objects})

# The static library in two steps. A STATIC target that holds C++ objects makes CMake link its users
# by the C++ driver, and fail where a C project has none. So users see an interface that names the
# archive's path, from which CMake infers no language.
add_library(hpzero_core_archive STATIC ${hpzero_core_objects})
set_target_properties(hpzero_core_archive PROPERTIES
  OUTPUT_NAME hpzero_core
  LINKER_LANGUAGE C)
add_library(hpzero_core_static INTERFACE)
add_library(hpzero::core_static ALIAS hpzero_core_static)
add_dependencies(hpzero_core_static hpzero_core_archive)
hpzero_interface(hpzero_core_static INTERFACE)
set(hpzero_installed_archive ${CMAKE_INSTALL_LIBDIR}/libhpzero_core.a)
if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  string(PREPEND hpzero_installed_archive $<INSTALL_PREFIX>/)
endif()
target_link_libraries(hpzero_core_static INTERFACE
  $<BUILD_INTERFACE:$<TARGET_FILE:hpzero_core_archive>>
  $<INSTALL_INTERFACE:${hpzero_installed_archive}>)
set_target_properties(hpzero_core_static PROPERTIES EXPORT_NAME core_static)

if(NOT HPZERO_CORE_ONLY)
  hpzero_objects(hpzero_cpu ${hpzero_cpu_source})
  target_include_directories(hpzero_cpu SYSTEM PRIVATE ${HPZERO_CPUINFO_INCLUDE_DIRS})
  file(GLOB hpzero_parallel_sources CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/lib/team/*.cpp ${PROJECT_SOURCE_DIR}/lib/space/*.cpp
       ${PROJECT_SOURCE_DIR}/lib/map/*.cpp ${PROJECT_SOURCE_DIR}/lib/pool/*.cpp)
  hpzero_objects(hpzero_parallel ${hpzero_parallel_sources})
  target_include_directories(hpzero_parallel SYSTEM PRIVATE ${HPZERO_HWLOC_INCLUDE_DIRS})
  hpzero_shared(hpzero hpzero $<TARGET_OBJECTS:hpzero_arch> $<TARGET_OBJECTS:hpzero_lib>
                $<TARGET_OBJECTS:hpzero_cpu> $<TARGET_OBJECTS:hpzero_parallel>)
  # By path, not by target: an exported target must not name one that only this build knows.
  target_link_libraries(hpzero PRIVATE
    ${HPZERO_CPUINFO_LINK_LIBRARIES} ${HPZERO_HWLOC_LINK_LIBRARIES})
endif()
