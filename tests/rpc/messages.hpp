// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/protowire.hpp>
#include <distrib/rpc/method.hpp>

#include <cstdint>
#include <string>

/// Messages and methods that the tests call.
namespace messages {

struct Text {
  std::string text;
  void encode(distrib::WireWriter& head) const { head.text(1, text); }
  [[nodiscard]] auto decode(distrib::ByteView head) -> bool {
    distrib::WireReader reader{head};
    while (reader.next())
      if (reader.tag() == distrib::wire_tag(1, distrib::WireType::bytes)) text = reader.text();
    return reader.ok();
  }
};

struct Bulk {
  std::uint64_t step = 0;
  distrib::SharedBuffer body;
  void encode(distrib::WireWriter& head) const { head.varint(1, step); }
  [[nodiscard]] auto decode(distrib::ByteView head) -> bool {
    distrib::WireReader reader{head};
    while (reader.next())
      if (reader.tag() == distrib::wire_tag(1, distrib::WireType::varint)) step = reader.uint64();
    return reader.ok();
  }
};

struct Echo : distrib::Method<"test.Echo", Text, Text> {};
struct Fetch : distrib::Method<"test.Fetch", Text, Bulk> {};
struct Store : distrib::Method<"test.Store", Bulk, distrib::Empty> {};
struct Count : distrib::StreamingMethod<"test.Count", Text, Bulk> {};
struct Sum : distrib::ClientStreamingMethod<"test.Sum", Bulk, Bulk> {};
struct Chat : distrib::BidirectionalMethod<"test.Chat", Text, Text> {};

}  // namespace messages
