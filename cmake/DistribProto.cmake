# SPDX-License-Identifier: Apache-2.0
# distrib::message: the library's .proto files as C++ classes (lite), and distrib_add_proto_library() for files of your
# own. Classes are generated here, in the build that uses them, because they fit one version of protobuf only.
#
# Without protobuf nothing is defined; a find_package(distrib COMPONENTS message) then fails and says so.

if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/../include/distrib/message/proto)
  get_filename_component(distrib_proto_dir ${CMAKE_CURRENT_LIST_DIR}/../include/distrib/message/proto ABSOLUTE)
else()
  set(distrib_proto_dir ${distrib_INCLUDE_DIR}/distrib/message/proto)
endif()
# For directories that call the function without having included this file.
set_property(GLOBAL PROPERTY DISTRIB_PROTO_DIR ${distrib_proto_dir})

# Imported targets belong to a directory, so everyone who links them looks for them again. A package of protobuf's own
# goes first: CMake's module does not know what newer versions link to.
macro(distrib_find_protobuf)
  if(NOT TARGET protobuf::protoc OR NOT TARGET protobuf::libprotobuf-lite)
    find_package(Protobuf CONFIG QUIET)
    if(NOT Protobuf_FOUND)
      find_package(Protobuf MODULE QUIET)
    endif()
  endif()
endmacro()

# distrib_add_proto_library(TARGET PROTOS FILE... [IMPORT_DIR DIR])
#
# A static library of the classes that protoc generates from FILEs, which lie under DIR (the current source directory
# unless told). They are included, and imported by other files, by their path from DIR, and may import the library's own
# ("distrib/example.proto"). Lite runtime: no reflection and no clash between two copies in one process.
function(distrib_add_proto_library target)
  cmake_parse_arguments(arg "" "IMPORT_DIR" "PROTOS" ${ARGN})
  if(NOT arg_PROTOS OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "distrib_add_proto_library(TARGET PROTOS FILE... [IMPORT_DIR DIR])")
  endif()
  distrib_find_protobuf()
  if(NOT TARGET protobuf::protoc)
    message(FATAL_ERROR "distrib_add_proto_library(${target}): protobuf and its compiler protoc were not found")
  endif()
  get_property(distrib_proto_dir GLOBAL PROPERTY DISTRIB_PROTO_DIR)
  if(NOT arg_IMPORT_DIR)
    set(arg_IMPORT_DIR ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  get_filename_component(import_dir ${arg_IMPORT_DIR} ABSOLUTE)

  set(generated_dir ${CMAKE_CURRENT_BINARY_DIR}/${target}.generated)
  file(MAKE_DIRECTORY ${generated_dir})
  foreach(proto IN LISTS arg_PROTOS)
    get_filename_component(proto_path ${proto} ABSOLUTE BASE_DIR ${import_dir})
    file(RELATIVE_PATH name ${import_dir} ${proto_path})
    string(REGEX REPLACE "\\.proto$" "" stem ${name})
    set(outputs ${generated_dir}/${stem}.pb.cc ${generated_dir}/${stem}.pb.h)
    add_custom_command(
      OUTPUT ${outputs}
      COMMAND protobuf::protoc --cpp_out=lite:${generated_dir} -I${import_dir} -I${distrib_proto_dir} ${proto_path}
      DEPENDS ${proto_path} protobuf::protoc
      COMMENT "Generating classes of ${name}"
      VERBATIM)
    list(APPEND sources ${outputs})
  endforeach()

  add_library(${target} STATIC EXCLUDE_FROM_ALL ${sources})
  target_include_directories(${target} SYSTEM PUBLIC ${generated_dir})
  target_compile_options(${target} PRIVATE -w) # a warning in generated code cannot be fixed here
  target_link_libraries(${target} PUBLIC distrib::core protobuf::libprotobuf-lite)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_CLANG_TIDY "")
  if(NOT target STREQUAL "distrib_message")
    target_link_libraries(${target} PUBLIC distrib::message)
  endif()
endfunction()

distrib_find_protobuf()
if(NOT TARGET protobuf::protoc OR NOT TARGET protobuf::libprotobuf-lite)
  set(distrib_message_FOUND FALSE)
  if(distrib_FIND_REQUIRED_message)
    set(distrib_FOUND FALSE)
    set(distrib_NOT_FOUND_MESSAGE "distrib's component message needs protobuf and its compiler protoc")
  endif()
  return()
endif()

if(NOT TARGET distrib_message)
  distrib_add_proto_library(
    distrib_message
    IMPORT_DIR ${distrib_proto_dir}
    PROTOS distrib/cluster.proto distrib/event.proto distrib/example.proto)
  add_library(distrib::message ALIAS distrib_message)
endif()
