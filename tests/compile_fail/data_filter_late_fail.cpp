// error: filter and ignore_errors come before shuffle and repeat
// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/tfrecords.hpp>

struct Digit {
  std::int64_t label = 0;
};

const auto digits = distrib::tfrecords("train-*").schema(distrib::feature("label", &Digit::label));
constexpr auto is_small = [](const Digit& digit) { return digit.label < 5; };

#ifndef DISTRIB_COMPILE_FAIL
const auto small = digits.filter(is_small).shuffle(7).batch(64);
#else
const auto small = digits.shuffle(7).filter(is_small).batch(64);
#endif
