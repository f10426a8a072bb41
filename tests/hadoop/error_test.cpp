// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/error.hpp>

#include "support/catch.hpp"

#include <iterator>
#include <string>

using distrib::hadoop_errc;

TEST_CASE("hadoop_errc: every member has a text and a condition", "[hadoop][error]") {
  struct Row {
    hadoop_errc value;
    distrib::failure condition;
  };
  const Row rows[] = {
      {hadoop_errc::not_a_task, distrib::failure::invalid_argument},
      {hadoop_errc::bad_port, distrib::failure::invalid_argument},
      {hadoop_errc::bad_secret, distrib::failure::invalid_argument},
      {hadoop_errc::wrong_digest, distrib::failure::mismatch},
      {hadoop_errc::unknown_digest, distrib::failure::unsupported},
      {hadoop_errc::unauthenticated, distrib::failure::mismatch},
      {hadoop_errc::unknown_version, distrib::failure::unsupported},
      {hadoop_errc::unknown_message, distrib::failure::corrupt},
      {hadoop_errc::unexpected_message, distrib::failure::corrupt},
      {hadoop_errc::bad_number, distrib::failure::corrupt},
      {hadoop_errc::too_large, distrib::failure::exhausted},
      {hadoop_errc::truncated, distrib::failure::corrupt},
      {hadoop_errc::aborted, distrib::failure::cancelled},
      {hadoop_errc::bad_setting, distrib::failure::invalid_argument},
      {hadoop_errc::bad_split, distrib::failure::invalid_argument},
      {hadoop_errc::no_record_reader, distrib::failure::invalid_argument},
      {hadoop_errc::no_record_writer, distrib::failure::invalid_argument},
      {hadoop_errc::no_reducer, distrib::failure::invalid_argument},
      {hadoop_errc::bad_partition, distrib::failure::invalid_argument},
      {hadoop_errc::unsupported_path, distrib::failure::unsupported},
      {hadoop_errc::bad_type, distrib::failure::corrupt},
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
