// error: tfrecords\(...\) needs .schema\(feature\("name", &Struct::member\), ...\) before anything else
// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/tfrecords.hpp>

struct Digit {
  std::int64_t label = 0;
};

#ifndef DISTRIB_COMPILE_FAIL
const auto digits = distrib::tfrecords("train-*").schema(distrib::feature("label", &Digit::label)).batch(64);
#else
const auto digits = distrib::tfrecords("train-*").batch(64).schema(distrib::feature("label", &Digit::label));
#endif
