// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/frame.hpp>

#include "record/files.hpp"
#include "support/catch.hpp"

#include <limits>

TEST_CASE("parse_record_header: returns the encoded length, and detects every flipped bit", "[record][frame]") {
  for (const std::uint64_t length : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{323}, std::uint64_t{1} << 40,
                                     std::numeric_limits<std::uint64_t>::max()}) {
    auto header = distrib::encode_record_header(length);
    CHECK(distrib::parse_record_header(header) == length);
    for (std::size_t bit = 0; bit < header.size() * 8; ++bit) {
      header[bit / 8] ^= std::byte{1} << (bit % 8);
      CHECK_FALSE(distrib::parse_record_header(header));
      header[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  }
}

TEST_CASE("payload_matches: detects every flipped bit", "[record][frame]") {
  std::string payload = "hello world";
  const auto footer = distrib::encode_record_footer(distrib::as_bytes(payload));
  CHECK(distrib::payload_matches(distrib::as_bytes(payload), footer));
  for (std::size_t bit = 0; bit < payload.size() * 8; ++bit) {
    payload[bit / 8] = static_cast<char>(payload[bit / 8] ^ (1 << (bit % 8)));
    CHECK_FALSE(distrib::payload_matches(distrib::as_bytes(payload), footer));
    payload[bit / 8] = static_cast<char>(payload[bit / 8] ^ (1 << (bit % 8)));
  }
  CHECK(distrib::payload_matches({}, distrib::encode_record_footer({})));
}
