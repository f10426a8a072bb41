// SPDX-License-Identifier: Apache-2.0
// Rows of Spark for tests/interop/spark.py.
//
// usage: spark_rows read TABLE PATH                      prints the rows, one line of JSON each
//        spark_rows columns TABLE PATH                   prints the inferred columns, and the partition columns
//        spark_rows write TABLE FROM TO [OPTION...]      reads the rows of FROM and writes them to TO
//
// TABLE: everything, partitioned or sequence. OPTION: gzip, zlib, overwrite, append, ignore, rows_per_file=N, by=COLUMN
// (may be repeated).
#include "spark/canonical_rows.hpp"

#include <distrib/record/record_reader.hpp>
#include <distrib/spark.hpp>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

auto options_of(const std::vector<std::string>& words) -> distrib::SparkWriteOptions {
  distrib::SparkWriteOptions options;
  for (const std::string& word : words) {
    if (word == "gzip") options.compression = distrib::Compression::gzip;
    else if (word == "zlib") options.compression = distrib::Compression::zlib;
    else if (word == "overwrite") options.mode = distrib::SaveMode::overwrite;
    else if (word == "append") options.mode = distrib::SaveMode::append;
    else if (word == "ignore") options.mode = distrib::SaveMode::ignore;
    else if (word.starts_with("rows_per_file=")) options.rows_per_file = std::stoul(word.substr(14));
    else if (word.starts_with("by=")) options.partition_by.push_back(word.substr(3));
    else throw std::invalid_argument{"unknown option " + word};
  }
  return options;
}

template <class E, class... Ms>
void run(const distrib::SparkSchema<E, Ms...>& schema, distrib::SparkRecordType record_type,
         const std::vector<std::string>& words) {
  const distrib::SparkDirectory directory = distrib::list_spark_directory(words.at(2));
  if (words[0] == "columns") {
    distrib::SparkSchemaInference inference{record_type};
    for (const std::string& path : directory.paths())
      for (const distrib::Record& record : distrib::RecordReader{path}) {
        distrib::Error error;
        inference.add(record.bytes, error);
        throw_if(error);
      }
    auto columns = inference.columns();
    columns.insert(columns.end(), directory.partition_columns.begin(), directory.partition_columns.end());
    for (const auto& column : columns)
      std::printf("%s %s%s\n", column.name.c_str(), to_text(column.type).c_str(), column.nullable ? "?" : "");
    return;
  }
  distrib::SparkReader reader{directory, schema, {.record_type = record_type}};
  if (words[0] == "read") {
    for (const E& row : reader) std::printf("%s\n", canonical::line(schema, row).c_str());
    return;
  }
  auto options = options_of({words.begin() + 4, words.end()});
  options.record_type = record_type;
  distrib::SparkWriter writer{words.at(3), schema, options};
  for (const E& row : reader) writer.write(row);
  writer.commit();
}

}  // namespace

auto main(int argc, char** argv) -> int try {
  const std::vector<std::string> words{argv + 1, argv + argc};
  const std::string table = words.at(1);
  if (table == "everything") run(canonical::everything, distrib::SparkRecordType::example, words);
  else if (table == "partitioned") run(canonical::partitioned, distrib::SparkRecordType::example, words);
  else if (table == "sequence") run(canonical::sequence, distrib::SparkRecordType::sequence_example, words);
  else throw std::invalid_argument{"unknown table " + table};
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
