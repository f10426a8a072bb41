// SPDX-License-Identifier: Apache-2.0
#include <distrib/spark/spark_encoder.hpp>

#include <distrib/example/example_view.hpp>
#include <distrib/example/sequence_example_view.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <string>
#include <vector>

using distrib::ByteView;
using distrib::ExampleView;
using distrib::FeatureKind;
using distrib::spark_column;
using distrib::spark_errc;
using distrib::spark_schema;
using distrib::SparkEncoder;
using distrib::SparkRecordType;
using distrib::SparkRules;

namespace {

struct EncodedRow {
  bool flag = true;
  std::int32_t i = -1;
  std::optional<std::int64_t> id;
  double d = 0.1;
  distrib::SparkDecimal dec{12.5};
  std::string s = "hello";
  std::vector<std::byte> b{std::byte{0}, std::byte{0xFF}};
  std::vector<bool> flags{true, false};
  std::vector<std::string> texts{"a", ""};
  distrib::SparkSparseVector v{.size = 4, .indices = {1}, .values = {2.5}};
  std::vector<std::vector<std::int32_t>> xs{{1, 2}, {}};
};

constexpr auto flat = spark_schema<EncodedRow>(
    spark_column("flag", &EncodedRow::flag), spark_column("i", &EncodedRow::i), spark_column("id", &EncodedRow::id),
    spark_column("d", &EncodedRow::d), spark_column("dec", &EncodedRow::dec), spark_column("s", &EncodedRow::s),
    spark_column("b", &EncodedRow::b), spark_column("flags", &EncodedRow::flags),
    spark_column("texts", &EncodedRow::texts), spark_column("v", &EncodedRow::v));
constexpr auto lists = spark_schema<EncodedRow>(spark_column("i", &EncodedRow::i), spark_column("xs", &EncodedRow::xs));

auto int64s(const distrib::FeatureView& feature) -> std::vector<std::int64_t> {
  std::vector<std::int64_t> values;
  feature.for_each<std::int64_t>([&](std::int64_t value) { values.push_back(value); });
  return values;
}
auto floats(const distrib::FeatureView& feature) -> std::vector<float> {
  std::vector<float> values;
  feature.for_each<float>([&](float value) { values.push_back(value); });
  return values;
}
auto texts_of(const distrib::FeatureView& feature) -> std::vector<std::string> {
  std::vector<std::string> values;
  feature.for_each<ByteView>([&](ByteView value) { values.emplace_back(distrib::as_text(value)); });
  return values;
}

}  // namespace

TEST_CASE("SparkEncoder: the feature of each type of column", "[hadoop]") {
  SparkEncoder encoder{flat};
  const ExampleView example{encoder.encode(EncodedRow{})};
  CHECK(int64s(example.find("flag")) == std::vector<std::int64_t>{1});
  CHECK(int64s(example.find("i")) == std::vector<std::int64_t>{-1});
  CHECK(!example.contains("id"));
  CHECK(floats(example.find("d")) == std::vector<float>{0.1F});
  CHECK(floats(example.find("dec")) == std::vector<float>{12.5F});
  CHECK(texts_of(example.find("s")) == std::vector<std::string>{"hello"});
  CHECK(texts_of(example.find("b")) == std::vector<std::string>{std::string{"\0\xFF", 2}});
  CHECK(int64s(example.find("flags")) == std::vector<std::int64_t>{1, 0});
  CHECK(texts_of(example.find("texts")) == std::vector<std::string>{"a", ""});
  CHECK(floats(example.find("v")) == std::vector<float>{0, 2.5F, 0, 0});

  EncodedRow empty;
  empty.id = std::int64_t{1} << 40;
  empty.flags.clear();
  const ExampleView second{encoder.encode(empty)};
  CHECK(int64s(second.find("id")) == std::vector<std::int64_t>{std::int64_t{1} << 40});
  CHECK(second.find("flags").kind() == FeatureKind::int64s);  // empty is not null
  CHECK(second.find("flags").size() == 0);

  CHECK(encoder.leave_out("i"));
  CHECK(!encoder.leave_out("no such"));
  CHECK(!ExampleView{encoder.encode(EncodedRow{})}.contains("i"));
}

TEST_CASE("SparkEncoder: arrays of arrays become feature lists, other columns the context", "[hadoop]") {
  SparkEncoder sequences{lists, SparkRecordType::sequence_example};
  const distrib::SequenceExampleView sequence{sequences.encode(EncodedRow{})};
  CHECK(int64s(sequence.context().find("i")) == std::vector<std::int64_t>{-1});
  std::vector<std::vector<std::int64_t>> steps;
  sequence.for_each_list([&](const distrib::FeatureListView& list) {
    CHECK(list.name() == "xs");
    list.for_each([&](const distrib::FeatureView& step) { steps.push_back(int64s(step)); });
  });
  CHECK(steps == std::vector<std::vector<std::int64_t>>{{1, 2}, {}});

  SparkEncoder examples{lists};
  distrib::Error error;
  CHECK(examples.encode(EncodedRow{}, error).empty());
  CHECK(error.code == spark_errc::unsupported_type);
  CHECK(error.where == "column \"xs\": Array<Array<Integer>> in an Example");
  CHECK_THROWS_AS(examples.encode(EncodedRow{}), std::system_error);
}

TEST_CASE("SparkEncoder: refuses nulls and numbers that do not fit", "[hadoop]") {
  constexpr auto strict = spark_schema<EncodedRow>(spark_column("id", &EncodedRow::id).not_null());
  std::error_code ec;
  (void)SparkEncoder{strict}.encode(EncodedRow{}, ec);
  CHECK(ec == spark_errc::null_value);

  EncodedRow big;
  big.d = -1e300;
  constexpr auto doubles = spark_schema<EncodedRow>(spark_column("d", &EncodedRow::d));
  (void)SparkEncoder{doubles}.encode(big, ec);
  CHECK(ec == spark_errc::out_of_range);
  SparkEncoder again{doubles};
  (void)again.encode(big, ec);
  CHECK(ec == spark_errc::out_of_range);
  big.d = 0.5;
  CHECK(floats(ExampleView{again.encode(big, ec)}.find("d")) == std::vector<float>{0.5F});
  CHECK_FALSE(ec);  // a row that fits, after one that does not
  big.d = -1e300;
  SparkEncoder like{doubles, SparkRecordType::example, SparkRules::like_connector};
  CHECK(floats(ExampleView{like.encode(big)}.find("d")) == std::vector<float>{-INFINITY});
  big.d = INFINITY;
  CHECK(floats(ExampleView{SparkEncoder{doubles}.encode(big)}.find("d")) == std::vector<float>{INFINITY});
  big.d = 3.4028235677973362e+38;  // the largest double that rounds to FLT_MAX
  CHECK(std::isfinite(floats(ExampleView{SparkEncoder{doubles}.encode(big)}.find("d")).front()));

  constexpr auto vectors = spark_schema<EncodedRow>(spark_column("v", &EncodedRow::v));
  for (const distrib::SparkSparseVector& wrong :
       {distrib::SparkSparseVector{.size = 1, .indices = {1}, .values = {1}},
        distrib::SparkSparseVector{.size = 3, .indices = {1}, .values = {}},
        distrib::SparkSparseVector{.size = std::size_t{1} << 40, .indices = {}, .values = {}}}) {
    big.v = wrong;
    (void)SparkEncoder{vectors}.encode(big, ec);
    CHECK(ec == spark_errc::out_of_range);
  }
}
