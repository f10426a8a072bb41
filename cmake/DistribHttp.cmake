# SPDX-License-Identifier: Apache-2.0
# distrib::http: distrib::record and distrib::rpc with cpp-httplib, behind <distrib/remote/http_client.hpp>: the room
# remote/, and what begins with webhdfs in hadoop/ and spark/.
#
# Without cpp-httplib nothing is defined; a find_package(distrib COMPONENTS http) then fails and says so. Its own package
# is taken where there is one, else pkg-config's: both know with which of its parts the library was compiled.

find_package(Threads QUIET)
if(NOT TARGET httplib::httplib AND NOT TARGET PkgConfig::distrib_httplib)
  find_package(httplib CONFIG QUIET)
  if(NOT TARGET httplib::httplib)
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
      pkg_check_modules(distrib_httplib QUIET IMPORTED_TARGET GLOBAL cpp-httplib>=0.11)
    endif()
  endif()
endif()
if(TARGET httplib::httplib)
  set(distrib_httplib_target httplib::httplib)
elseif(TARGET PkgConfig::distrib_httplib)
  set(distrib_httplib_target PkgConfig::distrib_httplib)
  find_package(OpenSSL QUIET) # its headers have functions of OpenSSL's in line
  if(TARGET OpenSSL::SSL)
    list(APPEND distrib_httplib_target OpenSSL::SSL OpenSSL::Crypto)
  endif()
else()
  set(distrib_http_FOUND FALSE)
  if(distrib_FIND_REQUIRED_http)
    set(distrib_FOUND FALSE)
    set(distrib_NOT_FOUND_MESSAGE
        "distrib's component http needs cpp-httplib 0.11 or newer (libcpp-httplib-dev, pkg-config)")
  endif()
  return()
endif()

if(NOT TARGET distrib_http)
  add_library(distrib_http INTERFACE)
  add_library(distrib::http ALIAS distrib_http)
  target_link_libraries(distrib_http INTERFACE distrib::record distrib::rpc ${distrib_httplib_target} Threads::Threads)
endif()
