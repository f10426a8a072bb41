// error: a feature fills float, std::int64_t, std::array of these
// SPDX-License-Identifier: Apache-2.0
#include <distrib/example/schema.hpp>

#include <string>

struct Digit {
  std::span<const std::byte> image;
#ifndef DISTRIB_COMPILE_FAIL
  std::int64_t label;
#else
  std::string label;
#endif
};

const auto digits =
    distrib::schema<Digit>(distrib::feature("image", &Digit::image), distrib::feature("label", &Digit::label));
