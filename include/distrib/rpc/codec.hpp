// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/frame_body.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A received message. `head` and `body` are valid while the message is decoded; a body with an owner stays valid.
struct MessageReceived {
  ByteView head;  ///< What `encode` wrote to its `head`.
  FrameBody body;  ///< What `encode` returned; empty: there was no body.
  std::uint32_t body_checksum = 0;  ///< CRC-32C of the body; it was verified.
};

/// The body of a message that is sent beside its head. A body without an owner must live until the core has copied it.
struct MessageBody {
  FrameBody body;  ///< The bytes; empty: there is no body.
  std::optional<std::uint32_t> checksum = std::nullopt;  ///< CRC-32C of the body if it is known.
};

/// Describes how values of a type travel in calls. It has
/// - `static auto encode(const T& value, WireWriter& head) -> MessageBody`: writes the head and returns the body;
/// - `static auto decode(const MessageReceived& received, T& value) -> bool`: reads a value; returns false, or throws,
///   if the bytes are not a valid message. The message comes from another process: check the range of every number
///   before it is used.
///
/// The library has a codec for each of the following; specialise it for other types:
/// - Types with `void encode(WireWriter&) const` and `bool decode(ByteView)`, which write and read the head. If the
///   type has a member `SharedBuffer body`, the body travels there without a copy, and is set before `decode` is
///   called. A request with a member `std::uint32_t body_checksum` receives the checksum of its body. A reply with a
///   member `std::optional<std::uint32_t> body_checksum` may contain the checksum, so that it is computed once for a
///   body that is sent many times.
/// - Messages of Protocol Buffers: any type with `ByteSizeLong`, `SerializeToArray` and `ParseFromArray`.
/// - Numbers, enumerations, and structs of them without padding: their bytes in memory (little endian).
/// - `std::string`, `std::vector<std::byte>`, and `SharedBuffer`. Of these only `SharedBuffer` travels without a copy.
template <class T> struct RpcCodec;

/// A codec that sends the bytes of a value as they are in memory. Both ends must have the same layout and byte order.
/// Choose it explicitly for structs with padding or with floating-point members: `template <> struct
/// distrib::RpcCodec<Point> : distrib::PlainCodec<Point> {};`
template <class T>
  requires std::is_trivially_copyable_v<T>
struct PlainCodec {
  /// Appends the bytes of `value` to `head`. Returns an empty body.
  static auto encode(const T& value, WireWriter& head) -> MessageBody {
    head.raw(detail::bytes_of(value));
    return {};
  }
  /// Copies the bytes into `value`. Returns false, and leaves `value` unchanged, if their number is not the size of
  /// `T`, or if there is a body.
  static auto decode(const MessageReceived& received, T& value) noexcept -> bool {
    if (received.head.size() != sizeof(T) || !received.body.empty()) return false;
    std::memcpy(&value, received.head.data(), sizeof(T));
    return true;
  }
};

namespace detail {

template <class T>
concept WritesItself = requires(const T& view, T& message, WireWriter& head, ByteView bytes) {
  view.encode(head);
  { message.decode(bytes) } -> std::same_as<bool>;
};

template <class T>
concept ProtobufMessage = requires(const T& view, T& message, void* to, const void* from, int size) {
  { view.ByteSizeLong() } -> std::convertible_to<std::size_t>;
  { view.SerializeToArray(to, size) } -> std::same_as<bool>;
  { message.ParseFromArray(from, size) } -> std::same_as<bool>;
};

/// A value whose bytes in memory have the same meaning at both ends, so that `PlainCodec` is its codec unless another
/// one is specialised.
template <class T>
concept PlainValue = (std::is_arithmetic_v<T> || std::is_enum_v<T> ||
                      (std::is_class_v<T> && std::is_trivially_copyable_v<T> && !std::is_empty_v<T> &&
                       std::has_unique_object_representations_v<T> && !requires(T& value) { value.data(); })) &&
                     !WritesItself<T>;

}  // namespace detail

