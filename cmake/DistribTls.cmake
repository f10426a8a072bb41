# SPDX-License-Identifier: Apache-2.0
# distrib::tls: distrib::rpc with OpenSSL, behind <distrib/net/tls/tls.hpp>: what is in net/tls/.
#
# Without OpenSSL nothing is defined; a find_package(distrib COMPONENTS tls) then fails and says so.

find_package(OpenSSL 3.0 QUIET)
if(NOT TARGET OpenSSL::SSL)
  set(distrib_tls_FOUND FALSE)
  if(distrib_FIND_REQUIRED_tls)
    set(distrib_FOUND FALSE)
    set(distrib_NOT_FOUND_MESSAGE "distrib's component tls needs OpenSSL 3.0 or newer (libssl-dev)")
  endif()
  return()
endif()

if(NOT TARGET distrib_tls)
  add_library(distrib_tls INTERFACE)
  add_library(distrib::tls ALIAS distrib_tls)
  target_link_libraries(distrib_tls INTERFACE distrib::rpc OpenSSL::SSL OpenSSL::Crypto)
endif()
