// SPDX-License-Identifier: Apache-2.0
#include <distrib/example/example_builder.hpp>

#include <distrib/example.pb.h>
#include <distrib/core/sha256.hpp>
#include <distrib/example/example_writer.hpp>

#include "support/catch.hpp"

#include <limits>
#include <string>
#include <vector>

using distrib::ByteView;
using distrib::ExampleBuilder;
using distrib::SequenceExampleBuilder;
using distrib::to_hex;

TEST_CASE("ExampleBuilder: writes the bytes that TensorFlow writes", "[example]") {
  ExampleBuilder builder;
  CHECK(builder.build().empty());
  CHECK(to_hex(builder.set("label", 7).build()) == "0a100a0e0a056c6162656c12051a030a0107");

  SequenceExampleBuilder sequence;
  sequence.context().set("id", "v1");
  sequence.add("rgb", std::vector<std::int64_t>{1, 2}).add("rgb", std::vector<std::int64_t>{3});
  CHECK(to_hex(sequence.build()) ==
        "0a0e0a0c0a02696412060a040a02763112180a160a03726762120f0a061a040a0201020a051a030a0103");
}

TEST_CASE("ExampleBuilder: the order of calls does not matter, and the last value counts", "[example]") {
  ExampleBuilder one;
  one.set("b", 1.5F).set("a", std::vector<std::int64_t>{9}).set("a", std::vector<std::int64_t>{1, 2});
  ExampleBuilder other;
  other.set("a", std::vector<std::int64_t>{1, 2}).set("b", 1.5F);
  CHECK(to_hex(one.build()) == to_hex(other.build()));
  one.clear();
  CHECK(one.build().empty());

  struct Pair {
    std::span<const std::int64_t> a;
    float b = 0;
  };
  distrib::ExampleWriter writer{
      distrib::schema<Pair>(distrib::feature("b", &Pair::b), distrib::feature("a", &Pair::a))};
  const std::vector<std::int64_t> values{1, 2};
  CHECK(to_hex(writer.write({values, 1.5F})) == to_hex(other.build()));
}

TEST_CASE("ExampleBuilder: protobuf reads the same values", "[example]") {
  const std::vector<std::int64_t> ids{0, -1, 127, 128, std::numeric_limits<std::int64_t>::min()};
  const std::string long_text(300, 'x');
  const std::vector<ByteView> words{distrib::as_bytes("one"), {}, distrib::as_bytes(long_text)};
  ExampleBuilder builder;
  builder.set("ids", ids).set("words", words).set("empty", std::vector<float>{}).set_none("none").set("flag", true);
  const ByteView bytes = builder.build();
  distrib::proto::Example example;
  REQUIRE(example.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  const auto& features = example.features().feature();
  REQUIRE(features.size() == 5);
  const auto& read = features.at("ids").int64_list().value();
  CHECK(std::vector<std::int64_t>(read.begin(), read.end()) == ids);
  REQUIRE(features.at("words").bytes_list().value_size() == 3);
  CHECK(features.at("words").bytes_list().value(1).empty());
  CHECK(features.at("words").bytes_list().value(2) == long_text);
  CHECK(features.at("empty").has_float_list());
  CHECK(features.at("none").kind_case() == distrib::proto::Feature::KIND_NOT_SET);
  CHECK(features.at("flag").int64_list().value(0) == 1);
}

TEST_CASE("SequenceExampleBuilder: lists without steps, and steps without values", "[example]") {
  SequenceExampleBuilder builder;
  builder.list("none").add("floats", std::vector<float>{}).add("floats", std::vector<float>{1});
  builder.add("words", std::vector<ByteView>{distrib::as_bytes("hi")}).add_none("words");
  const ByteView bytes = builder.build();
  distrib::proto::SequenceExample sequence;
  REQUIRE(sequence.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  const auto& lists = sequence.feature_lists().feature_list();
  CHECK(!sequence.has_context());
  CHECK(lists.at("none").feature_size() == 0);
  REQUIRE(lists.at("floats").feature_size() == 2);
  CHECK(lists.at("floats").feature(0).has_float_list());
  CHECK(lists.at("floats").feature(1).float_list().value(0) == 1.0F);
  CHECK(lists.at("words").feature(0).bytes_list().value(0) == "hi");
  CHECK(lists.at("words").feature(1).kind_case() == distrib::proto::Feature::KIND_NOT_SET);
  builder.clear();
  CHECK(builder.build().empty());
}
