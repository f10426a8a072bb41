// SPDX-License-Identifier: Apache-2.0
#include <distrib/example/parsed_feature.hpp>

#include "support/catch.hpp"

TEST_CASE("ParsedFeature: is found by name, and returns its values with their type", "[example]") {
  std::vector<distrib::ParsedFeature> features(2);
  features[0].name = "a";
  features[1].name = "b";
  features[1].count = 3;
  features[1].memory = distrib::AlignedBuffer{sizeof(float) * 4};
  CHECK(distrib::find_feature(features, "b")->values<float>().size() == 3);
  CHECK(distrib::find_feature(features, "c") == nullptr);
}
