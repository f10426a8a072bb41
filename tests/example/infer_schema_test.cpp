// SPDX-License-Identifier: Apache-2.0
#include <distrib/example/infer_schema.hpp>

#include <distrib/example/example_builder.hpp>
#include <distrib/record/record_reader.hpp>

#include "example/records.hpp"
#include "support/catch.hpp"
#include "support/test_dir.hpp"

#include <vector>

using distrib::ByteView;
using distrib::example_errc;
using distrib::ExampleBuilder;
using distrib::FeatureKind;
using distrib::infer_schema;
using distrib::InferredFeature;
using example_records::Record;
using example_records::record;

TEST_CASE("infer_schema: kinds, counts, missing features and conflicts, over all records", "[example]") {
  const std::vector<float> two{1, 2};
  const std::vector<Record> records{
      record(ExampleBuilder{}.set("label", 1).set("list", two).set("mixed", 1).set_none("nothing").set("late", "")),
      record(ExampleBuilder{}.set("label", 2).set("list", std::vector<float>{}).set("mixed", 1.5F)),
      record(ExampleBuilder{}.set("label", 3).set_none("mixed").set("new", "x"))};
  const auto features = infer_schema(records);
  REQUIRE(features.size() == 6);
  const auto is = [&](std::size_t i, std::string_view name, FeatureKind kind, std::size_t fewest, std::size_t most,
                      std::uint64_t missing) {
    CAPTURE(name);
    CHECK(features[i].name == name);
    CHECK(features[i].kind() == kind);
    CHECK(features[i].fewest == fewest);
    CHECK(features[i].most == most);
    CHECK(features[i].missing == missing);
  };
  is(0, "label", FeatureKind::int64s, 1, 1, 0);
  is(1, "late", FeatureKind::bytes, 1, 1, 2);
  is(2, "list", FeatureKind::floats, 0, 2, 1);
  is(3, "mixed", FeatureKind::none, 1, 1, 1);
  is(4, "new", FeatureKind::bytes, 1, 1, 2);
  is(5, "nothing", FeatureKind::none, 0, 0, 3);
  CHECK(features[3].conflict());
  CHECK(features[3].records == std::array<std::uint64_t, 4>{1, 0, 1, 1});
  CHECK(!features[5].conflict());
  CHECK(features[0].fixed());
  CHECK(!features[2].fixed());
}

TEST_CASE("infer_schema: infers the schema of a file", "[example]") {
  const auto features = infer_schema(distrib::RecordReader{support::test_dir() + "/example/fixtures/example.tfrecord"});
  CHECK(features.size() > 5);
}

TEST_CASE("infer_schema: if a record has a name twice, only the last one counts", "[example]") {
  Record twice = record(ExampleBuilder{}.set("x", 1.0F));
  const Record again = record(ExampleBuilder{}.set("x", 2));
  twice.insert(twice.end(), again.begin(), again.end());
  const auto features = infer_schema(std::vector<Record>{twice});
  CHECK(features[0].kind() == FeatureKind::int64s);
  CHECK(features[0].missing == 0);
}

TEST_CASE("infer_schema: the error for a record that is not an Example names the record", "[example]") {
  const std::vector<Record> records{Record{}, Record(1, std::byte{0x80})};
  CHECK_THROWS_WITH(infer_schema(records), ContainsSubstring("record 1: the record is not a tf.train.Example"));
  std::error_code ec;
  CHECK(infer_schema(records, ec).empty());
  CHECK(ec == example_errc::malformed);
  CHECK(infer_schema(std::vector<Record>{}).empty());
}

TEST_CASE("infer_schema: fails if there are too many names", "[example]") {
  distrib::WireWriter wire;
  wire.message(1, [](distrib::WireWriter& features) {
    for (std::size_t i = 0; i <= distrib::SchemaInference::most_features; ++i)
      features.message(1, [i](distrib::WireWriter& entry) { entry.text(1, std::to_string(1'000'000 + i)); });
  });
  const ByteView bytes = wire.view();
  std::error_code ec;
  (void)infer_schema(std::vector<ByteView>{bytes}, ec);
  CHECK(ec == example_errc::too_many_features);
}
