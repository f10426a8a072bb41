// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/error.hpp>

#include "support/catch.hpp"

using distrib::checkpoint_errc;
using distrib::failure;

TEST_CASE("every checkpoint error has a text and a condition", "[checkpoint][error]") {
  const struct {
    checkpoint_errc value;
    failure kind;
  } cases[] = {
      {checkpoint_errc::not_found, failure::not_found},
      {checkpoint_errc::bad_magic, failure::corrupt},
      {checkpoint_errc::corrupt_index, failure::corrupt},
      {checkpoint_errc::corrupt_data, failure::corrupt},
      {checkpoint_errc::missing_data_file, failure::corrupt},
      {checkpoint_errc::corrupt_state, failure::corrupt},
      {checkpoint_errc::mismatch, failure::mismatch},
      {checkpoint_errc::incomplete, failure::mismatch},
      {checkpoint_errc::duplicate, failure::invalid_argument},
      {checkpoint_errc::unsupported, failure::unsupported},
      {checkpoint_errc::cannot_read, failure::io},
      {checkpoint_errc::cannot_write, failure::io},
      {checkpoint_errc::no_room, failure::exhausted},
      {checkpoint_errc::no_such_checkpoint, failure::not_found},
      {checkpoint_errc::missing_index_file, failure::corrupt},
      {checkpoint_errc::stale_state, failure::not_found},
  };
  for (const auto& c : cases) {
    const std::error_code code = c.value;
    CAPTURE(code.message());
    CHECK(code == c.kind);
    CHECK(code.message() != "unknown error");
    CHECK(std::string{code.category().name()} == "distrib.checkpoint");
  }
  CHECK(distrib::make_error_code(static_cast<checkpoint_errc>(99)).message() == "unknown error");
}
