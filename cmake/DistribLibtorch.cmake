# SPDX-License-Identifier: Apache-2.0
# distrib::libtorch: distrib::distrib with LibTorch 1.13 or newer, behind <distrib/libtorch.hpp>: the room libtorch/.
#
# LibTorch is found in the system (Debian: libtorch-dev), under CMAKE_PREFIX_PATH, or beside Torch_DIR. A wheel of PyPI in
# a Python environment is such a prefix: .../site-packages/torch, or what torch.utils.cmake_prefix_path says. It needs the
# wheels nvidia-cuda-runtime and nvidia-cuda-cupti beside it. LibTorch's own package is not used: with a wheel, and
# without a CUDA toolkit, it ends the configuration, also with QUIET.
#
# DISTRIB_LIBTORCH_CUDA: also links libtorch_cuda, for modules on a GPU. All libraries that it needs must be there.
#
# Without LibTorch nothing is defined; a find_package(distrib COMPONENTS libtorch) then fails and says so.

option(DISTRIB_LIBTORCH_CUDA "distrib::libtorch can compute on NVIDIA's GPUs" OFF)

macro(distrib_no_libtorch why) # the reason is for a user's find_package(distrib), or for our own build
  set(distrib_libtorch_FOUND FALSE)
  if(distrib_FIND_REQUIRED_libtorch)
    set(distrib_FOUND FALSE)
    set(distrib_NOT_FOUND_MESSAGE "distrib's component libtorch ${why}")
  elseif(NOT distrib_FIND_COMPONENTS)
    message(FATAL_ERROR "distrib's component libtorch ${why}")
  endif()
  return()
endmacro()

set(distrib_torch_prefixes ${CMAKE_PREFIX_PATH} $ENV{CMAKE_PREFIX_PATH})
list(TRANSFORM distrib_torch_prefixes APPEND /../.. OUTPUT_VARIABLE distrib_torch_above) # of .../torch/share/cmake
if(Torch_DIR)
  list(APPEND distrib_torch_above ${Torch_DIR}/../../..)
endif()
find_path(DISTRIB_LIBTORCH_INCLUDE torch/csrc/api/include/torch/types.h
          HINTS ${distrib_torch_prefixes} ${distrib_torch_above} PATH_SUFFIXES include)
mark_as_advanced(DISTRIB_LIBTORCH_INCLUDE)
if(NOT DISTRIB_LIBTORCH_INCLUDE)
  distrib_no_libtorch("needs LibTorch 1.13 or newer (libtorch-dev, or a wheel of torch under CMAKE_PREFIX_PATH)")
endif()
get_filename_component(distrib_torch_prefix ${DISTRIB_LIBTORCH_INCLUDE}/.. ABSOLUTE)
foreach(distrib_library IN ITEMS torch_cpu c10 torch_cuda)
  find_library(DISTRIB_LIBTORCH_${distrib_library} ${distrib_library} HINTS ${distrib_torch_prefix}/lib)
  mark_as_advanced(DISTRIB_LIBTORCH_${distrib_library})
  if(NOT DISTRIB_LIBTORCH_${distrib_library} AND (DISTRIB_LIBTORCH_CUDA OR NOT distrib_library STREQUAL "torch_cuda"))
    distrib_no_libtorch("found the headers of LibTorch in ${DISTRIB_LIBTORCH_INCLUDE}, but no lib${distrib_library}.so")
  endif()
endforeach()

set(distrib_torch_version_file ${DISTRIB_LIBTORCH_INCLUDE}/torch/headeronly/version.h)
if(NOT EXISTS ${distrib_torch_version_file}) # in older versions
  set(distrib_torch_version_file ${DISTRIB_LIBTORCH_INCLUDE}/torch/csrc/api/include/torch/version.h)
endif()
file(STRINGS ${distrib_torch_version_file} distrib_torch_version REGEX "define TORCH_VERSION_(MAJOR|MINOR) ")
string(REGEX REPLACE "[^0-9;]" "" distrib_torch_version "${distrib_torch_version}")
string(REPLACE ";" "." distrib_torch_version "${distrib_torch_version}")
if(distrib_torch_version VERSION_LESS 1.13)
  distrib_no_libtorch("needs LibTorch 1.13 or newer, ${distrib_torch_prefix} has ${distrib_torch_version}")
endif()

if(distrib_torch_version VERSION_LESS 2 AND CMAKE_CXX_COMPILER_ID MATCHES "Clang") # pytorch#93978
  distrib_no_libtorch("needs g++, or LibTorch 2 or newer: clang cannot compile the headers of LibTorch \
${distrib_torch_version} as C++20")
endif()

