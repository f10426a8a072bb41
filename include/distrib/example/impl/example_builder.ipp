// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/example/example_builder.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL void write_feature(WireWriter& to, const FeatureValues& values) {
  const EncodedFeature feature{values};
  GrowingBytes bytes;
  bytes.reserve(feature.size + 2 * sizeof(std::uint64_t));
  (void)feature.put(bytes.data());
  to.raw({bytes.data(), feature.size});
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
