// SPDX-License-Identifier: Apache-2.0
#include <distrib/example/feature_spec.hpp>

#include "support/catch.hpp"

using distrib::FeatureKind;
using distrib::FeatureShape;
using distrib::FeatureSpec;

TEST_CASE("FeatureSpec: the shape of a single value is not a missing shape", "[example]") {
  CHECK(FeatureShape{}.known());
  CHECK(FeatureShape{}.extents().empty());
  CHECK(FeatureShape{2, 3}.extents() == std::vector<std::int64_t>{2, 3});
  CHECK(!FeatureShape::missing().known());
  CHECK(!FeatureSpec{distrib::FixedLen{.kind = FeatureKind::int64s}}.shape.known());
  CHECK(FeatureSpec{distrib::FixedLen{.shape = {}, .kind = FeatureKind::int64s}}.shape.known());
}

TEST_CASE("FeatureSpec: can be made from each type of spec", "[example]") {
  CHECK(FeatureSpec{distrib::VarLen{FeatureKind::floats}}.kind == FeatureKind::floats);
  CHECK(FeatureSpec{distrib::FixedLenSequence{.allow_missing = true}}.allow_missing);
  const FeatureSpec sparse = distrib::Sparse{{"i"}, "v", FeatureKind::bytes, {7}, true};
  CHECK(sparse.form == FeatureSpec::Form::sparse);
  CHECK(sparse.index_keys[0] == "i");
  CHECK(sparse.already_sorted);
  const FeatureSpec ragged = distrib::Ragged{FeatureKind::int64s, "v", {distrib::UniformRowLength{3}}};
  CHECK(ragged.partitions[0].form == distrib::RaggedPartition::Form::uniform);
  CHECK(ragged.partitions[0].length == 3);
}
