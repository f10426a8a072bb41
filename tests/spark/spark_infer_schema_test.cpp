// SPDX-License-Identifier: Apache-2.0
#include <distrib/spark/spark_infer_schema.hpp>

#include <distrib/example/example_builder.hpp>
#include <distrib/spark/spark_error.hpp>

#include "support/catch.hpp"

#include <string>
#include <vector>

using distrib::ByteView;
using distrib::example_errc;
using distrib::ExampleBuilder;
using distrib::SequenceExampleBuilder;
using distrib::spark_errc;
using distrib::SparkColumn;
using distrib::SparkRecordType;
using distrib::SparkRules;
using distrib::detail::infer_spark_schema;

namespace {

using Record = std::vector<std::byte>;
using Int64s = std::vector<std::int64_t>;
using Floats = std::vector<float>;

template <class Builder> auto record(Builder builder) -> Record {
  const ByteView built = builder.build();
  return {built.begin(), built.end()};
}

auto column_texts(const std::vector<SparkColumn>& columns) -> std::string {
  std::string text;
  for (const SparkColumn& column : columns)
    text += column.name + ":" + to_text(column.type) + (column.nullable ? "? " : " ");
  return text;
}

auto inferred(const std::vector<Record>& records, SparkRules rules, distrib::Error& error) -> std::string {
  return column_texts(infer_spark_schema(records, SparkRecordType::example, rules, error));
}

}  // namespace

TEST_CASE("infer_spark_schema: scalars, arrays, and what nobody saw", "[hadoop]") {
  const std::vector<Record> records{
      record(ExampleBuilder{}.set("a", 1).set("b", 1.5F).set("c", "x").set("grows", 1).set("never", Int64s{})),
      record(ExampleBuilder{}.set("a", 2).set("grows", Int64s{1, 2}).set("late", Floats{1, 2}))};
  CHECK(column_texts(infer_spark_schema(records)) ==
        "a:Long b:Float? c:String? grows:Array<Long> late:Array<Float>? never:String? ");
  distrib::Error error;
  CHECK(inferred(records, SparkRules::like_connector, error) ==
        "a:Long? b:Float? c:String? grows:Array<Long>? late:Array<Float>? never:String? ");
}

TEST_CASE("infer_spark_schema: kinds that differ", "[hadoop]") {
  const std::vector<Record> records{record(ExampleBuilder{}.set("ok", 1).set("a", 1.5F)),
                                    record(ExampleBuilder{}.set("ok", 1).set("a", Int64s{1, 2}))};
  distrib::Error error;
  CHECK(inferred(records, SparkRules::like_connector, error) == "a:Array<Long>? ok:Long? ");
  CHECK(inferred(records, SparkRules::checked, error).empty());
  CHECK(error.code == spark_errc::kind_conflict);
  CHECK(error.where == "record 1, column \"a\"");
}

TEST_CASE("infer_spark_schema: a feature without a kind", "[hadoop]") {
  const std::vector<Record> records{record(ExampleBuilder{}.set_none("a").set("b", 1)),
                                    record(ExampleBuilder{}.set("b", 1))};
  distrib::Error error;
  CHECK(inferred(records, SparkRules::checked, error) == "a:String? b:Long ");
  (void)inferred(records, SparkRules::like_connector, error);
  CHECK(error.code == spark_errc::no_kind);
  CHECK(error.where == "record 0, column \"a\"");
}

TEST_CASE("infer_spark_schema: feature lists", "[hadoop]") {
  SequenceExampleBuilder one;
  one.context().set("id", 5);
  one.add("xs", Int64s{1}).add("xs", Int64s{}).add("fs", Floats{1, 2});
  SequenceExampleBuilder two;
  two.context().set("id", 5);
  two.list("fs");
  const std::vector<Record> good{record(one)};
  const std::vector<Record> empty{record(one), record(two)};
  CHECK(column_texts(infer_spark_schema(good, SparkRecordType::sequence_example)) ==
        "fs:Array<Array<Float>> id:Long xs:Array<Array<Long>> ");
  CHECK(column_texts(infer_spark_schema(empty, SparkRecordType::sequence_example)) ==
        "fs:Array<Array<Float>> id:Long xs:Array<Array<Long>>? ");
  std::error_code ec;
  (void)infer_spark_schema(empty, SparkRecordType::sequence_example, SparkRules::like_connector, ec);
  CHECK(ec == spark_errc::no_steps);
}

TEST_CASE("infer_spark_schema: of equal names the last one counts; bytes that are no record; too many names",
          "[hadoop]") {
  Record twice = record(ExampleBuilder{}.set("a", 1.5F));
  const Record last = record(ExampleBuilder{}.set("a", 1));
  twice.insert(twice.end(), last.begin(), last.end());
  CHECK(column_texts(infer_spark_schema(std::vector<Record>{twice})) == "a:Long ");

  std::error_code ec;
  (void)infer_spark_schema(std::vector<Record>{last, Record(3, std::byte{0xFF})}, SparkRecordType::example,
                           SparkRules::checked, ec);
  CHECK(ec == example_errc::malformed);
  CHECK_THROWS_AS(infer_spark_schema(std::vector<Record>{Record(3, std::byte{0xFF})}), std::system_error);

  distrib::SparkSchemaInference inference;
  distrib::Error error;
  for (std::size_t first = 0; !error && first < distrib::SparkSchemaInference::most_columns + 1; first += 10'000) {
    ExampleBuilder names;
    for (std::size_t i = first; i < first + 10'000; ++i) names.set(std::to_string(1'000'000 + i), 1);
    inference.add(names.build(), error);
  }
  CHECK(error.code == spark_errc::too_many_columns);
  CHECK(inference.columns().size() == distrib::SparkSchemaInference::most_columns);
}
