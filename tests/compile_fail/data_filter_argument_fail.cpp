// error: filter\(...\) takes a function of one example \(const Example&\) that returns bool
// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/tfrecords.hpp>

struct Digit {
  std::int64_t label = 0;
};

const auto digits = distrib::tfrecords("train-*").schema(distrib::feature("label", &Digit::label));

#ifndef DISTRIB_COMPILE_FAIL
const auto small = digits.filter([](const Digit& digit) { return digit.label < 5; }).batch(64);
#else
const auto small = digits.filter([](std::int64_t label) { return label < 5; }).batch(64);
#endif
