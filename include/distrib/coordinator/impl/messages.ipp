// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/coordinator/messages.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void HelloRequest::encode(WireWriter& head) const {
  head.fixed64(1, session);
  head.varint(2, worker);
  head.varint(3, workers);
  head.text(4, functions);
}

DISTRIB_DECL auto HelloRequest::decode(ByteView head) -> bool {
  WireReader reader{head};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::fixed64): session = reader.uint64(); break;
      case wire_tag(2, WireType::varint): worker = reader.uint32(); break;
      case wire_tag(3, WireType::varint): workers = reader.uint32(); break;
      case wire_tag(4, WireType::bytes): functions = reader.text(); break;
    }
  return reader.ok();
}

DISTRIB_DECL void HelloReply::encode(WireWriter& head) const { head.fixed64(1, process); }

DISTRIB_DECL auto HelloReply::decode(ByteView head) -> bool {
  WireReader reader{head};
  while (reader.next())
    if (reader.tag() == wire_tag(1, WireType::fixed64)) process = reader.uint64();
  return reader.ok();
}

DISTRIB_DECL void RunRequest::encode(WireWriter& head) const {
  head.fixed64(1, session);
  head.fixed64(2, process);
  head.varint(3, run);
  head.fixed32(4, function);
  if (resource != 0) head.varint(5, resource);
}

DISTRIB_DECL auto RunRequest::decode(ByteView head) -> bool {
  WireReader reader{head};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::fixed64): session = reader.uint64(); break;
      case wire_tag(2, WireType::fixed64): process = reader.uint64(); break;
      case wire_tag(3, WireType::varint): run = reader.uint64(); break;
      case wire_tag(4, WireType::fixed32): function = reader.uint32(); break;
      case wire_tag(5, WireType::varint): resource = reader.uint64(); break;
    }
  return reader.ok();
}

DISTRIB_DECL void RunReply::encode(WireWriter& head) const {
  if (!error.empty()) head.bytes(1, error);
  for (const std::uint32_t ps : unreachable_ps) head.varint(2, ps);
}

DISTRIB_DECL auto RunReply::decode(ByteView head) -> bool {
  WireReader reader{head};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::bytes): error.assign(reader.bytes().begin(), reader.bytes().end()); break;
      case wire_tag(2, WireType::varint):
        if (unreachable_ps.size() == most_ps) return false;
        unreachable_ps.push_back(reader.uint32());
        break;
    }
  return reader.ok();
}

DISTRIB_DECL void StopRequest::encode(WireWriter& head) const {
  head.fixed64(1, session);
  head.varint(2, run);
}

DISTRIB_DECL auto StopRequest::decode(ByteView head) -> bool {
  WireReader reader{head};
  while (reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::fixed64): session = reader.uint64(); break;
      case wire_tag(2, WireType::varint): run = reader.uint64(); break;
    }
  return reader.ok();
}

}  // namespace v0
}  // namespace distrib
