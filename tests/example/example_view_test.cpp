// SPDX-License-Identifier: Apache-2.0
#include <distrib/example/example_view.hpp>

#include <distrib/example/example_builder.hpp>

#include "example/example_oracle.hpp"
#include "support/catch.hpp"

#include <string>
#include <vector>

using distrib::ByteView;
using distrib::ExampleBuilder;
using distrib::ExampleView;
using distrib::FeatureKind;
using distrib::FeatureView;
using distrib::WireWriter;

TEST_CASE("ExampleView: visits and finds the features of an Example", "[example]") {
  ExampleBuilder builder;
  builder.set("ids", std::vector<std::int64_t>{1, -2}).set("weight", 0.5F).set("word", "hi").set_none("none");
  builder.set("empty", std::vector<float>{});
  const ExampleView view{builder.build()};

  std::string names;
  view.for_each(
      [&](const FeatureView& f) { names += std::string{f.name()} + ":" + std::string{name(f.kind())} + " "; });
  CHECK(names == "empty:floats ids:int64s none:none weight:floats word:bytes ");
  std::vector<std::int64_t> ids;
  view.find("ids").for_each<std::int64_t>([&](std::int64_t id) { ids.push_back(id); });
  CHECK(ids == std::vector<std::int64_t>{1, -2});
  view.find("ids").for_each<float>([](float) { FAIL("another kind"); });
  view.find("word").for_each<ByteView>([](ByteView word) { CHECK(distrib::as_text(word) == "hi"); });

  // Three different states: absent, without a kind, empty.
  CHECK(!view.contains("absent"));
  CHECK(view.find("absent").kind() == FeatureKind::none);
  CHECK(view.contains("none"));
  CHECK(view.find("none").kind() == FeatureKind::none);
  CHECK(view.find("empty").kind() == FeatureKind::floats);
  CHECK(view.find("empty").size() == 0);
}

TEST_CASE("ExampleView: if a name occurs twice, the last one counts", "[example]") {
  WireWriter wire;
  for (const float value : {1.0F, 2.0F}) {
    ExampleBuilder one;
    wire.raw(one.set("x", value).build());  // several Features are parts of one
  }
  const ExampleView view{wire.view()};
  view.find("x").for_each<float>([](float value) { CHECK(value == 2.0F); });
}

TEST_CASE("ExampleView: refuses bytes that are not an Example", "[example]") {
  const std::byte bad[] = {std::byte{0x0a}, std::byte{0x05}};
  CHECK_THROWS_WITH(ExampleView{bad}, ContainsSubstring("is not a tf.train.Example"));
  std::error_code ec;
  const ExampleView view{bad, ec};
  CHECK(ec == distrib::example_errc::malformed);
  view.for_each([](const FeatureView&) { FAIL("a feature of nothing"); });
  CHECK(!view.contains("x"));
  ExampleView{ByteView{}, ec}.for_each([](const FeatureView&) { FAIL("a feature of nothing"); });
  CHECK(!ec);
}

TEST_CASE("ExampleView: a name may be any bytes, as in TensorFlow's parse_example", "[example]") {
  for (const std::string_view name :
       {"h\xc3\xa4h", "\xff", "12345678\xc3", "\xed\xa0\x80", "\xf0\x9f\x98\x80", "\xc0\x80"}) {
    ExampleBuilder builder;
    const ByteView record = builder.set(name, 1).set("k", 7).build();
    CAPTURE(name);
    CHECK(example_oracle::example_disagreement(record).empty());
    const ExampleView view{record};
    CHECK(view.contains(name));
    CHECK(view.find("k").size() == 1);
  }
}

TEST_CASE("ExampleView: groups are skipped to the depth that protobuf allows", "[example]") {
  for (std::uint32_t levels = 90; levels < 110; ++levels) {
    CAPTURE(levels);
    WireWriter wire;
    const auto groups = [&](WireWriter& w) {
      for (std::uint32_t i = 0; i < levels; ++i) w.raw_varint(9 << 3 | 3);
      for (std::uint32_t i = 0; i < levels; ++i) w.raw_varint(9 << 3 | 4);
    };
    WireWriter outside;
    groups(outside);
    CHECK(example_oracle::example_disagreement(outside.view()).empty());
    wire.message(1, [&](WireWriter& features) {
      features.message(1, [&](WireWriter& entry) {
        entry.text(1, "g");
        entry.message(2, [&](WireWriter& f) { f.message(3, groups); });
      });
    });
    CHECK(example_oracle::example_disagreement(wire.view()).empty());
  }
  WireWriter crossed;  // ends with the end of another group
  crossed.raw_varint(9 << 3 | 3);
  crossed.raw_varint(8 << 3 | 4);
  CHECK(example_oracle::example_disagreement(crossed.view()).empty());
}
