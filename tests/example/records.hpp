// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/example/parsed_feature.hpp>

#include <cstddef>
#include <vector>

/// Records that builders make, and the values that parsers make of them.
namespace example_records {

using Record = std::vector<std::byte>;

inline constexpr auto int64s = distrib::FeatureKind::int64s;

/// Returns what an `ExampleBuilder` or a `SequenceExampleBuilder` has built.
template <class Builder>
auto record(Builder builder) -> Record {
  const distrib::ByteView built = builder.build();
  return {built.begin(), built.end()};
}

template <class T>
auto values(const distrib::ParsedFeature& feature) -> std::vector<T> {
  const auto span = feature.values<T>();
  return {span.begin(), span.end()};
}

}  // namespace example_records