template <detail::WritesItself T> struct RpcCodec<T> {
  static auto encode(const T& value, WireWriter& head) -> MessageBody {
    value.encode(head);
    MessageBody body;
    if constexpr (requires { value.body; }) body.body = FrameBody{value.body};
    if constexpr (requires { value.body_checksum.has_value(); }) body.checksum = value.body_checksum;
    return body;
  }
  static auto decode(const MessageReceived& received, T& value) -> bool {
    if constexpr (requires { value.body; }) value.body = received.body.share();
    else if (!received.body.empty()) return false;
    if constexpr (requires {
                    { value.body_checksum } -> std::same_as<std::uint32_t&>;
                  })
      value.body_checksum = received.body_checksum;
    return value.decode(received.head);
  }
};

template <detail::PlainValue T> struct RpcCodec<T> : PlainCodec<T> {};

/// The codec of Protocol Buffers: the message is in the head if it has up to 4 KiB, otherwise in the body. The receiver
/// parses it there, without a copy.
///
/// Errors: `encode` throws `rpc_errc::too_large` for a message of 2 GiB or more, before it takes memory; Protocol
/// Buffers cannot write it.
template <detail::ProtobufMessage T> struct RpcCodec<T> {
  static auto encode(const T& value, WireWriter& head) -> MessageBody {
    const std::size_t size = value.ByteSizeLong();
    if (size > most_bytes) throw_error(rpc_errc::too_large, "a message of Protocol Buffers of 2 GiB or more");
    if (size <= most_in_head) {
      write(value, head.extend(size));
      return {};
    }
    auto body = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(size));
    write(value, body->bytes());
    return {FrameBody{SharedBuffer{std::move(body)}}};
  }
  static auto decode(const MessageReceived& received, T& value) -> bool {
    const ByteView bytes = received.body.empty() ? received.head : received.body.bytes();
    return bytes.size() <= most_bytes && value.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  }

 private:
  static void write(const T& value, std::span<std::byte> to) {
    if (!value.SerializeToArray(to.data(), static_cast<int>(to.size())))
      throw_error(rpc_errc::bad_message, "SerializeToArray has failed");
  }

  static constexpr std::size_t most_bytes = std::numeric_limits<int>::max();
  static constexpr std::size_t most_in_head = 4 << 10;
};

template <> struct RpcCodec<SharedBuffer> {
  static auto encode(const SharedBuffer& value, WireWriter&) -> MessageBody { return {FrameBody{value}}; }
  static auto decode(const MessageReceived& received, SharedBuffer& value) -> bool {
    value = received.body.share();
    return received.head.empty();
  }
};

template <> struct RpcCodec<std::string> {
  static auto encode(const std::string& value, WireWriter&) -> MessageBody {
    return {FrameBody{as_bytes(std::string_view{value})}};
  }
  static auto decode(const MessageReceived& received, std::string& value) -> bool {
    value = as_text(received.body.bytes());
    return received.head.empty();
  }
};

template <> struct RpcCodec<std::vector<std::byte>> {
  static auto encode(const std::vector<std::byte>& value, WireWriter&) -> MessageBody {
    return {FrameBody{ByteView{value}}};
  }
  static auto decode(const MessageReceived& received, std::vector<std::byte>& value) -> bool {
    value.assign(received.body.bytes().begin(), received.body.bytes().end());
    return received.head.empty();
  }
};

/// A type that can travel in calls: it has an `RpcCodec`, a default constructor, and can be moved.
template <class T>
concept RpcMessage = std::default_initializable<T> && std::movable<T> &&
                     requires(const T& view, T& message, WireWriter& head, const MessageReceived& received) {
                       { RpcCodec<T>::encode(view, head) } -> std::same_as<MessageBody>;
                       { RpcCodec<T>::decode(received, message) } -> std::same_as<bool>;
                     };

namespace detail {

/// Reads a message; returns false if it cannot be decoded. An exception of the codec counts as false: the peer has
/// chosen the bytes that caused it.
template <RpcMessage T> [[nodiscard]] auto decode_message(const MessageReceived& received, T& value) -> bool try {
  return RpcCodec<T>::decode(received, value);
} catch (...) {
  return false;
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
