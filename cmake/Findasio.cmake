# SPDX-License-Identifier: Apache-2.0
# Standalone Asio as target distrib::asio. Distributions ship Asio without a CMake package, package managers with one:
# take theirs where it is, the header where it is not.
#
# Sets asio_FOUND and asio_VERSION.

find_package(Threads QUIET)
find_package(asio CONFIG QUIET)
mark_as_advanced(asio_DIR)
if(TARGET asio::asio)
  set(asio_found asio::asio)
else()
  find_path(asio_INCLUDE_DIR asio/version.hpp)
  mark_as_advanced(asio_INCLUDE_DIR)
  set(asio_found ${asio_INCLUDE_DIR})
  if(asio_INCLUDE_DIR)
    # 102201 is 1.22.1
    file(STRINGS ${asio_INCLUDE_DIR}/asio/version.hpp asio_VERSION REGEX "^#define ASIO_VERSION [0-9]+")
    string(REGEX MATCH "[0-9]+" asio_number "${asio_VERSION}")
    math(EXPR asio_major "${asio_number} / 100000")
    math(EXPR asio_minor "${asio_number} / 100 % 1000")
    math(EXPR asio_patch "${asio_number} % 100")
    set(asio_VERSION ${asio_major}.${asio_minor}.${asio_patch})
  endif()
endif()

include(FindPackageHandleStandardArgs)
if(NOT asio_FIND_VERSION AND asio_VERSION)
  set(asio_FIND_VERSION 1.22) # the oldest that distrib compiles with
endif()
find_package_handle_standard_args(
  asio
  REQUIRED_VARS asio_found Threads_FOUND
  VERSION_VAR asio_VERSION)

if(asio_FOUND AND NOT TARGET distrib::asio)
  add_library(distrib::asio INTERFACE IMPORTED)
  if(TARGET asio::asio)
    target_link_libraries(distrib::asio INTERFACE asio::asio)
  else()
    target_include_directories(distrib::asio INTERFACE ${asio_INCLUDE_DIR}) # imported: a system path to the compiler
  endif()
  target_link_libraries(distrib::asio INTERFACE Threads::Threads)
  target_compile_definitions(distrib::asio INTERFACE ASIO_STANDALONE)
  if(asio_VERSION AND asio_VERSION VERSION_LESS 1.26) # declares no coroutines under clang unless told
    target_compile_definitions(distrib::asio INTERFACE $<$<CXX_COMPILER_ID:Clang,AppleClang>:ASIO_HAS_CO_AWAIT=1>)
  endif()
endif()
