// error: map\(...\) takes a function of one element
// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/tfrecords.hpp>

auto size_of(const distrib::Record& record) -> std::size_t { return record.bytes.size(); }
auto half_of(std::size_t size) -> std::size_t { return size / 2; }

#ifndef DISTRIB_COMPILE_FAIL
auto sizes = distrib::tfrecords("train-*").stream().map(size_of).map(half_of);
#else
auto sizes = distrib::tfrecords("train-*").stream().map(half_of).take(10);
#endif
