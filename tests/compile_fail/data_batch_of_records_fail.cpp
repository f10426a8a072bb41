// error: a record's bytes are valid only until the next record: use batch\(schema, n\), or map\(...\) to values first
// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/tfrecords.hpp>

auto size_of(const distrib::Record& record) -> std::size_t { return record.bytes.size(); }

#ifndef DISTRIB_COMPILE_FAIL
auto sizes = distrib::tfrecords("train-*").stream().map(size_of).batch(64);
#else
auto sizes = distrib::tfrecords("train-*").stream().batch(64);
#endif
