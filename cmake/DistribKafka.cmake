# SPDX-License-Identifier: Apache-2.0
# distrib::kafka: distrib::distrib with librdkafka 2.0 or newer, behind <distrib/kafka.hpp>: the room kafka/.
#
# Without librdkafka nothing is defined; a find_package(distrib COMPONENTS kafka) then fails and says so. Its own package
# is taken where there is one, as Conan and vcpkg have it: it knows which libraries a static librdkafka needs.

if(NOT TARGET RdKafka::rdkafka)
  find_package(RdKafka 2.0 CONFIG QUIET)
endif()
find_path(DISTRIB_RDKAFKA_INCLUDE librdkafka/rdkafka.h)
find_library(DISTRIB_RDKAFKA_LIBRARY rdkafka)
mark_as_advanced(DISTRIB_RDKAFKA_INCLUDE DISTRIB_RDKAFKA_LIBRARY)
set(distrib_rdkafka_is_old FALSE)
if(NOT TARGET RdKafka::rdkafka AND DISTRIB_RDKAFKA_INCLUDE)
  file(STRINGS ${DISTRIB_RDKAFKA_INCLUDE}/librdkafka/rdkafka.h distrib_rdkafka_version REGEX "^#define RD_KAFKA_VERSION ")
  if(NOT distrib_rdkafka_version MATCHES "0x0*[2-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]$")
    set(distrib_rdkafka_is_old TRUE)
  endif()
endif()
if(NOT TARGET RdKafka::rdkafka
   AND (NOT DISTRIB_RDKAFKA_INCLUDE OR NOT DISTRIB_RDKAFKA_LIBRARY OR distrib_rdkafka_is_old))
  set(distrib_kafka_FOUND FALSE)
  if(distrib_FIND_REQUIRED_kafka)
    set(distrib_FOUND FALSE)
    set(distrib_NOT_FOUND_MESSAGE "distrib's component kafka needs librdkafka 2.0 or newer (librdkafka-dev)")
  endif()
  return()
endif()

if(NOT TARGET distrib_kafka)
  add_library(distrib_kafka INTERFACE)
  add_library(distrib::kafka ALIAS distrib_kafka)
  target_link_libraries(distrib_kafka INTERFACE distrib::distrib)
  if(TARGET RdKafka::rdkafka)
    target_link_libraries(distrib_kafka INTERFACE RdKafka::rdkafka)
  else()
    if(NOT DISTRIB_RDKAFKA_INCLUDE IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
      target_include_directories(distrib_kafka SYSTEM INTERFACE ${DISTRIB_RDKAFKA_INCLUDE})
    endif()
    target_link_libraries(distrib_kafka INTERFACE ${DISTRIB_RDKAFKA_LIBRARY})
  endif()
endif()
