// error: otherwise\(\) is for numbers and arrays: a list that is missing is an empty span
// SPDX-License-Identifier: Apache-2.0
#include <distrib/example/feature.hpp>

struct Click {
  std::span<const std::int64_t> ids;
};

#ifndef DISTRIB_COMPILE_FAIL
constexpr auto ids = distrib::feature("ids", &Click::ids);
#else
constexpr auto ids = distrib::feature("ids", &Click::ids).otherwise({});
#endif
