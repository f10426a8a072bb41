// SPDX-License-Identifier: Apache-2.0
// What depends on no model, compiled once: see ../DistribSeparate.cmake.
#define DISTRIB_COMPILED_ONCE template
#include <distrib/train/detail/compiled_once.hpp>
