// SPDX-License-Identifier: Apache-2.0
#include <distrib/spark/spark_decoder.hpp>

#include <distrib/example/example_builder.hpp>
#include <distrib/spark/spark_encoder.hpp>

#include "support/catch.hpp"

#include <string>
#include <vector>

using distrib::ByteView;
using distrib::example_errc;
using distrib::ExampleBuilder;
using distrib::SequenceExampleBuilder;
using distrib::spark_column;
using distrib::spark_errc;
using distrib::spark_schema;
using distrib::SparkDecoder;
using distrib::SparkRecordType;
using distrib::SparkRules;

namespace {

using Int64s = std::vector<std::int64_t>;
constexpr auto sequence = SparkRecordType::sequence_example;

struct DecodedRow {
  bool flag = false;
  std::int32_t i = 0;
  std::optional<std::int64_t> id;
  double d = 0;
  distrib::SparkDecimal dec;
  std::string s;
  std::vector<std::byte> b;
  std::vector<bool> flags;
  std::vector<std::string> texts;
  distrib::SparkVector v;
  std::vector<std::vector<float>> xs;
  friend auto operator==(const DecodedRow&, const DecodedRow&) -> bool = default;
};
constexpr auto rows = spark_schema<DecodedRow>(
    spark_column("flag", &DecodedRow::flag), spark_column("i", &DecodedRow::i), spark_column("id", &DecodedRow::id),
    spark_column("d", &DecodedRow::d), spark_column("dec", &DecodedRow::dec), spark_column("s", &DecodedRow::s),
    spark_column("b", &DecodedRow::b), spark_column("flags", &DecodedRow::flags),
    spark_column("texts", &DecodedRow::texts), spark_column("v", &DecodedRow::v), spark_column("xs", &DecodedRow::xs));

/// A table with one column.
template <class T> struct One {
  T x{};
};
template <class T> constexpr auto one = spark_schema<One<T>>(spark_column("x", &One<T>::x));

template <class T> auto code_of(ByteView record, SparkRules rules = SparkRules::checked) -> std::error_code {
  std::error_code ec;
  (void)SparkDecoder{one<T>, SparkRecordType::example, rules}.decode(record, ec);
  return ec;
}

}  // namespace

TEST_CASE("SparkDecoder: reads the rows that SparkEncoder wrote", "[hadoop]") {
  const DecodedRow row{.flag = true,
                       .i = -2147483647 - 1,
                       .id = 5,
                       .d = 0.5,
                       .dec = {2.5},
                       .s = std::string{"a\0b\xFF", 4},
                       .b = {std::byte{0}, std::byte{255}},
                       .flags = {true, false},
                       .texts = {"", "x"},
                       .v = {{1, 2}},
                       .xs = {{1, 2}, {}, {3}}};
  distrib::SparkEncoder encoder{rows, sequence};
  SparkDecoder decoder{rows, sequence};
  CHECK(decoder.decode(encoder.encode(row)) == row);
  const DecodedRow other{};
  CHECK(decoder.decode(encoder.encode(other)) == other);
}

TEST_CASE("SparkDecoder: missing features, features of another kind, and wrong numbers of values", "[hadoop]") {
  const auto record = [](ExampleBuilder builder) {
    const ByteView built = builder.build();
    return std::vector<std::byte>{built.begin(), built.end()};
  };
  const auto none = record(ExampleBuilder{}.set("other", 1));
  CHECK(code_of<std::int64_t>(none) == spark_errc::null_value);
  CHECK(!code_of<std::optional<std::int64_t>>(none));
  CHECK(code_of<std::int64_t>(record(ExampleBuilder{}.set("x", 1.5F))) == spark_errc::wrong_kind);
  CHECK(code_of<std::int64_t>(record(ExampleBuilder{}.set("x", Int64s{1, 2}))) == spark_errc::wrong_count);
  CHECK(code_of<std::int64_t>(record(ExampleBuilder{}.set("x", Int64s{}))) == spark_errc::wrong_count);
  CHECK(!code_of<Int64s>(record(ExampleBuilder{}.set("x", Int64s{}))));
  CHECK(code_of<std::int64_t>(std::vector<std::byte>(2, std::byte{0xFF})) == example_errc::malformed);
  CHECK(code_of<distrib::SparkSparseVector>(record(ExampleBuilder{}.set("x", 1.5F))) == spark_errc::unsupported_type);

  distrib::Error error;
  One<std::int64_t> row;
  SparkDecoder{one<std::int64_t>}.decode(none, row, error);
  CHECK(error.where == "column \"x\"");
  CHECK_THROWS_AS(SparkDecoder{one<std::int64_t>}.decode(none), std::system_error);

  SparkDecoder left{one<std::int64_t>};
  CHECK(left.leave_out("x"));
  CHECK(!left.leave_out("y"));
  row.x = 7;
  left.decode(none, row, error);
  CHECK((!error && row.x == 7));
}

