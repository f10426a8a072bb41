// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/frame.hpp>

#include <distrib/core/sha256.hpp>

#include "support/catch.hpp"

using distrib::FrameHeader;
using distrib::FrameKind;
using distrib::rpc_errc;

namespace {

const FrameHeader push{FrameKind::request, 0x0102, distrib::method_id("ps.Push"), 300, (7ULL << 32) | 5, 1 << 20};

/// Changes one byte of a header, corrects the checksum, and returns the result of parsing it.
auto parsed_with(std::size_t offset, std::uint8_t value) -> rpc_errc {
  auto bytes = distrib::encode_frame_header(push);
  bytes[offset] = std::byte{value};
  distrib::store_le(bytes.data() + 28, distrib::crc32c(distrib::ByteView{bytes}.first(28)));
  FrameHeader header;
  const rpc_errc wrong = distrib::parse_frame_header(bytes.data(), header);
  if (wrong != rpc_errc{}) CHECK(header == FrameHeader{});
  return wrong;
}

}  // namespace

TEST_CASE("method_id: FNV-1a of the name", "[rpc][frame]") {
  STATIC_REQUIRE(distrib::method_id("") == 0x811c9dc5);
  STATIC_REQUIRE(distrib::method_id("a") == 0xe40c292c);
  STATIC_REQUIRE(distrib::method_id("foobar") == 0xbf9cf968);
}

TEST_CASE("FrameHeader: encoded byte by byte as the wire format says", "[rpc][frame]") {
  const FrameHeader header{FrameKind::reply, 0x0102, 0x03040506, 0x0708, 0x1112131415161718, 0x0a};
  const auto bytes = distrib::encode_frame_header(header);
  CHECK(distrib::to_hex(distrib::ByteView{bytes}.first(28)) ==
        "44535442"          // magic: DSTB
        "01"
        "03"
        "0201"    // version, kind, flags
        "06050403"          // method
        "08070000"          // head length
        "1817161514131211"  // call id
        "0a000000");        // body length
  CHECK(distrib::load_le<std::uint32_t>(bytes.data() + 28) == distrib::crc32c(distrib::ByteView{bytes}.first(28)));
}

TEST_CASE("FrameHeader: read back, and a change of any byte is found", "[rpc][frame]") {
  auto bytes = distrib::encode_frame_header(push);
  FrameHeader header;
  CHECK(distrib::parse_frame_header(bytes.data(), header) == rpc_errc{});
  CHECK(header == push);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto damaged = bytes;
    damaged[i] ^= std::byte{0x10};
    CAPTURE(i);
    CHECK(distrib::parse_frame_header(damaged.data(), header) == (i < 4 ? rpc_errc::not_ours : rpc_errc::corrupt));
  }
}

TEST_CASE("FrameHeader: unknown versions and kinds are refused", "[rpc][frame]") {
  CHECK(parsed_with(4, 0) == rpc_errc::unsupported_version);
  CHECK(parsed_with(4, distrib::rpc_version + 1) == rpc_errc::unsupported_version);
  CHECK(parsed_with(5, 0) == rpc_errc::protocol);
  CHECK(parsed_with(5, 12) == rpc_errc::protocol);
  CHECK(parsed_with(5, 11) == rpc_errc{});
}
