// SPDX-License-Identifier: Apache-2.0
#include <distrib/example/parse_example.hpp>

#include <distrib/example/example_builder.hpp>

#include "example/records.hpp"
#include "support/catch.hpp"

#include <string>
#include <vector>

using distrib::ByteView;
using distrib::Error;
using distrib::example_errc;
using distrib::ExampleBuilder;
using distrib::FeatureKind;
using distrib::FixedLen;
using distrib::FixedLenSequence;
using distrib::NamedSpec;
using distrib::parse_example;
using distrib::parse_single_example;
using distrib::ParsedFeature;
using distrib::Ragged;
using distrib::RowLengths;
using distrib::RowLimits;
using distrib::RowSplits;
using distrib::RowStarts;
using distrib::Sparse;
using distrib::UniformRowLength;
using distrib::ValueRowIds;
using distrib::VarLen;
using example_records::int64s;
using example_records::Record;
using example_records::record;
using example_records::values;

namespace {

constexpr auto floats_kind = FeatureKind::floats;
constexpr auto bytes_kind = FeatureKind::bytes;

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;

auto with(std::string_view name, const Ints& values) -> Record { return record(ExampleBuilder{}.set(name, values)); }

auto text(ByteView value) -> std::string { return std::string{distrib::as_text(value)}; }

auto parse_failure(const std::vector<NamedSpec>& specs, const std::vector<Record>& records) -> Error {
  Error error;
  const auto result = parse_example(std::span<const NamedSpec>{specs}, records, error);
  CHECK(result.empty());
  return error;
}

}  // namespace

