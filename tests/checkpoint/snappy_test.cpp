// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/snappy.hpp>

#include "checkpoint/checkpoint_support.hpp"

#include <string>

namespace {
auto unpack(const std::string& hex, std::string& text) -> bool {
  support::Bytes out;
  const support::Bytes packed = support::from_hex(hex);
  const bool good = distrib::unpack_snappy(packed, out);
  text = distrib::as_text(out);
  return good;
}
}  // namespace

TEST_CASE("Snappy blocks are unpacked", "[checkpoint][snappy]") {
  const struct {
    const char* what;
    const char* hex;
    std::string text;
  } cases[] = {
      {"nothing", "00", ""},
      {"literal",
       "03"
       "08616263",
       "abc"},
      {"copy of 1 byte offset",
       "07"
       "08616263"
       "0103",
       "abcabca"},
      {"copy over itself",
       "09"
       "0061"
       "1101",
       "aaaaaaaaa"},
      {"copy of 2 bytes offset",
       "06"
       "08616263"
       "0a0300",
       "abcabc"},
      {"copy of 4 bytes offset",
       "06"
       "08616263"
       "0b03000000",
       "abcabc"},
      {"literal with its length in one byte",
       "03"
       "f002616263",
       "abc"},
      {"literal with its length in two bytes",
       "03"
       "f40200616263",
       "abc"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    std::string text;
    CHECK(unpack(c.hex, text));
    CHECK(text == c.text);
  }
}

TEST_CASE("damaged Snappy blocks are refused", "[checkpoint][snappy]") {
  const struct {
    const char* what;
    const char* hex;
  } cases[] = {
      {"no length", ""},
      {"length cut", "80"},
      {"a length nothing can reach",
       "ffffffff0f"
       "0061"},
      {"too short",
       "04"
       "08616263"},
      {"too long",
       "02"
       "08616263"},
      {"literal cut",
       "03"
       "086162"},
      {"length of a literal cut",
       "03"
       "f4"},
      {"copy before the start",
       "05"
       "0061"
       "0102"},
      {"copy of distance 0",
       "05"
       "0061"
       "0100"},
      {"copy beyond the size",
       "04"
       "0061"
       "0101"},
      {"offset of 1 byte cut",
       "05"
       "0061"
       "01"},
      {"offset of 2 bytes cut",
       "05"
       "0061"
       "0a01"},
      {"offset of 4 bytes cut",
       "05"
       "0061"
       "0b010000"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    std::string text;
    CHECK_FALSE(unpack(c.hex, text));
  }
}

TEST_CASE("every short block is unpacked or refused", "[checkpoint][snappy]") {
  support::Bytes out;
  for (unsigned first = 0; first < 256; ++first)
    for (unsigned second = 0; second < 256; ++second) {
      const support::Bytes packed{std::byte{5}, std::byte{0}, std::byte{'a'}, static_cast<std::byte>(first),
                                  static_cast<std::byte>(second)};
      if (distrib::unpack_snappy(packed, out)) REQUIRE(out.size() == 5);
    }
}
