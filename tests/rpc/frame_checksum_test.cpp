// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/frame_checksum.hpp>

#include "support/catch.hpp"

#include <distrib/core/bytes.hpp>

#include <cstdint>
#include <string_view>

using distrib::FrameChecksum;

TEST_CASE("FrameChecksum: CRC-32C, computed at once or in pieces", "[rpc]") {
  const distrib::ByteView bytes = distrib::as_bytes(std::string_view{"123456789"});
  const std::uint32_t check = 0xE3069283;  // the check value of CRC-32C (RFC 3720, Castagnoli)
  CHECK(FrameChecksum<void>::of(bytes) == check);
  CHECK(FrameChecksum<void>::extend(FrameChecksum<void>::of(bytes.first(4)), bytes.subspan(4)) == check);
}
