// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/error.hpp>

#include "support/catch.hpp"

using distrib::failure;
using distrib::record_errc;

TEST_CASE("record_errc: each has a text and a shared condition", "[record][error]") {
  struct Row {
    record_errc value;
    failure condition;
  };
  const Row rows[] = {
      {record_errc::corrupt_length, failure::corrupt},
      {record_errc::corrupt_payload, failure::corrupt},
      {record_errc::truncated_header, failure::corrupt},
      {record_errc::truncated_payload, failure::corrupt},
      {record_errc::too_large, failure::exhausted},
      {record_errc::corrupt_compression, failure::corrupt},
      {record_errc::truncated_compression, failure::corrupt},
      {record_errc::compressed, failure::unsupported},
      {record_errc::not_regular, failure::unsupported},
      {record_errc::bad_level, failure::invalid_argument},
      {record_errc::no_such_record, failure::not_found},
      {record_errc::closed, failure::invalid_argument},
      {record_errc::too_much_damage, failure::corrupt},
      {record_errc::unknown_compression, failure::invalid_argument},
      {record_errc::bad_deflate_option, failure::invalid_argument},
      {record_errc::no_such_shard, failure::invalid_argument},
      {record_errc::bad_index, failure::mismatch},
      {record_errc::bad_split, failure::invalid_argument},
      {record_errc::uncertain_split, failure::unsupported},
      {record_errc::no_object_store, failure::unsupported},
  };
  for (const Row& row : rows) {
    const std::error_code ec = row.value;
    CAPTURE(ec.message());
    CHECK(ec == row.condition);
    CHECK(ec.message() != "unknown error");
    CHECK(std::string{ec.category().name()} == "distrib.record");
  }
  CHECK(std::size(rows) == static_cast<std::size_t>(record_errc::no_object_store));
}
