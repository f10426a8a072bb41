# SPDX-License-Identifier: Apache-2.0
# What our own tests, examples and benchmarks are built with. Users never see any of it.

set(CMAKE_CXX_EXTENSIONS OFF) # -std=c++20, not gnu++20

# Those who build our tests work on us; those who only try an example may have a compiler with warnings unknown to us.
option(DISTRIB_WARNINGS_AS_ERRORS "Warnings of our own tests and examples are errors" ${DISTRIB_BUILD_TESTS})

add_library(distrib_dev INTERFACE)
target_compile_options(
  distrib_dev
  INTERFACE -Wall
            -Wextra
            -Wpedantic
            -Wconversion
            -Wsign-conversion
            -Wshadow
            -Wnon-virtual-dtor
            -Wold-style-cast
            $<$<BOOL:${DISTRIB_WARNINGS_AS_ERRORS}>:-Werror>)
target_link_libraries(distrib_dev INTERFACE distrib::distrib)
# Users' warnings are not about our bodies; ours are.
if(TARGET distrib_compiled)
  set_target_properties(distrib_compiled PROPERTIES COMPILE_OPTIONS "" CXX_EXTENSIONS OFF)
  target_link_libraries(distrib_compiled PRIVATE distrib_dev)
endif()

# What benchmarks compare matrix products with: xtensor-blas over OpenBLAS, which holds LAPACK too. Found by hand,
# because xtensor-blas's own package takes whichever BLAS comes first.
find_path(DISTRIB_XTENSOR_BLAS xtensor-blas/xlinalg.hpp)
find_library(DISTRIB_OPENBLAS openblas)
mark_as_advanced(DISTRIB_XTENSOR_BLAS DISTRIB_OPENBLAS)
if(DISTRIB_XTENSOR_BLAS AND DISTRIB_OPENBLAS)
  add_library(distrib_blas INTERFACE)
  target_include_directories(distrib_blas SYSTEM INTERFACE ${DISTRIB_XTENSOR_BLAS})
  target_link_libraries(distrib_blas INTERFACE ${DISTRIB_OPENBLAS})
endif()
