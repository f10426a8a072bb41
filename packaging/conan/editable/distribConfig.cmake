# SPDX-License-Identifier: Apache-2.0
# find_package(distrib) of a package that `conan editable add` made of a checkout: the checkout itself.

if(NOT TARGET distrib::distrib)
  set(DISTRIB_COMPONENTS ${distrib_FIND_COMPONENTS})
  if(NOT DISTRIB_COMPONENTS)
    set(DISTRIB_COMPONENTS distrib)
  endif()
  add_subdirectory(${CMAKE_CURRENT_LIST_DIR}/../../.. ${CMAKE_BINARY_DIR}/distrib)
endif()
