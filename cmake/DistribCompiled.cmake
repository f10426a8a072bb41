# SPDX-License-Identifier: Apache-2.0
# distrib::compiled: distrib::distrib, with the bodies of plain functions compiled once, in a static library, instead of
# in every unit. Made in the project that links it, with its flags and its libraries: one unit for each room that has
# bodies, which are found in distrib_INCLUDE_DIR.

if(NOT TARGET distrib_compiled)
  file(GLOB distrib_bodies RELATIVE ${distrib_INCLUDE_DIR} ${distrib_INCLUDE_DIR}/distrib/*/src.hpp
       ${distrib_INCLUDE_DIR}/distrib/*/*/src.hpp)
  set(distrib_units)
  foreach(distrib_room IN LISTS distrib_bodies)
    string(REGEX REPLACE "^distrib/(.*)/src[.]hpp$" "\\1" distrib_unit ${distrib_room})
    string(REPLACE "/" "_" distrib_unit ${distrib_unit})
    set(distrib_unit ${CMAKE_CURRENT_BINARY_DIR}/distrib_compiled/${distrib_unit}.cpp)
    file(CONFIGURE OUTPUT ${distrib_unit} CONTENT "#include <${distrib_room}>\n" @ONLY)
    list(APPEND distrib_units ${distrib_unit})
  endforeach()
  add_library(distrib_compiled STATIC EXCLUDE_FROM_ALL ${distrib_units})
  add_library(distrib::compiled ALIAS distrib_compiled)
  set_target_properties(distrib_compiled PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_definitions(distrib_compiled PUBLIC DISTRIB_SEPARATE_COMPILATION)
  target_compile_options(distrib_compiled PRIVATE -w) # the project's warnings are not about us
  target_link_libraries(distrib_compiled PUBLIC distrib::distrib)
endif()
