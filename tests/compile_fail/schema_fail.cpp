// error: a schema takes feature\("name", &Struct::member\)
// SPDX-License-Identifier: Apache-2.0
#include <distrib/example/schema.hpp>

struct Digit {
  std::int64_t label;
};
struct Letter {
  std::int64_t label;
};

#ifndef DISTRIB_COMPILE_FAIL
const auto digits = distrib::schema<Digit>(distrib::feature("label", &Digit::label));
#else
const auto digits = distrib::schema<Digit>(distrib::feature("label", &Letter::label));
#endif
