// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/example/parse_example.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto parse_single_example(std::span<const NamedSpec> specs, ByteView record, ErrorRef to)
    -> std::vector<ParsedFeature> {
  auto result = parse_example(specs, std::span{&record, 1}, to);
  for (ParsedFeature& feature : result) {
    if (feature.form == ParsedFeature::Form::sparse) {
      std::vector<std::int64_t> indices;
      for (std::size_t i = 0; i < feature.indices.size(); ++i)
        if (i % feature.shape.size() != 0) indices.push_back(feature.indices[i]);
      feature.indices = std::move(indices);
    }
    if (feature.form == ParsedFeature::Form::ragged) feature.row_splits.erase(feature.row_splits.begin());
    else feature.shape.erase(feature.shape.begin());
  }
  return result;
}

}  // namespace v0
}  // namespace distrib
