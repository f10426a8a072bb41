// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/protowire.hpp>

#include <distrib/core/sha256.hpp>

#include "support/catch.hpp"
#include "support/hex.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using distrib::ByteView;
using distrib::to_hex;
using distrib::wire_tag;
using distrib::WireReader;
using distrib::WireType;
using distrib::WireWriter;
using support::from_hex;

TEST_CASE("varint: written and read as protobuf does", "[protowire]") {
  const struct {
    std::uint64_t value;
    const char* hex;
  } cases[] = {
      {0, "00"},
      {1, "01"},
      {127, "7f"},
      {128, "8001"},
      {300, "ac02"},
      {(1ULL << 32) - 1, "ffffffff0f"},
      {1ULL << 63, "80808080808080808001"},
      {std::numeric_limits<std::uint64_t>::max(), "ffffffffffffffffff01"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.hex);
    WireWriter writer;
    writer.raw_varint(c.value);
    CHECK(to_hex(writer.view()) == c.hex);

    ByteView rest = writer.view();
    std::uint64_t value = 99;
    REQUIRE(distrib::detail::read_varint(rest, value));
    CHECK(value == c.value);
    CHECK(rest.empty());

    for (std::size_t size = 0; size < writer.size(); ++size) {  // cut off anywhere: refused, and nothing is removed
      ByteView cut = writer.view().first(size);
      CHECK_FALSE(distrib::detail::read_varint(cut, value));
      CHECK(cut.size() == size);
    }
  }
}

TEST_CASE("varint: more than ten bytes are refused", "[protowire]") {
  const auto bytes = from_hex("8080808080808080808001");
  ByteView rest = bytes;
  std::uint64_t value = 0;
  CHECK_FALSE(distrib::detail::read_varint(rest, value));
}

TEST_CASE("WireReader: reads what WireWriter wrote", "[protowire]") {
  WireWriter writer;
  writer.varint(1, 150);
  writer.int64(2, -1);
  writer.float32(3, 0.25f);
  writer.float64(4, -2.5);
  writer.text(5, "testing");
  writer.message(6, [](WireWriter& nested) {
    nested.varint(1, 7);
    nested.message(2, [](WireWriter& empty) { static_cast<void>(empty); });
  });
  writer.fixed64(536870911, 9);  // the largest field number
  CHECK(to_hex(writer.view()) ==
        "089601"
        "10ffffffffffffffffff01"
        "1d0000803e"
        "2100000000000004c0"
        "2a0774657374696e67"
        "320408071200"
        "f9ffffff0f0900000000000000");

  WireReader reader{writer.view()};
  REQUIRE(reader.next());
  CHECK(reader.tag() == wire_tag(1, WireType::varint));
  CHECK(reader.uint64() == 150);
  REQUIRE(reader.next());
  CHECK(reader.int64() == -1);
  CHECK(reader.int32() == -1);
  CHECK(reader.boolean());
  CHECK(reader.offset() == 3);
  REQUIRE(reader.next());
  CHECK(reader.type() == WireType::fixed32);
  CHECK(reader.float32() == 0.25f);
  REQUIRE(reader.next());
  CHECK(reader.float64() == -2.5);
  REQUIRE(reader.next());
  CHECK(reader.text() == "testing");
  CHECK(reader.uint64() == 0);
  REQUIRE(reader.next());
  CHECK(reader.field() == 6);
  WireReader nested{reader.bytes()};
  REQUIRE(nested.next());
  CHECK(nested.uint32() == 7);
  REQUIRE(nested.next());
  CHECK(nested.bytes().empty());
  CHECK_FALSE(nested.next());
  CHECK(nested.ok());
  REQUIRE(reader.next());
  CHECK(reader.field() == 536870911);
  CHECK_FALSE(reader.next());
  CHECK(reader.ok());
}

TEST_CASE("WireWriter: a long nested message has a length of two bytes", "[protowire]") {
  WireWriter writer;
  writer.message(1, [](WireWriter& packed) {
    for (std::uint64_t i = 0; i < 200; ++i) packed.raw_varint(i);
  });
  WireReader reader{writer.view()};
  REQUIRE(reader.next());
  ByteView rest = reader.bytes();
  std::uint64_t value = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    REQUIRE(distrib::detail::read_varint(rest, value));
    REQUIRE(value == i);
  }
  CHECK(rest.empty());

  auto bytes = writer.take();
  CHECK(bytes.size() == 1 + 2 + 128 + 2 * 72);
  CHECK(writer.size() == 0);
}

TEST_CASE("WireReader: refuses a damaged message at the position of the damage", "[protowire]") {
  const struct {
    const char* what;
    const char* hex;
    std::size_t offset;
  } cases[] = {
      {"field number 0", "0001", 0},
      {"group start", "0b0c", 0},
      {"group end", "08010c", 2},
      {"wire type 6", "0e", 0},
      {"wire type 7", "0f", 0},
      {"tag of more than five bytes", "88808080808000", 0},
      {"length beyond the end", "080112050102", 2},
      {"length of more than five bytes", "12808080808000", 0},
      {"length 2^64 - 1", "12ffffffffffffffffff01", 0},
      {"fixed32 cut", "0d010203", 0},
      {"fixed64 cut",
       "0801"
       "0901020304050607",
       2},
      {"varint without an end", "08ffffffffffffffffffff01", 0},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    const auto bytes = from_hex(c.hex);
    WireReader reader{bytes};
    while (reader.next()) {
    }
    CHECK_FALSE(reader.ok());
    CHECK(reader.offset() == c.offset);
    CHECK_FALSE(reader.next());  // stays false
  }
}

TEST_CASE("WireReader: refuses a message that is cut off inside a field", "[protowire]") {
  WireWriter writer;
  std::vector<std::size_t> borders{0};
  writer.varint(1, 300), borders.push_back(writer.size());
  writer.fixed32(20, 1), borders.push_back(writer.size());
  writer.text(3, "abc"), borders.push_back(writer.size());
  writer.fixed64(4, 1), borders.push_back(writer.size());
  for (std::size_t size = 0; size <= writer.size(); ++size) {
    const std::vector<std::byte> cut{writer.view().begin(), writer.view().begin() + static_cast<std::ptrdiff_t>(size)};
    WireReader reader{cut};  // a separate copy, so that a sanitizer detects a read beyond the end
    while (reader.next()) {
    }
    CAPTURE(size);
    CHECK(reader.ok() == (std::find(borders.begin(), borders.end(), size) != borders.end()));
  }
}

TEST_CASE("WireReader: reads or refuses every message of two bytes without reading outside it", "[protowire]") {
  for (unsigned first = 0; first < 256; ++first)
    for (unsigned second = 0; second < 256; ++second) {
      const std::vector<std::byte> bytes{static_cast<std::byte>(first), static_cast<std::byte>(second)};
      WireReader reader{bytes};
      std::size_t fields = 0;
      while (reader.next()) ++fields;
      REQUIRE(fields <= 1);
    }
}