TEST_CASE("parse_example: FixedLen", "[example]") {
  const std::vector<Record> records{record(ExampleBuilder{}
                                               .set("m", Floats{1, 2, 3, 4})
                                               .set("label", 7)
                                               .set("name", "x")
                                               .set("not asked for", Floats{1})),
                                    record(ExampleBuilder{}.set("m", Floats{5, 6, 7, 8}).set_none("label"))};
  const auto parsed =
      parse_example({{"name", FixedLen{.shape = {}, .kind = bytes_kind, .otherwise = {.bytes = {"none"}}}},
                     {"m", FixedLen{.shape = {2, 2}, .kind = floats_kind}},
                     {"label", FixedLen{.shape = {}, .kind = int64s, .otherwise = {.int64s = {-1}}}}},
                    records);
  REQUIRE(parsed.size() == 3);
  CHECK(parsed[0].name == "label");  // sorted by name
  CHECK(parsed[0].shape == Ints{2});
  CHECK(values<std::int64_t>(parsed[0]) == Ints{7, -1});
  CHECK(parsed[1].shape == Ints{2, 2, 2});
  CHECK(values<float>(parsed[1]) == Floats{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(reinterpret_cast<std::uintptr_t>(parsed[1].values<float>().data()) % distrib::detail::tensor_alignment == 0);
  CHECK(text(parsed[2].values<ByteView>()[0]) == "x");
  CHECK(text(parsed[2].values<ByteView>()[1]) == "none");
}

TEST_CASE("parse_example: no records, and no specs", "[example]") {
  const std::vector<Record> none;
  const auto parsed = parse_example({{"x", FixedLen{.shape = {3}, .kind = int64s}},
                                     {"y", VarLen{floats_kind}},
                                     {"z", Ragged{.kind = bytes_kind, .partitions = {RowLengths{"l"}}}}},
                                    none);
  CHECK(parsed[0].shape == Ints{0, 3});
  CHECK(parsed[1].shape == Ints{0, 0});
  CHECK(parsed[2].row_splits == std::vector<Ints>{{0}, {0}});
  CHECK(parse_example(std::vector<NamedSpec>{}, std::vector<Record>{with("x", {1})}).empty());
}

TEST_CASE("parse_example: VarLen", "[example]") {
  const std::vector<Record> records{with("ids", {5, 6, 7}), record(ExampleBuilder{}), with("ids", {8}),
                                    with("ids", {})};
  const ParsedFeature ids = std::move(parse_example({{"ids", VarLen{int64s}}}, records)[0]);
  CHECK(ids.form == ParsedFeature::Form::sparse);
  CHECK(ids.shape == Ints{4, 3});
  CHECK(values<std::int64_t>(ids) == Ints{5, 6, 7, 8});
  CHECK(ids.indices == Ints{0, 0, 0, 1, 0, 2, 2, 0});
}

TEST_CASE("parse_example: FixedLenSequence pads with the default", "[example]") {
  const std::vector<Record> records{with("x", {1, 2, 3, 4}), record(ExampleBuilder{}), with("x", {5, 6})};
  const auto parse = [&](distrib::FeatureDefault otherwise) {
    return std::move(parse_example(
        {{"x",
          FixedLenSequence{.shape = {2}, .kind = int64s, .allow_missing = true, .otherwise = std::move(otherwise)}}},
        records)[0]);
  };
  CHECK(parse({}).shape == Ints{3, 2, 2});
  CHECK(values<std::int64_t>(parse({})) == Ints{1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 0, 0});
  CHECK(values<std::int64_t>(parse({.int64s = {-1}})) == Ints{1, 2, 3, 4, -1, -1, -1, -1, 5, 6, -1, -1});

  const std::vector<Record> words{record(ExampleBuilder{}.set("x", "a")), record(ExampleBuilder{})};
  const auto parsed = parse_example({{"x", FixedLenSequence{{}, bytes_kind, true, {.bytes = {"pad"}}}}}, words);
  CHECK(text(parsed[0].values<ByteView>()[1]) == "pad");

  const Error error = parse_failure({{"x", FixedLenSequence{{3}, int64s, true, {}}}}, {with("x", {1, 2, 3, 4})});
  CHECK(error.code == example_errc::wrong_count);
  CHECK(error.where == "record 0, feature \"x\" has 4 values, not a multiple of 3");
}

TEST_CASE("parse_example: Sparse sorts by index", "[example]") {
  const std::vector<Record> records{record(ExampleBuilder{}.set("ix", Ints{20, 3, 20}).set("val", Floats{0.5F, -1, 2})),
                                    record(ExampleBuilder{}),
                                    record(ExampleBuilder{}.set("ix", Ints{0}).set("val", Floats{9}))};
  const auto parse = [&](bool already_sorted) {
    return std::move(parse_example({{"s", Sparse{{"ix"}, "val", floats_kind, {100}, already_sorted}}}, records)[0]);
  };
  const ParsedFeature sorted = parse(false);
  CHECK(sorted.shape == Ints{3, 100});
  CHECK(sorted.indices == Ints{0, 3, 0, 20, 0, 20, 2, 0});
  CHECK(values<float>(sorted) == Floats{-1, 0.5F, 2, 9});
  CHECK(parse(true).indices == Ints{0, 20, 0, 3, 0, 20, 2, 0});

  const std::vector<Record> matrix{
      record(ExampleBuilder{}.set("r", Ints{1, 0, 1}).set("c", Ints{2, 1, 0}).set("v", Ints{12, 1, 10}))};
  const auto parsed =
      parse_example({{"m", Sparse{{"r", "c"}, "v", int64s, {2, 3}, false}}, {"v", VarLen{int64s}}}, matrix);
  CHECK(parsed[0].shape == Ints{1, 2, 3});
  CHECK(parsed[0].indices == Ints{0, 0, 1, 0, 1, 0, 0, 1, 2});
  CHECK(values<std::int64_t>(parsed[0]) == Ints{1, 10, 12});
  CHECK(values<std::int64_t>(parsed[1]) == Ints{12, 1, 10});  // the same feature in two specs
}

TEST_CASE("parse_example: indices that do not fit are refused", "[example]") {
  const std::vector<NamedSpec> specs{{"s", Sparse{{"ix"}, "val", int64s, {10}, false}}};
  const auto of = [](const Ints& indices, const Ints& of_values) {
    return std::vector<Record>{record(ExampleBuilder{}),
                               record(ExampleBuilder{}.set("ix", indices).set("val", of_values))};
  };
  CHECK(parse_failure(specs, of({1, 2}, {1})).where == "record 1, feature \"s\" has 1 values and 2 indices");
  CHECK(parse_failure(specs, of({10}, {1})).where == "record 1, feature \"s\" has index 10, but the size is 10");
  CHECK(parse_failure(specs, of({-1}, {1})).code == example_errc::bad_index);
}

TEST_CASE("parse_example: Ragged with every partition", "[example]") {
  const std::vector<Record> records{record(ExampleBuilder{}
                                               .set("v", Ints{3, 1, 4, 1, 5, 9})
                                               .set("splits", Ints{0, 2, 3, 3, 6})
                                               .set("lengths", Ints{2, 1, 0, 3})
                                               .set("starts", Ints{0, 2, 3, 3})
                                               .set("limits", Ints{2, 3, 3, 6})
                                               .set("ids", Ints{0, 0, 1, 3, 3, 3})),
                                    record(ExampleBuilder{}),
                                    record(ExampleBuilder{}
                                               .set("v", Ints{7})
                                               .set("splits", Ints{0, 1})
                                               .set("lengths", Ints{1})
                                               .set("starts", Ints{0})
                                               .set("limits", Ints{1})
                                               .set("ids", Ints{0}))};
  for (const distrib::RaggedPartition& partition : {distrib::RaggedPartition{RowSplits{"splits"}},
                                                    {RowLengths{"lengths"}},
                                                    {RowStarts{"starts"}},
                                                    {RowLimits{"limits"}},
                                                    {ValueRowIds{"ids"}}}) {
    CAPTURE(partition.key);
    const auto parsed = parse_example({{"f", Ragged{int64s, "v", {partition}}}}, records);
    CHECK(parsed[0].form == ParsedFeature::Form::ragged);
    CHECK(values<std::int64_t>(parsed[0]) == Ints{3, 1, 4, 1, 5, 9, 7});
    CHECK(parsed[0].row_splits == std::vector<Ints>{{0, 4, 4, 5}, {0, 2, 3, 3, 6, 7}});
  }
  CHECK(parse_example({{"v", Ragged{.kind = int64s}}}, records)[0].row_splits == std::vector<Ints>{{0, 6, 6, 7}});

  const std::vector<Record> six{with("v", {1, 2, 3, 4, 5, 6}), with("v", {})};
  const auto pairs = parse_example({{"v", Ragged{int64s, "", {UniformRowLength{2}}}}}, six);
  CHECK(pairs[0].row_splits == std::vector<Ints>{{0, 3, 3}, {0, 2, 4, 6}});

  const std::vector<Record> nested{
      record(ExampleBuilder{}.set("v", Ints{1, 2, 3, 4}).set("inner", Ints{2, 0, 1, 1}).set("outer", Ints{1, 3}))};
  const auto twice = parse_example({{"f", Ragged{int64s, "v", {RowLengths{"outer"}, RowLengths{"inner"}}}}}, nested);
  CHECK(twice[0].row_splits == std::vector<Ints>{{0, 2}, {0, 1, 4}, {0, 2, 2, 3, 4}});
}

TEST_CASE("parse_example: partitions that do not fit are refused", "[example]") {
  struct Case {
    distrib::RaggedPartition partition;
    Ints given;
  };
  const Ints huge{INT64_MAX, INT64_MAX, 2};
  const Case cases[] = {
      {RowSplits{"p"}, {1, 3}},  {RowSplits{"p"}, {0, 2}},      {RowSplits{"p"}, {0, 2, 1, 3}},
      {RowSplits{"p"}, {}},      {RowLengths{"p"}, {2, 2}},     {RowLengths{"p"}, {4, -1}},
      {RowLengths{"p"}, huge},   {RowStarts{"p"}, {1}},         {RowStarts{"p"}, {0, 4}},
      {RowLimits{"p"}, {2}},     {RowLimits{"p"}, {2, 4}},      {ValueRowIds{"p"}, {0}},
      {ValueRowIds{"p"}, huge},  {ValueRowIds{"p"}, {1, 0, 1}}, {ValueRowIds{"p"}, {-1, 0, 0}},
      {UniformRowLength{2}, {}},
  };
  for (const Case& c : cases) {
    CAPTURE(static_cast<int>(c.partition.form), c.given);
    const Error error = parse_failure({{"f", Ragged{int64s, "v", {c.partition}}}},
                                      {record(ExampleBuilder{}.set("v", Ints{1, 2, 3}).set("p", c.given))});
    CHECK(error.code == example_errc::bad_partition);
    CHECK(error.where == "record 0, feature \"f\" has 3 items to cut");
  }
}

TEST_CASE("parse_example: wrong specs are refused before any record is read", "[example]") {
  struct Case {
    std::vector<NamedSpec> specs;
    std::string where;
  };
  const FixedLen one{.shape = {}, .kind = int64s};
  const Case cases[] = {
      {{{"x", FixedLen{.kind = int64s}}}, "feature \"x\": Missing shape"},
      {{{"x", FixedLen{.shape = {}}}}, "feature \"x\": Missing type"},
      {{{"x", VarLen{}}}, "feature \"x\": Missing type"},
      {{{"x", FixedLen{.shape = {-1, 2}, .kind = int64s}}}, "feature \"x\": an extent of the shape is unknown"},
      {{{"x", FixedLen{.shape = {2}, .kind = int64s, .otherwise = {.int64s = {1}}}}}, "the default has another shape"},
      {{{"x", FixedLen{.shape = {}, .kind = int64s, .otherwise = {.floats = {1}}}}}, "the default is of another kind"},
      {{{"x", FixedLenSequence{.shape = {}, .kind = int64s}}}, "needs allow_missing"},
      {{{"x", FixedLenSequence{.shape = {0}, .kind = int64s, .allow_missing = true}}}, "at least one value"},
      {{{"s", Sparse{{}, "v", int64s, {}, false}}}, "Missing index_keys"},
      {{{"s", Sparse{{"i"}, "", int64s, {1}, false}}}, "Missing value_key"},
      {{{"s", Sparse{{"i"}, "v", int64s, {1, 2}, false}}}, "a size for each index key"},
      {{{"s", Sparse{{"i"}, "v", int64s, {-2}, false}}}, "a size is negative"},
      {{{"s", Sparse{{"i"}, "v", floats_kind, {1}, false}}, {"i", VarLen{floats_kind}}},
       "feature \"i\": Conflicting type"},
      {{{"s", Sparse{{"i"}, "v", floats_kind, {1}, false}}, {"v", one}}, "feature \"v\": dense, sparse and ragged"},
      {{{"r", Ragged{int64s, "", {RowSplits{"x"}}}}, {"x", VarLen{int64s}}}, "must not intersect"},
      {{{"r", Ragged{int64s, "x", {}}}, {"x", one}}, "must not intersect"},
      {{{"r", Ragged{int64s, "", {UniformRowLength{0}}}}}, "a uniform row length must be at least 1"},
  };
  for (const Case& c : cases) {
    const Error error = parse_failure(c.specs, {Record(1, std::byte{0x80})});
    CHECK(error.code == example_errc::bad_spec);
    CHECK_THAT(error.where, ContainsSubstring(c.where));
  }
  CHECK(parse_failure({{"x", one}, {"x", one}}, {}).code == example_errc::duplicate_feature);
}

TEST_CASE("parse_example: the error for a record that does not fit names record and feature", "[example]") {
  const std::vector<NamedSpec> label{{"label", FixedLen{.shape = {}, .kind = int64s}}};
  const Record good = with("label", {1});
  const Error missing = parse_failure(label, {good, record(ExampleBuilder{})});
  CHECK(missing.code == example_errc::missing_feature);
  CHECK(missing.where == "record 1, feature \"label\"");
  CHECK_THAT(missing.code.message(), ContainsSubstring("is required but could not be found"));
  CHECK(parse_failure(label, {with("label", {1, 2})}).where == "record 0, feature \"label\" has 2 values, not 1");
  CHECK(parse_failure(label, {with("label", {})}).code == example_errc::wrong_count);
  CHECK(parse_failure({{"label", VarLen{floats_kind}}}, {good}).code == example_errc::wrong_kind);
  CHECK(parse_failure(label, {good, Record(1, std::byte{0x80})}).code == example_errc::malformed);

  std::error_code ec;
  CHECK(parse_example(label, std::vector<Record>{record(ExampleBuilder{})}, ec).empty());
  CHECK(ec == example_errc::missing_feature);
  CHECK_THROWS_WITH(parse_example(label, std::vector<Record>{record(ExampleBuilder{})}),
                    ContainsSubstring("feature \"label\""));
}

TEST_CASE("parse_single_example: the tensors have no axis of records", "[example]") {
  const Record one = record(ExampleBuilder{}.set("a", 5).set("b", Ints{7, 8}).set("c", Floats{1, 2}));
  const std::vector<NamedSpec> specs{{"a", FixedLen{.shape = {}, .kind = int64s}},
                                     {"b", VarLen{int64s}},
                                     {"c", Ragged{floats_kind, "", {UniformRowLength{1}}}}};
  const auto parsed = parse_single_example(specs, one);
  CHECK(parsed[0].shape.empty());
  CHECK(values<std::int64_t>(parsed[0]) == Ints{5});
  CHECK(parsed[1].shape == Ints{2});
  CHECK(parsed[1].indices == Ints{0, 1});
  CHECK(parsed[2].row_splits == std::vector<Ints>{{0, 1, 2}});
  CHECK_THROWS(parse_single_example(specs, Record{}));
}

TEST_CASE("parse_example: a name that is not UTF-8 does no harm, and is found by its bytes", "[example]") {
  // features { feature { key: "verl\374st" value { int64 1 } } feature { key: "k" value { int64 7 } } }
  constexpr std::string_view latin1{
      "\x0a\x1e\x0a\x10\x0a\x07verl\xfcst\x12\x05\x1a\x03\x0a\x01\x01\x0a\x0a\x0a\x01k\x12\x05\x1a\x03\x0a\x01\x07",
      32};
  const ByteView bytes = distrib::as_bytes(latin1);
  const auto one = parse_single_example({{"k", FixedLen{.shape = {}, .kind = int64s}}}, bytes);
  CHECK(one.front().values<std::int64_t>()[0] == 7);
  const auto both = parse_single_example(
      {{"k", FixedLen{.shape = {}, .kind = int64s}}, {"verl\xfcst", FixedLen{.shape = {}, .kind = int64s}}}, bytes);
  REQUIRE(both.size() == 2);
  for (const ParsedFeature& feature : both) CHECK(feature.values<std::int64_t>()[0] == (feature.name == "k" ? 7 : 1));

  // Long names, long values, a value before its name, and the same name twice.
  const std::string odd = "a name of more than eight bytes\xff";
  distrib::WireWriter wire;
  wire.message(1, [&](distrib::WireWriter& map) {
    for (const std::int64_t value : {5, 6})
      map.message(1, [&](distrib::WireWriter& entry) {
        entry.message(2, [&](distrib::WireWriter& feature) {
          feature.message(3, [&](distrib::WireWriter& list) { list.int64(1, value); });
        });
        entry.text(1, odd);
      });
  });
  wire.raw(record(ExampleBuilder{}.set("k", Ints(300, 7)).set("\xc3", std::string(300, 'x'))));
  const auto long_ones =
      parse_single_example({{odd, FixedLen{.shape = {}, .kind = int64s}}, {"k", VarLen{int64s}}}, wire.view());
  for (const ParsedFeature& feature : long_ones) {
    if (feature.name == odd) CHECK(feature.values<std::int64_t>()[0] == 6);
    else CHECK(feature.values<std::int64_t>().size() == 300);
  }
}
