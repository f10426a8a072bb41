// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/codec.hpp>

#include <distrib/example.pb.h>

#include "rpc/messages.hpp"
#include "rpc/stream.hpp"
#include "support/catch.hpp"

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

using distrib::ByteView;
using distrib::FrameBody;
using distrib::MessageBody;
using distrib::RpcCodec;
using distrib::RpcMessage;
using distrib::SharedBuffer;
using distrib::WireWriter;

namespace {

struct Point {
  double x = 0;
  double y = 0;
};

struct Numbered {
  std::int64_t first = 0;
  std::uint32_t second = 0;
  std::uint32_t third = 0;
};
struct Padded {
  std::int64_t first = 0;
  std::uint32_t second = 0;
};
enum class Color : std::uint8_t { red, green };

/// Encodes and decodes a value; returns what the other end gets.
template <class T>
auto round(const T& value, bool good = true) -> T {
  WireWriter head;
  const MessageBody sent = RpcCodec<T>::encode(value, head);
  T received{};
  CHECK(RpcCodec<T>::decode({head.view(), sent.body, 0}, received) == good);
  return received;
}

template <class T>
auto takes(ByteView head, const FrameBody& body = {}) -> bool {
  T value{};
  return RpcCodec<T>::decode({head, body, 0}, value);
}

}  // namespace

template <>
struct distrib::RpcCodec<Point> : distrib::PlainCodec<Point> {};

TEST_CASE("RpcCodec: which types have a codec", "[rpc]") {
  STATIC_REQUIRE(RpcMessage<messages::Text>);
  STATIC_REQUIRE(RpcMessage<messages::Bulk>);
  STATIC_REQUIRE(RpcMessage<distrib::Empty>);
  STATIC_REQUIRE(RpcMessage<Numbered>);
  STATIC_REQUIRE(RpcMessage<Point>);
  STATIC_REQUIRE(RpcMessage<Color>);
  STATIC_REQUIRE(RpcMessage<float>);
  STATIC_REQUIRE(RpcMessage<std::string>);
  STATIC_REQUIRE(RpcMessage<std::vector<std::byte>>);
  STATIC_REQUIRE(RpcMessage<SharedBuffer>);
  STATIC_REQUIRE(RpcMessage<distrib::proto::Example>);
  STATIC_REQUIRE_FALSE(RpcMessage<Padded>);  // its padding has no defined value
  STATIC_REQUIRE_FALSE(RpcMessage<int*>);
  STATIC_REQUIRE_FALSE(RpcMessage<std::string_view>);
  STATIC_REQUIRE_FALSE(RpcMessage<std::span<int>>);
  STATIC_REQUIRE_FALSE(RpcMessage<std::vector<int>>);
}

TEST_CASE("RpcCodec: messages that write themselves accept a body only if they have a member for it", "[rpc]") {
  const auto body = stream::body(8);
  messages::Bulk bulk;
  bulk.step = 7;
  bulk.body = body;
  CHECK(round(bulk).step == 7);
  CHECK(round(bulk).body == body);
  CHECK(takes<messages::Bulk>({}));
  CHECK(takes<messages::Text>({}));
  CHECK_FALSE(takes<messages::Text>({}, FrameBody{body}));
  CHECK_FALSE(takes<messages::Text>(distrib::as_bytes("\x0a")));
  CHECK(takes<distrib::Empty>({}));
}

namespace {
struct Summed {
  SharedBuffer body;
  std::uint32_t body_checksum = 0;
  void encode(WireWriter&) const {}
  auto decode(ByteView) const -> bool { return body_checksum == 17; }
};
struct Sums {
  SharedBuffer body;
  std::optional<std::uint32_t> body_checksum;
  void encode(WireWriter&) const {}
  auto decode(ByteView) const -> bool { return !body_checksum; }
};
}  // namespace

TEST_CASE("RpcCodec: a request gets the checksum of its body, a reply may provide it", "[rpc]") {
  Summed summed;
  CHECK(RpcCodec<Summed>::decode({{}, FrameBody{stream::body(3)}, 17}, summed));
  Sums sums{stream::body(3), 18};
  WireWriter head;
  CHECK(RpcCodec<Sums>::encode(sums, head).checksum == 18U);
  Sums received;
  CHECK(RpcCodec<Sums>::decode({{}, FrameBody{stream::body(3)}, 19}, received));
}

TEST_CASE("RpcCodec: plain values travel as their bytes, and other sizes are refused", "[rpc]") {
  CHECK(round(Point{1, -2}).y == -2);
  CHECK(round(Numbered{1, 2, 3}).third == 3);
  CHECK(round(Color::green) == Color::green);
  CHECK(round(std::numeric_limits<double>::max()) == std::numeric_limits<double>::max());
  CHECK_FALSE(takes<std::uint32_t>(distrib::as_bytes("abc")));
  CHECK_FALSE(takes<std::uint32_t>(distrib::as_bytes("abcde")));
  CHECK_FALSE(takes<std::uint32_t>(distrib::as_bytes("abcd"), FrameBody{stream::body(1)}));
}

TEST_CASE("RpcCodec: bytes and texts may have any length, and a shared buffer is not copied", "[rpc]") {
  for (const std::size_t size : {0U, 1U, 4096U, 100'000U}) {
    const std::string text(size, 't');
    CHECK(round(text) == text);
    const std::vector<std::byte> bytes(size, std::byte{9});
    CHECK(round(bytes) == bytes);
  }
  const auto body = stream::body(100);
  CHECK(round(body) == body);
  CHECK(round(SharedBuffer{}) == nullptr);
  CHECK_FALSE(takes<std::string>(distrib::as_bytes("head")));
  CHECK_FALSE(takes<SharedBuffer>(distrib::as_bytes("head")));
  CHECK_FALSE(takes<std::vector<std::byte>>(distrib::as_bytes("head")));
}

TEST_CASE("RpcCodec: messages of Protocol Buffers, small and large", "[rpc]") {
  for (const int values : {0, 10, 10'000}) {
    distrib::proto::Example example;
    auto& list = *(*example.mutable_features()->mutable_feature())["v"].mutable_float_list();
    for (int i = 0; i < values; ++i) list.add_value(static_cast<float>(i));
    CHECK(round(example).SerializeAsString() == example.SerializeAsString());
  }
  CHECK_FALSE(takes<distrib::proto::Example>(distrib::as_bytes("\x0a\x05")));
}

namespace {
/// Like a message of Protocol Buffers of this size, which cannot be written.
struct LargeMessage {
  std::size_t size = 0;
  std::string name = {};  // so that it is no plain value
  [[nodiscard]] auto ByteSizeLong() const -> std::size_t { return size; }
  auto SerializeToArray(void*, int) const -> bool { return false; }
  auto ParseFromArray(const void*, int) -> bool { return true; }
};
}  // namespace

TEST_CASE("RpcCodec: a message of Protocol Buffers that cannot be written is an error", "[rpc]") {
  WireWriter head;
  const auto code = [&](std::size_t size) -> std::error_code {
    try {
      (void)RpcCodec<LargeMessage>::encode({size}, head);
    } catch (const std::system_error& error) {
      return error.code();
    }
    return {};
  };
  CHECK(code(std::size_t{1} << 31) == distrib::rpc_errc::too_large);
  CHECK(code(std::size_t{1} << 62) == distrib::rpc_errc::too_large);  // more memory than there is
  CHECK(code(10) == distrib::rpc_errc::bad_message);
  CHECK(code(10'000) == distrib::rpc_errc::bad_message);
}
