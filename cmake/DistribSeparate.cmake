# SPDX-License-Identifier: Apache-2.0
# distrib::separate: distrib::distrib, with what depends on no model compiled once, in a static library, instead of in
# every unit that trains. Made in the project that links it, with its flags and its libraries.

if(NOT TARGET distrib_separate)
  add_library(distrib_separate STATIC EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/separate/checkpoint.cpp
                                                       ${CMAKE_CURRENT_LIST_DIR}/separate/cluster.cpp
                                                       ${CMAKE_CURRENT_LIST_DIR}/separate/ps.cpp
                                                       ${CMAKE_CURRENT_LIST_DIR}/separate/shard.cpp
                                                       ${CMAKE_CURRENT_LIST_DIR}/separate/train.cpp
                                                       ${CMAKE_CURRENT_LIST_DIR}/separate/trainer.cpp)
  add_library(distrib::separate ALIAS distrib_separate)
  set_target_properties(distrib_separate PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_definitions(distrib_separate PUBLIC DISTRIB_SEPARATE_COMPILATION)
  target_compile_options(distrib_separate PRIVATE -w) # the project's warnings are not about us
  target_link_libraries(distrib_separate PUBLIC distrib::distrib)
endif()
