// error: a batch of columns is valid only until the next one: call prefetch\(pool, n\) before batch\(schema, n\)
// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/tfrecords.hpp>

struct Number {
  float value = 0;
};
constexpr auto numbers = distrib::schema<Number>(distrib::feature("value", &Number::value));
distrib::IoPool pool{1};

#ifndef DISTRIB_COMPILE_FAIL
auto batches = distrib::tfrecords("train-*").stream().prefetch(pool, 64).batch(numbers, 8);
#else
auto batches = distrib::tfrecords("train-*").stream().batch(numbers, 8).prefetch(pool, 64);
#endif
