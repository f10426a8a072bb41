// SPDX-License-Identifier: Apache-2.0
#include "expect.hpp"
#include "targets.hpp"

#include <distrib/spark/spark_decoder.hpp>
#include <distrib/spark/spark_directory.hpp>
#include <distrib/spark/spark_encoder.hpp>
#include <distrib/spark/spark_infer_schema.hpp>
#include <distrib/spark/spark_partitions.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz {

namespace {

using distrib::SparkRecordType;
using distrib::SparkRules;

struct Row {
  std::optional<bool> a;
  std::optional<std::int32_t> b;
  std::optional<std::vector<std::int64_t>> c;
  std::optional<double> d;
  std::optional<std::vector<float>> e;
  std::optional<std::string> f;
  std::optional<std::vector<std::string>> g;
  std::optional<std::vector<std::vector<std::int64_t>>> h;
  std::optional<std::vector<std::vector<std::string>>> i;
  std::optional<distrib::SparkVector> v;
};
constexpr auto row_schema = distrib::spark_schema<Row>(
    distrib::spark_column("a", &Row::a), distrib::spark_column("b", &Row::b), distrib::spark_column("c", &Row::c),
    distrib::spark_column("d", &Row::d), distrib::spark_column("e", &Row::e), distrib::spark_column("f", &Row::f),
    distrib::spark_column("g", &Row::g), distrib::spark_column("h", &Row::h), distrib::spark_column("i", &Row::i),
    distrib::spark_column("v", &Row::v));

auto copy(ByteView bytes) -> std::vector<std::byte> { return {bytes.begin(), bytes.end()}; }

/// Checks that a row that was read is written as a record that is read as the same row.
void records(ByteView input, SparkRecordType type, SparkRules rules) {
  distrib::SparkDecoder decoder{row_schema, type, rules};
  distrib::SparkEncoder encoder{row_schema, SparkRecordType::sequence_example};
  distrib::SparkDecoder again{row_schema, SparkRecordType::sequence_example};
  distrib::Error error;
  Row row;
  decoder.decode(input, row, error);
  if (!error) {
    const auto first = copy(encoder.encode(row));
    again.decode(first, row, error);
    expect(!error, "what was written is read");
    expect(copy(encoder.encode(row)) == first, "the row is the same again");
  }
  distrib::SparkSchemaInference inference{type, rules};
  inference.add(input, error);
  inference.add(input, error);
  for (const auto& column : inference.columns()) {
    expect(column.type.arrays <= 2, "arrays of arrays at most");
    const bool known = column.type.kind != distrib::SparkType::Kind::unknown;
    expect(known || rules == SparkRules::like_connector, "each column has a type");
  }
}

void names(std::string_view text) {
  std::vector<distrib::detail::SparkPath> paths;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    paths.push_back({"t", std::string{line}});
    const auto partition = distrib::parse_partition_directory(line);
    if (!partition || !partition->value || partition->value->empty() || *partition->value == distrib::null_partition)
      continue;
    expect(distrib::parse_partition_directory(distrib::partition_directory(*partition)) == partition,
           "the name is the same again");
    std::error_code ec;
    std::int32_t number = 0;
    distrib::read_partition(partition->value, number, ec);
    const auto kind = distrib::infer_partition_type({partition->value}).kind;
    expect(!ec == (kind == distrib::SparkType::Kind::integer), "an Integer is read as a number");
  }
  distrib::Error error;
  const auto table = distrib::detail::arrange_spark_files(paths, error);
  expect(error || table.files.size() == paths.size(), "all files, or none");
  for (const auto& file : table.files)
    expect(file.partition.size() == table.partition_columns.size(), "a value for each column");
}

}  // namespace

void spark(ByteView input) {
  for (const auto type : {SparkRecordType::example, SparkRecordType::sequence_example})
    for (const auto rules : {SparkRules::checked, SparkRules::like_connector}) records(input, type, rules);
  names(distrib::as_text(input));
}

}  // namespace fuzz
