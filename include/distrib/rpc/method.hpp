// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/fixed_string.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/rpc/codec.hpp>
#include <distrib/rpc/frame.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// A request or reply without content.
struct Empty {
  /// Writes nothing.
  void encode(WireWriter&) const {}
  /// Returns true for any bytes: a newer sender may have fields that this program does not know.
  [[nodiscard]] auto decode(ByteView) const -> bool { return true; }
};

namespace detail {

template <class T> inline constexpr bool is_carried = RpcMessage<T>;

}  // namespace detail

/// A method with one request and one reply. A method is a type: `struct Push : distrib::Method<"ps.Push", PushRequest,
/// PushReply> {};`
///
/// A method that does no harm when it runs twice may declare `static constexpr bool idempotent = true;`. Then an
/// `RpcClientPool` repeats a failed call of it even if the server may have carried out the call.
template <FixedString Name, class RequestType, class ReplyType> struct Method {
  static_assert(
      detail::is_carried<RequestType> && detail::is_carried<ReplyType>,
      "distrib: Method<name, Request, Reply>: Request or Reply cannot be sent; give it void encode("
      "WireWriter&) const and bool decode(ByteView) or, if it is a struct without pointers, write template <> "
      "struct distrib::RpcCodec<It> : distrib::PlainCodec<It> {}; before the method");
  using Request = RequestType;
  using Reply = ReplyType;
  static constexpr std::string_view name = Name.view();  ///< Name of the method, as in metrics and error texts.
  static constexpr std::uint32_t id = method_id(Name.view());  ///< Identifies the method in a frame.
  static constexpr bool streams_requests = false;  ///< True: the client sends any number of requests, then an end.
  static constexpr bool streams_replies = false;  ///< True: the server sends any number of replies, then an end.
};

/// A method whose server answers one request with any number of items and then an end.
template <FixedString Name, class RequestType, class ItemType>
struct StreamingMethod : Method<Name, RequestType, ItemType> {
  static constexpr bool streams_replies = true;  ///< The server sends any number of replies, then an end.
};

/// A method whose client sends any number of items and then an end, and gets one reply.
template <FixedString Name, class ItemType, class ReplyType>
struct ClientStreamingMethod : Method<Name, ItemType, ReplyType> {
  static constexpr bool streams_requests = true;  ///< The client sends any number of requests, then an end.
};

/// A method with items in both directions. The directions are independent of each other.
template <FixedString Name, class ItemType, class ReplyItemType>
struct BidirectionalMethod : Method<Name, ItemType, ReplyItemType> {
  static constexpr bool streams_requests = true;  ///< The client sends any number of requests, then an end.
  static constexpr bool streams_replies = true;  ///< The server sends any number of replies, then an end.
};

namespace detail {

/// A type derived from `Method`, `StreamingMethod`, `ClientStreamingMethod` or `BidirectionalMethod`.
template <class M>
concept RpcMethod = RpcMessage<typename M::Request> && RpcMessage<typename M::Reply> && requires {
  { M::name } -> std::convertible_to<std::string_view>;
  { M::id } -> std::convertible_to<std::uint32_t>;
  { M::streams_requests } -> std::convertible_to<bool>;
  { M::streams_replies } -> std::convertible_to<bool>;
};

/// A method whose client or server streams.
template <class M>
concept StreamMethod = RpcMethod<M> && (M::streams_requests || M::streams_replies);

/// A method with one request and one reply.
template <class M>
concept UnaryMethod = RpcMethod<M> && !StreamMethod<M>;

template <RpcMethod M> inline constexpr bool is_idempotent = false;
template <RpcMethod M>
  requires requires { M::idempotent; }
inline constexpr bool is_idempotent<M> = M::idempotent;

}  // namespace detail

}  // namespace v0
}  // namespace distrib
