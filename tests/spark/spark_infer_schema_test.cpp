// SPDX-License-Identifier: Apache-2.0
#include <distrib/spark/spark_infer_schema.hpp>

#include <distrib/example/example_builder.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/spark/spark_directory.hpp>
#include <distrib/spark/spark_error.hpp>

#include "spark/fitting_columns.hpp"
#include "support/catch.hpp"
#include "support/test_dir.hpp"

#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
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

/// Records with the columns "a", "b" and "c". In nearly all tables each column has one kind. A feature may be missing,
/// have no kind, or have no value, one or several; in SequenceExamples there are also feature lists.
class RandomTable {
 public:
  explicit RandomTable(std::uint32_t seed) : random_{seed} {}

  [[nodiscard]] auto record_type() const -> SparkRecordType {
    return sequence_ ? SparkRecordType::sequence_example : SparkRecordType::example;
  }

  auto records() -> std::vector<Record> {
    sequence_ = one_in(2);
    for (int& kind : kinds_) kind = static_cast<int>(random_() % 3);
    for (int& habit : habits_) habit = static_cast<int>(random_() % 3);
    std::vector<Record> records;
    for (std::size_t count = 1 + random_() % 5; count > 0; --count) {
      Record one = record(example());
      if (one_in(10)) {  // the same names once more: the last feature counts
        const Record again = record(example());
        one.insert(one.end(), again.begin(), again.end());
      }
      records.push_back(std::move(one));
    }
    return records;
  }

 private:
  auto one_in(std::uint32_t n) -> bool { return random_() % n == 0; }

  auto example() -> SequenceExampleBuilder {
    SequenceExampleBuilder builder;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      const int kind = one_in(200) ? static_cast<int>(random_() % 3) : kinds_[i];
      if (!one_in(6))
        put(
            kind, habits_[i], [&](auto values) { builder.context().set(name, values); },
            [&] { builder.context().set_none(name); });
      if (!sequence_ || !one_in(3)) continue;
      builder.list(name);
      for (std::size_t steps = random_() % 3; steps > 0; --steps)
        put(kind, 2, [&](auto values) { builder.add(name, values); }, [&] { builder.add_none(name); });
    }
    return builder;
  }

  /// `habit`: 0: always one value; 1: rarely anything else; 2: anything.
  template <class Set, class SetNone> void put(int kind, int habit, Set set, SetNone set_none) {
    const bool usual = habit == 0 || (habit == 1 && !one_in(8));
    if (!usual && one_in(4)) return set_none();
    const std::size_t count = usual ? 1 : random_() % 4;
    if (kind == 0) set(std::span<const std::int64_t>{Int64s(count, 7)});
    if (kind == 1) set(std::span<const float>{Floats(count, 0.5F)});
    const std::string text = "word";
    if (kind == 2) set(std::span<const ByteView>{std::vector<ByteView>(count, distrib::as_bytes(text))});
  }

  std::mt19937 random_;
  bool sequence_ = false;
  std::array<int, 3> kinds_{};
  std::array<int, 3> habits_{};
};

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

TEST_CASE("infer_spark_schema: scalars, arrays, and features that are never seen with a value", "[hadoop]") {
  const std::vector<Record> records{
      record(ExampleBuilder{}.set("a", 1).set("b", 1.5F).set("c", "x").set("grows", 1).set("never", Int64s{})),
      record(ExampleBuilder{}.set("a", 2).set("grows", Int64s{1, 2}).set("late", Floats{1, 2}))};
  CHECK(column_texts(infer_spark_schema(records)) ==
        "a:Long b:Float? c:String? grows:Array<Long> late:Array<Float>? never:Array<Long>? ");
  distrib::Error error;
  CHECK(inferred(records, SparkRules::like_connector, error) ==
        "a:Long? b:Float? c:String? grows:Array<Long>? late:Array<Float>? never:String? ");
}

