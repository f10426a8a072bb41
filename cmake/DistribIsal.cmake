# SPDX-License-Identifier: Apache-2.0
# distrib::isal: distrib::record with ISA-L, behind <distrib/record/isal.hpp>.
#
# Without ISA-L nothing is defined; a find_package(distrib COMPONENTS isal) then fails and says so.

find_path(DISTRIB_ISAL_INCLUDE isa-l/igzip_lib.h)
find_library(DISTRIB_ISAL_LIBRARY isal)
mark_as_advanced(DISTRIB_ISAL_INCLUDE DISTRIB_ISAL_LIBRARY)
if(NOT DISTRIB_ISAL_INCLUDE OR NOT DISTRIB_ISAL_LIBRARY)
  set(distrib_isal_FOUND FALSE)
  if(distrib_FIND_REQUIRED_isal)
    set(distrib_FOUND FALSE)
    set(distrib_NOT_FOUND_MESSAGE "distrib's component isal needs ISA-L (libisal-dev)")
  endif()
  return()
endif()

if(NOT TARGET distrib_isal)
  add_library(distrib_isal INTERFACE)
  add_library(distrib::isal ALIAS distrib_isal)
  target_include_directories(distrib_isal SYSTEM INTERFACE ${DISTRIB_ISAL_INCLUDE})
  target_link_libraries(distrib_isal INTERFACE distrib::record ${DISTRIB_ISAL_LIBRARY})
endif()
