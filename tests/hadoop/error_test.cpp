// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/error.hpp>

#include "support/catch.hpp"

#include <iterator>
#include <string>

using distrib::failure;
using distrib::hadoop_errc;

TEST_CASE("hadoop_errc: each has a text and a shared condition", "[hadoop][error]") {
  struct Row {
    hadoop_errc value;
    failure condition;
  };
  const Row rows[] = {
      {hadoop_errc::not_a_task, failure::invalid_argument},
      {hadoop_errc::bad_port, failure::invalid_argument},
      {hadoop_errc::bad_secret, failure::invalid_argument},
      {hadoop_errc::wrong_digest, failure::mismatch},
      {hadoop_errc::unknown_digest, failure::unsupported},
      {hadoop_errc::unauthenticated, failure::mismatch},
      {hadoop_errc::unknown_version, failure::unsupported},
      {hadoop_errc::unknown_message, failure::corrupt},
      {hadoop_errc::unexpected_message, failure::corrupt},
      {hadoop_errc::bad_number, failure::corrupt},
      {hadoop_errc::too_large, failure::exhausted},
      {hadoop_errc::truncated, failure::corrupt},
      {hadoop_errc::aborted, failure::cancelled},
      {hadoop_errc::bad_setting, failure::invalid_argument},
      {hadoop_errc::bad_split, failure::invalid_argument},
      {hadoop_errc::no_record_reader, failure::invalid_argument},
      {hadoop_errc::no_record_writer, failure::invalid_argument},
      {hadoop_errc::no_reducer, failure::invalid_argument},
      {hadoop_errc::bad_partition, failure::invalid_argument},
      {hadoop_errc::unsupported_path, failure::unsupported},
      {hadoop_errc::bad_type, failure::corrupt},
  };
  for (const Row& row : rows) {
    const std::error_code ec = row.value;
    CAPTURE(ec.message());
    CHECK(ec == row.condition);
    CHECK(ec.message() != "unknown error");
    CHECK(std::string{ec.category().name()} == "distrib.hadoop");
  }
  CHECK(std::size(rows) == static_cast<std::size_t>(hadoop_errc::bad_type));
}