TEST_CASE("infer_spark_schema: kinds that differ between records", "[hadoop]") {
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

TEST_CASE("infer_spark_schema: a feature without a kind, or without a value, in one of the records", "[hadoop]") {
  const Record one = record(ExampleBuilder{}.set("a", "x"));
  const std::vector<Record> unset{one, record(ExampleBuilder{}.set_none("a"))};
  const std::vector<Record> empty{one, record(ExampleBuilder{}.set("a", std::vector<ByteView>{}))};
  CHECK(column_texts(infer_spark_schema(unset)) == "a:String? ");
  CHECK(column_texts(infer_spark_schema(empty)) == "a:Array<String> ");
  CHECK(column_texts(infer_spark_schema(std::vector<Record>{empty[1]})) == "a:Array<String> ");
  CHECK(column_texts(infer_spark_schema(std::vector<Record>{unset[1], empty[1]})) == "a:Array<String>? ");
  for (const auto& records : {unset, empty})
    for (const SparkColumn& column : infer_spark_schema(records))
      CHECK(fitting::fit(column, records, SparkRecordType::example).failure == "");
  distrib::Error error;  // an empty list has a kind, too
  const std::vector<Record> kinds{one, record(ExampleBuilder{}.set("a", Floats{}))};
  CHECK(inferred(kinds, SparkRules::checked, error).empty());
  CHECK(error.code == spark_errc::kind_conflict);
  CHECK(inferred(kinds, SparkRules::like_connector, error) == "a:String? ");
}

TEST_CASE("infer_spark_schema: a name in both the context and the feature lists", "[hadoop]") {
  SequenceExampleBuilder both;
  both.context().set("a", "x").set("b", 1);
  both.add("a", Int64s{1});
  SequenceExampleBuilder context;
  context.context().set("a", "x").set("b", 1);
  const std::vector<Record> records{record(both), record(context)};
  const auto columns = infer_spark_schema(records, SparkRecordType::sequence_example);
  CHECK(column_texts(columns) == "a:Array<Array<Long>>? b:Long ");
  for (const SparkColumn& column : columns)
    CHECK(fitting::fit(column, records, SparkRecordType::sequence_example).failure == "");
  std::error_code ec;
  CHECK(column_texts(infer_spark_schema(records, SparkRecordType::sequence_example, SparkRules::like_connector, ec)) ==
        "a:Array<Array<Long>>? b:Long? ");
}

TEST_CASE("infer_spark_schema: the columns fit any records", "[hadoop]") {
  std::size_t tables = 0;
  std::size_t arrays = 0;
  std::size_t nullables = 0;
  for (std::uint32_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    RandomTable random{seed};
    const std::vector<Record> records = random.records();
    distrib::Error error;
    const auto columns = infer_spark_schema(records, random.record_type(), SparkRules::checked, error);
    if (error) {
      CHECK(error.code == spark_errc::kind_conflict);
      continue;
    }
    ++tables;
    for (const SparkColumn& column : columns) {
      CAPTURE(column.name, to_text(column.type), column.nullable);
      const fitting::Fit fit = fitting::fit(column, records, random.record_type());
      CHECK(fit.failure == "");
      CHECK((fit.nulls != 0) == column.nullable);  // the column is not wider than necessary
      if (column.type.arrays == 1) CHECK(fit.others != 0);
      arrays += column.type.arrays == 1 ? 1U : 0U;
      nullables += column.nullable ? 1U : 0U;
    }
  }
  CHECK(tables > 200);
  CHECK(arrays > 50);
  CHECK(nullables > 50);
}

TEST_CASE("infer_spark_schema: tables that the connector wrote", "[hadoop]") {
  for (const char* const table : {"example", "example_gzip", "partitioned"}) {
    CAPTURE(table);
    std::vector<Record> records;
    for (const std::string& file :
         distrib::list_spark_directory(support::test_dir() + "/spark/fixtures/" + table).paths())
      for (const distrib::Record& one : distrib::RecordReader{file})
        records.emplace_back(one.bytes.begin(), one.bytes.end());
    const auto columns = infer_spark_schema(records);
    CHECK(columns.size() > 1);
    for (const SparkColumn& column : columns) {
      CAPTURE(column.name, to_text(column.type), column.nullable);
      CHECK(fitting::fit(column, records, SparkRecordType::example).failure == "");
    }
  }
}

TEST_CASE("infer_spark_schema: names that are not UTF-8", "[hadoop]") {
  const std::vector<Record> records{record(ExampleBuilder{}.set("a", 1).set("verl\xfcst", 2))};
  CHECK(column_texts(infer_spark_schema(records)) == "a:Long verl\xfcst:Long ");
  distrib::Error error;
  CHECK(inferred(records, SparkRules::like_connector, error).empty());
  CHECK(error.code == example_errc::malformed);
  SequenceExampleBuilder list;
  const std::vector<Record> lists{record(list.add("\xff", Int64s{1}))};
  CHECK(column_texts(infer_spark_schema(lists, SparkRecordType::sequence_example)) == "\xff:Array<Array<Long>> ");
  std::error_code ec;
  (void)infer_spark_schema(lists, SparkRecordType::sequence_example, SparkRules::like_connector, ec);
  CHECK(ec == example_errc::malformed);
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

TEST_CASE("infer_spark_schema: repeated names, bytes that are not a record, too many names", "[hadoop]") {
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
