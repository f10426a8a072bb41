// error: a feature fills float, std::int64_t, std::array of these
// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/tfrecords.hpp>

struct Digit {
  std::int64_t label = 0;
  double weight = 0;
};

#ifndef DISTRIB_COMPILE_FAIL
const auto digits = distrib::tfrecords("train-*").schema(distrib::feature("label", &Digit::label)).batch(64);
#else
const auto digits = distrib::tfrecords("train-*")
                        .schema(distrib::feature("label", &Digit::label), distrib::feature("weight", &Digit::weight))
                        .shuffle(7)
                        .batch(64);
#endif
