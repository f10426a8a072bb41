// SPDX-License-Identifier: Apache-2.0
#include <distrib/example/parse_sequence_example.hpp>

#include <distrib/example/example_builder.hpp>

#include "example/example_oracle.hpp"
#include "example/records.hpp"
#include "support/catch.hpp"

#include <vector>

using distrib::ByteView;
using distrib::Error;
using distrib::example_errc;
using distrib::FeatureKind;
using distrib::FixedLen;
using distrib::FixedLenSequence;
using distrib::NamedSpec;
using distrib::parse_sequence_example;
using distrib::ParsedFeature;
using distrib::Ragged;
using distrib::RowLengths;
using distrib::SequenceExampleBuilder;
using distrib::VarLen;
using example_records::int64s;
using example_records::Record;
using example_records::record;
using example_records::values;

namespace {

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;
auto parse_failure(const std::vector<NamedSpec>& context, const std::vector<NamedSpec>& lists,
                   const std::vector<Record>& records) -> Error {
  Error error;
  const auto result =
      parse_sequence_example(std::span<const NamedSpec>{context}, std::span<const NamedSpec>{lists}, records, error);
  CHECK(result.feature_lists.empty());
  return error;
}

auto two_records() -> std::vector<Record> {
  SequenceExampleBuilder first;
  first.context().set("id", 7);
  first.add("x", Ints{1, 2}).add("x", Ints{3, 4}).add("y", Ints{5}).add("y", Ints{}).add("y", Ints{6, 7});
  first.add("lengths", Ints{1}).add("lengths", Ints{}).add("lengths", Ints{0, 2});
  SequenceExampleBuilder second;
  second.context().set("id", 8);
  second.add("x", Ints{9, 10}).list("y");
  return {record(first), record(second)};
}

}  // namespace

TEST_CASE("parse_sequence_example: context, padded lists and their lengths", "[example]") {
  const auto parsed = parse_sequence_example({{"id", FixedLen{.shape = {}, .kind = int64s}}},
                                             {{"x", FixedLenSequence{.shape = {2}, .kind = int64s}}}, two_records());
  CHECK(values<std::int64_t>(parsed.context[0]) == Ints{7, 8});
  const ParsedFeature& x = parsed.feature_lists[0];
  CHECK(x.shape == Ints{2, 2, 2});
  CHECK(values<std::int64_t>(x) == Ints{1, 2, 3, 4, 9, 10, 0, 0});
  CHECK(x.lengths == Ints{2, 1});
}

TEST_CASE("parse_sequence_example: VarLen and Ragged lists", "[example]") {
  const auto parsed = parse_sequence_example({}, {{"y", VarLen{int64s}}}, two_records());
  const ParsedFeature& sparse = parsed.feature_lists[0];
  CHECK(sparse.shape == Ints{2, 3, 2});
  CHECK(values<std::int64_t>(sparse) == Ints{5, 6, 7});
  CHECK(sparse.indices == Ints{0, 0, 0, 0, 2, 0, 0, 2, 1});

  const auto ragged = parse_sequence_example({},
                                             {{"y", Ragged{.kind = int64s}},
                                              {"z", Ragged{int64s, "y", {RowLengths{"lengths"}}}},
                                              {"nowhere", Ragged{.kind = FeatureKind::floats}}},
                                             std::vector<Record>{two_records()[0]});
  CHECK(ragged.feature_lists[0].row_splits == std::vector<Ints>{{0, 0}, {0}});
  CHECK(ragged.feature_lists[1].row_splits == std::vector<Ints>{{0, 3}, {0, 1, 1, 3}});
  CHECK(ragged.feature_lists[2].row_splits == std::vector<Ints>{{0, 3}, {0, 1, 1, 3}, {0, 1, 1, 3}});
}

TEST_CASE("parse_sequence_example: if a name occurs twice, the last list counts", "[example]") {
  Record twice = record(SequenceExampleBuilder{}.add("x", Floats{1}).add("x", Floats{2}));
  const Record again = record(SequenceExampleBuilder{}.add("x", Ints{3}));
  twice.insert(twice.end(), again.begin(), again.end());
  const auto parsed = parse_sequence_example({}, {{"x", FixedLenSequence{.shape = {}, .kind = int64s}}},
                                             std::vector<Record>{twice, again});
  CHECK(values<std::int64_t>(parsed.feature_lists[0]) == Ints{3, 3});
}

