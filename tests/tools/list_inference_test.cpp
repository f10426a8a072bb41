// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/list_inference.hpp"

#include "support/catch.hpp"

#include <distrib/example/example_builder.hpp>

#include <cstdint>
#include <vector>

TEST_CASE("ListInference: counts steps and values of feature lists", "[tools]") {
  using Ints = std::vector<std::int64_t>;
  tools::ListInference inference;
  distrib::SequenceExampleBuilder one;
  one.add("w", Ints{1}).add("w", Ints{2, 3}).add("mixed", Ints{1}).list("none");
  inference.add(distrib::SequenceExampleView{one.build()});
  distrib::SequenceExampleBuilder two;
  two.add("w", Ints{}).add("mixed", std::vector<float>{0.5F}).add_none("mixed");
  inference.add(distrib::SequenceExampleView{two.build()});

  const auto& lists = inference.lists();
  REQUIRE(lists.size() == 3);
  const tools::InferredList& words = lists.at("w");
  CHECK(words.records == 2);
  CHECK(words.fewest_steps == 1);
  CHECK(words.most_steps == 2);
  CHECK(words.steps.kind() == distrib::FeatureKind::int64s);
  CHECK(words.steps.fewest == 0);
  CHECK(words.steps.most == 2);
  CHECK(lists.at("mixed").steps.conflict());
  CHECK(lists.at("none").records == 1);
  CHECK(lists.at("none").most_steps == 0);
}
