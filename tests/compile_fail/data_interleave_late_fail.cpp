// error: interleave\(...\) mixes files, so it must be the first step
// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/tfrecords.hpp>

struct Digit {
  std::int64_t label = 0;
};

const auto digits = distrib::tfrecords("train-*").schema(distrib::feature("label", &Digit::label));

#ifndef DISTRIB_COMPILE_FAIL
const auto mixed = digits.interleave(4, 16).shard(3, 0).batch(64);
#else
const auto mixed = digits.shard(3, 0).interleave(4, 16).batch(64);
#endif