# The libraries of a wheel need others, which lie in wheels beside it.
set(distrib_torch_links)
if(NOT DISTRIB_LIBTORCH_INCLUDE IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
  file(GLOB distrib_torch_beside ${distrib_torch_prefix}/../nvidia/*/lib)
  foreach(distrib_directory IN ITEMS ${distrib_torch_prefix}/lib ${distrib_torch_beside})
    list(APPEND distrib_torch_links "LINKER:-rpath-link,${distrib_directory}")
  endforeach()
endif()

# Wheels were built with the old ABI of std::string for long, with which no program of today's compilers can be linked.
if(NOT DISTRIB_LIBTORCH_LINKS STREQUAL DISTRIB_LIBTORCH_c10)
  set(distrib_test_source ${CMAKE_CURRENT_BINARY_DIR}/distrib_libtorch/link_test.cpp)
  file(WRITE ${distrib_test_source}
       "#include <string>\n"
       "namespace c10 { namespace detail {\n"
       "[[noreturn]] void torchCheckFail(const char*, const char*, unsigned, const std::string&);\n"
       "} }\n"
       "int main(int n, char** names) {\n"
       "  if (n == 9) c10::detail::torchCheckFail(names[0], names[1], 0u, std::string(names[2]));\n"
       "}\n")
  foreach(distrib_abi IN ITEMS 1 0)
    try_compile(
      distrib_links ${CMAKE_CURRENT_BINARY_DIR}/distrib_libtorch/link_test ${distrib_test_source}
      COMPILE_DEFINITIONS -D_GLIBCXX_USE_CXX11_ABI=${distrib_abi}
      LINK_OPTIONS ${distrib_torch_links}
      LINK_LIBRARIES ${DISTRIB_LIBTORCH_torch_cpu} ${DISTRIB_LIBTORCH_c10}
      OUTPUT_VARIABLE distrib_link_output)
    set(distrib_links_${distrib_abi} ${distrib_links})
    if(distrib_abi EQUAL 1)
      set(distrib_link_error "${distrib_link_output}")
    endif()
    if(distrib_links)
      break()
    endif()
  endforeach()
  if(NOT distrib_links_1 AND distrib_links)
    distrib_no_libtorch(
      "cannot use ${DISTRIB_LIBTORCH_c10}: it was built with the old ABI of std::string (_GLIBCXX_USE_CXX11_ABI=0). Take \
Debian's libtorch-dev, or a wheel of torch 2.6 or newer")
  elseif(NOT distrib_links)
    distrib_no_libtorch("cannot link ${DISTRIB_LIBTORCH_torch_cpu}:\n${distrib_link_error}")
  endif()
  set(DISTRIB_LIBTORCH_LINKS ${DISTRIB_LIBTORCH_c10} CACHE INTERNAL "the library with which the link test has passed")
endif()

if(NOT TARGET distrib_libtorch)
  add_library(distrib_libtorch INTERFACE)
  add_library(distrib::libtorch ALIAS distrib_libtorch)
  if(DISTRIB_LIBTORCH_INCLUDE IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    set(distrib_torch_include ${DISTRIB_LIBTORCH_INCLUDE})
  else()
    # A wheel brings headers of protobuf and of others, and Debian's package may be installed beside it. So LibTorch's own
    # headers are found first, by links to their folders alone, and the others last.
    set(distrib_torch_include ${CMAKE_CURRENT_BINARY_DIR}/distrib_libtorch/include)
    file(MAKE_DIRECTORY ${distrib_torch_include})
    foreach(distrib_directory IN ITEMS torch ATen c10 caffe2)
      if(IS_DIRECTORY ${DISTRIB_LIBTORCH_INCLUDE}/${distrib_directory})
        file(CREATE_LINK ${DISTRIB_LIBTORCH_INCLUDE}/${distrib_directory} ${distrib_torch_include}/${distrib_directory}
             SYMBOLIC)
      endif()
    endforeach()
    target_include_directories(distrib_libtorch SYSTEM INTERFACE ${distrib_torch_include})
    target_compile_options(distrib_libtorch INTERFACE "SHELL:-idirafter \"${DISTRIB_LIBTORCH_INCLUDE}\"")
  endif()
  target_include_directories(distrib_libtorch SYSTEM INTERFACE ${distrib_torch_include}/torch/csrc/api/include)
  target_link_options(distrib_libtorch INTERFACE ${distrib_torch_links})
  if(DISTRIB_LIBTORCH_CUDA) # it registers its kernels when it is loaded; no symbol of it is named
    target_link_libraries(distrib_libtorch INTERFACE -Wl,--push-state,--no-as-needed ${DISTRIB_LIBTORCH_torch_cuda}
                                                     -Wl,--pop-state)
  endif()
  target_link_libraries(distrib_libtorch INTERFACE distrib::distrib ${DISTRIB_LIBTORCH_torch_cpu} ${DISTRIB_LIBTORCH_c10}
                                                   ${CMAKE_DL_LIBS})
endif()
