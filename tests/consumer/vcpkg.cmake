# SPDX-License-Identifier: Apache-2.0
# Installs the overlay port as vcpkg does, and checks the result as vcpkg does: for machines without vcpkg.
# usage: cmake -D PACKAGES=DIRECTORY -P vcpkg.cmake

cmake_minimum_required(VERSION 3.23)
set(PORT distrib)
set(CURRENT_PORT_DIR ${CMAKE_CURRENT_LIST_DIR}/../../packaging/vcpkg/ports/distrib)
get_filename_component(CURRENT_PORT_DIR ${CURRENT_PORT_DIR} ABSOLUTE)
set(CURRENT_PACKAGES_DIR ${PACKAGES})
set(CURRENT_BUILDTREES_DIR ${PACKAGES}.build)
file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR} ${CURRENT_BUILDTREES_DIR})

# --- functions that vcpkg provides for ports -----------------------------------------------------------------------

function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${said}")
  endif()
  set(said "${said}" PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(arg "" "SOURCE_PATH" "OPTIONS" ${ARGN})
  run(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${CURRENT_BUILDTREES_DIR} -G Ninja -DCMAKE_BUILD_TYPE=Release
      -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} ${arg_OPTIONS})
  if(said MATCHES "not used by the project")
    message(FATAL_ERROR "the port passes options that the project does not have: ${said}")
  endif()
endfunction()

function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --install ${CURRENT_BUILDTREES_DIR})
endfunction()

# Moves the package to share/PORT, and corrects the two ways of finding the prefix from there that vcpkg knows.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(arg "" "CONFIG_PATH" "" ${ARGN})
  set(share ${CURRENT_PACKAGES_DIR}/share/${PORT})
  file(RENAME ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH} ${share})
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/share/cmake)
  file(GLOB scripts ${share}/*.cmake)
  foreach(script IN LISTS scripts)
    file(READ ${script} text)
    string(REGEX REPLACE "(PACKAGE_PREFIX_DIR \"\\\${CMAKE_CURRENT_LIST_DIR})/\\.\\./(\\.\\./)*\"" "\\1/../../\"" text
                         "${text}")
    set(up "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
    string(REPLACE "${up}${up}${up}" "${up}${up}" text "${text}") # share/cmake/distrib was one deeper than share/distrib
    file(WRITE ${script} "${text}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
  file(GLOB_RECURSE files ${CURRENT_PACKAGES_DIR}/*.pc)
  if(NOT files)
    message(FATAL_ERROR "the port installs no pkg-config file")
  endif()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(arg "" "" "FILE_LIST" ${ARGN})
  configure_file(${arg_FILE_LIST} ${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright COPYONLY)
endfunction()

include(${CURRENT_PORT_DIR}/portfile.cmake)

# --- what vcpkg checks afterwards ----------------------------------------------------------------------------------

file(READ ${CURRENT_PORT_DIR}/vcpkg.json manifest)
foreach(field IN ITEMS name version description license)
  string(JSON value GET "${manifest}" ${field})
endforeach()
file(READ ${CURRENT_PORT_DIR}/portfile.cmake portfile)
foreach(helper IN ITEMS vcpkg-cmake vcpkg-cmake-config) # they provide the vcpkg_cmake_* functions
  if(NOT manifest MATCHES "\"name\": \"${helper}\",[ \n]*\"host\": true")
    message(FATAL_ERROR "vcpkg.json: ${helper} is not a host dependency")
  endif()
endforeach()

foreach(file IN ITEMS include/distrib/ecosystem.hpp share/distrib/distribConfig.cmake share/distrib/copyright
                      share/distrib/usage lib/pkgconfig/distrib.pc)
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${file})
    message(FATAL_ERROR "the port does not install ${file}")
  endif()
endforeach()
if(EXISTS ${CURRENT_PACKAGES_DIR}/share/pkgconfig) # allowed only for ports without libraries
  message(FATAL_ERROR "the port installs share/pkgconfig")
endif()
file(GLOB_RECURSE entries LIST_DIRECTORIES true ${CURRENT_PACKAGES_DIR}/*)
foreach(entry IN LISTS entries)
  if(IS_DIRECTORY ${entry})
    file(GLOB inside ${entry}/*)
    if(NOT inside)
      message(FATAL_ERROR "the port leaves an empty directory: ${entry}")
    endif()
  elseif(entry MATCHES "\\.(cmake|pc)$")
    file(READ ${entry} text)
    string(FIND "${text}" "${CURRENT_PACKAGES_DIR}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "the port installs a path of the machine that it was built on: ${entry}")
    endif()
  endif()
endforeach()
file(REMOVE_RECURSE ${CURRENT_BUILDTREES_DIR})