TEST_CASE("parse_sequence_example: the error for a list that does not fit names list and step", "[example]") {
  const auto wants = [](std::initializer_list<std::int64_t> shape) {
    return std::vector<NamedSpec>{{"x", FixedLenSequence{.shape = shape, .kind = int64s}}};
  };
  const std::vector<Record> none{Record{}};
  CHECK(parse_failure({}, wants({}), none).where == "record 0, feature list \"x\"");
  CHECK(parse_failure({}, wants({}), none).code == example_errc::missing_feature);
  const auto allowed = parse_sequence_example({}, {{"x", FixedLenSequence{{}, int64s, true, {}}}}, none);
  CHECK(allowed.feature_lists[0].shape == Ints{1, 0});
  CHECK(allowed.feature_lists[0].lengths == Ints{0});

  const std::vector<Record> two{record(SequenceExampleBuilder{}.add("x", Ints{1, 2}).add("x", Ints{3}))};
  CHECK(parse_failure({}, wants({2}), two).where == "record 0, feature list \"x\", step 1 has 1 values, not 2");
  const std::vector<Record> float_step{record(SequenceExampleBuilder{}.add("x", Floats{1}))};
  CHECK(parse_failure({}, wants({}), float_step).where ==
        "record 0, feature list \"x\", step 0 holds floats, not int64s");
  CHECK(parse_failure({}, {{"x", VarLen{int64s}}}, float_step).code == example_errc::wrong_kind);
  const std::vector<Record> kindless{{std::byte{0x12}, std::byte{0x09}, std::byte{0x0a}, std::byte{0x07},
                                      std::byte{0x0a}, std::byte{0x01}, std::byte{'x'}, std::byte{0x12},
                                      std::byte{0x02}, std::byte{0x0a}, std::byte{0x00}}};
  CHECK(parse_failure({}, wants({}), kindless).where == "record 0, feature list \"x\", step 0");
  CHECK(parse_sequence_example({}, {{"x", VarLen{int64s}}}, kindless).feature_lists[0].shape == Ints{1, 1, 0});

  CHECK(parse_failure({}, wants({}), {Record(1, std::byte{0x80})}).code == example_errc::malformed);
  CHECK(parse_failure({{"id", FixedLen{.shape = {}, .kind = int64s}}}, {}, none).code == example_errc::missing_feature);
  CHECK(parse_failure({}, {{"x", FixedLen{.shape = {}, .kind = int64s}}}, none).code == example_errc::bad_spec);
  const std::vector<NamedSpec> cut{{"x", Ragged{int64s, "", {RowLengths{"l"}}}}};
  CHECK(parse_failure({}, cut, {record(SequenceExampleBuilder{}.add("x", Ints{1}))}).code ==
        example_errc::bad_partition);
  CHECK(parse_failure({}, cut, {record(SequenceExampleBuilder{}.add("x", Ints{1}).add("l", Ints{2}))}).where ==
        "record 0, feature list \"x\", step 0 has 1 items to cut");
  const Record right = record(SequenceExampleBuilder{}.add("x", Ints{1}).add("l", Ints{1}));
  CHECK(parse_failure(
            {}, cut,
            {right, none[0],
             record(SequenceExampleBuilder{}.add("x", Ints{1}).add("l", Ints{1}).add("x", Ints{1}).add("l", Ints{2}))})
            .where == "record 2, feature list \"x\", step 1 has 1 items to cut");

  std::error_code ec;
  (void)parse_sequence_example({}, wants({}), none, ec);
  CHECK(ec == example_errc::missing_feature);
  CHECK_THROWS_WITH(parse_sequence_example({}, wants({}), none), ContainsSubstring("feature list \"x\""));
}

TEST_CASE("parse_sequence_example: agrees with protobuf on every encoding, whole and damaged", "[example]") {
  for (std::uint64_t seed = 0; seed < 6'000; ++seed) {
    CAPTURE(seed);
    distrib::Philox random{seed, 9, 0};
    std::vector<std::byte> bytes = example_oracle::RandomEncoding{random}.sequence();
    if (seed % 3 == 0) example_oracle::damage(bytes, random);
    REQUIRE(example_oracle::sequence_disagreement(bytes) == "");
  }
}

TEST_CASE("parse_sequence_example: accepts names that are not UTF-8", "[example]") {
  SequenceExampleBuilder builder;
  builder.context().set("\xff", 1).set("k", 7);
  builder.add("verl\xfcst", Ints{1, 2}).add("w", Ints{3});
  const std::vector<Record> records{record(builder)};
  CHECK(example_oracle::sequence_disagreement(records[0]).empty());
  const auto parsed = parse_sequence_example({{"k", FixedLen{.shape = {}, .kind = int64s}}},
                                             {{"verl\xfcst", VarLen{int64s}}, {"w", VarLen{int64s}}}, records);
  CHECK(values<std::int64_t>(parsed.context[0]) == Ints{7});
  for (const ParsedFeature& list : parsed.feature_lists)
    CHECK(values<std::int64_t>(list) == (list.name == "w" ? Ints{3} : Ints{1, 2}));
}
