// SPDX-License-Identifier: Apache-2.0
#include <distrib/example/sequence_example_view.hpp>

#include <distrib/example/example_builder.hpp>

#include "support/catch.hpp"

#include <string>
#include <vector>

using distrib::FeatureListView;
using distrib::FeatureView;
using distrib::SequenceExampleView;

TEST_CASE("SequenceExampleView: context, lists and their steps", "[example]") {
  distrib::SequenceExampleBuilder builder;
  builder.context().set("id", "v1");
  builder.add("x", std::vector<std::int64_t>{1, 2}).add("x", std::vector<std::int64_t>{3}).list("none");
  const SequenceExampleView view{builder.build()};
  CHECK(view.context().find("id").size() == 1);
  std::string names;
  std::vector<std::int64_t> values;
  view.for_each_list([&](const FeatureListView& list) {
    names += std::string{list.name()} + ":" + std::to_string(list.size()) + " ";
    list.for_each([&](const FeatureView& step) {
      CHECK(step.name().empty());
      step.for_each<std::int64_t>([&](std::int64_t value) { values.push_back(value); });
    });
  });
  CHECK(names == "none:0 x:2 ");
  CHECK(values == std::vector<std::int64_t>{1, 2, 3});
}

TEST_CASE("SequenceExampleView: refuses bytes that are not a SequenceExample", "[example]") {
  const std::byte bad[] = {std::byte{0x12}, std::byte{0x05}};
  CHECK_THROWS(SequenceExampleView{bad});
  std::error_code ec;
  const SequenceExampleView view{bad, ec};
  CHECK(ec == distrib::example_errc::malformed);
  view.for_each_list([](const FeatureListView&) { FAIL("a list of nothing"); });
}