TEST_CASE("SparkDecoder: reports or reads what the connector loses", "[hadoop]") {
  ExampleBuilder long_number;
  long_number.set("x", (std::int64_t{1} << 32) + 7);
  CHECK(code_of<std::int32_t>(long_number.build()) == spark_errc::out_of_range);
  CHECK(code_of<std::vector<std::int32_t>>(long_number.build()) == spark_errc::out_of_range);
  SparkDecoder like{one<std::int32_t>, SparkRecordType::example, SparkRules::like_connector};
  CHECK(like.decode(long_number.build()).x == 7);

  ExampleBuilder flag;
  flag.set("x", 2);
  CHECK(SparkDecoder{one<bool>}.decode(flag.build()).x);
  CHECK(code_of<bool>(flag.build(), SparkRules::like_connector) == spark_errc::unsupported_type);

  ExampleBuilder none;
  none.set_none("x");
  CHECK(!code_of<std::optional<std::int64_t>>(none.build()));
  CHECK(code_of<std::optional<std::int64_t>>(none.build(), SparkRules::like_connector) == spark_errc::wrong_kind);

  const auto text = [](std::string_view bytes) {
    ExampleBuilder builder;
    builder.set("x", bytes);
    return SparkDecoder{one<std::string>, SparkRecordType::example, SparkRules::like_connector}
        .decode(builder.build())
        .x;
  };
  const std::string bad = "\xEF\xBF\xBD";
  CHECK(text("Zürich") == "Zürich");
  CHECK(text("a\xFFz") == "a" + bad + "z");
  CHECK(text("\xE2\x82") == bad);  // a truncated character: one replacement
  CHECK(text("\xE2\x82z") == bad + "z");
  CHECK(text("\xC0\xAF") == bad + bad);  // an overlong encoding
  CHECK(text("\xED\xA0\x80z") == bad + "z");  // a surrogate
  CHECK(text("\xED\xA0z") == bad + "z");
  CHECK(text("\xF0\x9F\x98") == bad);
  CHECK(text("\xF4\x90\x80\x80") == bad + bad + bad + bad);
}

TEST_CASE("SparkDecoder: a name in both the context and the feature lists", "[hadoop]") {
  SequenceExampleBuilder both;
  both.context().set("x", 1);
  both.add("x", Int64s{2});
  CHECK(SparkDecoder(one<std::int64_t>, sequence).decode(both.build()).x == 1);
  CHECK(SparkDecoder(one<std::vector<Int64s>>, sequence).decode(both.build()).x == std::vector<Int64s>{{2}});
  SparkDecoder like{one<std::vector<Int64s>>, sequence, SparkRules::like_connector};
  std::error_code ec;
  (void)like.decode(both.build(), ec);
  CHECK(ec == spark_errc::unsupported_type);
}

TEST_CASE("SparkDecoder: if a name occurs several times, the last feature counts", "[hadoop]") {
  std::vector<std::byte> record;
  for (const std::int64_t value : {1, 2}) {
    ExampleBuilder builder;
    const ByteView built = builder.set("x", value).build();
    record.insert(record.end(), built.begin(), built.end());
  }
  CHECK(SparkDecoder{one<std::int64_t>}.decode(record).x == 2);
}

TEST_CASE("SparkDecoder: a name that is not UTF-8, beside the columns", "[hadoop]") {
  struct OddNames {
    std::int64_t k = 0;
  };
  constexpr auto schema = spark_schema<OddNames>(spark_column("k", &OddNames::k));
  ExampleBuilder builder;
  const ByteView record = builder.set("k", 7).set("verl\xfcst", 1).build();
  SparkDecoder checked{schema};
  CHECK(checked.decode(record).k == 7);
  SparkDecoder like_connector{schema, SparkRecordType::example, SparkRules::like_connector};
  std::error_code ec;
  (void)like_connector.decode(record, ec);
  CHECK(ec == example_errc::malformed);
}
