// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/greeting.hpp>

#include <distrib/core/protowire.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto Greeting::encode() const -> std::vector<std::byte> {
  WireWriter head;
  head.varint(1, version);
  head.varint(2, oldest);
  head.varint(3, limits.head_bytes);
  head.varint(4, limits.body_bytes);
  head.varint(5, max_calls);
  if (service != any_service) head.varint(6, service);
  if (nonce) head.bytes(7, *nonce);
  if (proof) head.bytes(8, *proof);
  return head.take();
}

DISTRIB_DECL auto Greeting::decode(ByteView head) noexcept -> bool {
  *this = {};
  version = oldest = 0;
  WireReader reader{head};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::varint): version = up_to_255(reader.uint64()); break;
      case wire_tag(2, WireType::varint): oldest = up_to_255(reader.uint64()); break;
      case wire_tag(3, WireType::varint): limits.head_bytes = reader.uint32(); break;
      case wire_tag(4, WireType::varint): limits.body_bytes = reader.uint32(); break;
      case wire_tag(5, WireType::varint): max_calls = reader.uint32(); break;
      case wire_tag(6, WireType::varint): service = reader.uint32(); break;
      case wire_tag(7, WireType::bytes):
        if (!take(reader.bytes(), nonce)) return false;
        break;
      case wire_tag(8, WireType::bytes):
        if (!take(reader.bytes(), proof)) return false;
        break;
    }
  return reader.ok() && version != 0 && oldest != 0 && oldest <= version;
}

}  // namespace v0
}  // namespace distrib
