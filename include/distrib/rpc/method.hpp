// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/fixed_string.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/rpc/frame.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>
#include <utility>

namespace distrib::inline v0 {

/// What a call carries: a value with a head that it writes and reads itself, and, if it has a member `SharedBuffer
/// body`, bulk beside it that is never copied and is there when `decode` is called. `decode` gives false when the head
/// is not one of its own; whatever it reads is a stranger's, so it bounds every number before it uses it.
///
/// A request with a member `std::uint32_t body_checksum` is told the body's CRC-32C, which was verified; a reply with
/// `std::optional<std::uint32_t> body_checksum` may bring it, so that a body that many ask for is summed up once.
template <class T>
concept RpcMessage = std::default_initializable<T> && std::movable<T> &&
                     requires(const T& view, T& message, WireWriter& head, ByteView bytes) {
                       view.encode(head);
                       { message.decode(bytes) } -> std::same_as<bool>;
                     };

/// A call without content, or an answer that says no more than that it is one.
struct Empty {
  void encode(WireWriter&) const {}
  [[nodiscard]] auto decode(ByteView) const -> bool { return true; }
};

/// A call with one answer. A method is a type: `struct Push : distrib::Method<"ps.Push", PushRequest, PushReply> {};`
template <FixedString Name, RpcMessage RequestType, RpcMessage ReplyType>
struct Method {
  using Request = RequestType;
  using Reply = ReplyType;
  static constexpr std::string_view name = Name.view();
  static constexpr std::uint32_t id = method_id(Name.view());  ///< What stands for it in a frame.
  static constexpr bool streaming = false;
};

/// A call that is answered by any number of items and then an end.
template <FixedString Name, RpcMessage RequestType, RpcMessage ItemType>
struct StreamingMethod {
  using Request = RequestType;
  using Reply = ItemType;
  static constexpr std::string_view name = Name.view();
  static constexpr std::uint32_t id = method_id(Name.view());
  static constexpr bool streaming = true;
};

/// A type derived from `Method` or `StreamingMethod`.
template <class M>
concept RpcMethod = RpcMessage<typename M::Request> && RpcMessage<typename M::Reply> && requires {
  { M::name } -> std::convertible_to<std::string_view>;
  { M::id } -> std::convertible_to<std::uint32_t>;
  { M::streaming } -> std::convertible_to<bool>;
};

namespace detail {

template <class T>
auto body_of(const T& message) -> SharedBuffer {
  if constexpr (requires { message.body; })
    return message.body;
  else
    return nullptr;
}

/// Fills `message`; false: it does not decode, or there is a body where none belongs.
template <class T>
auto decode_message(ByteView head, const SharedBuffer& body, T& message) -> bool {
  if constexpr (requires { message.body; })
    message.body = body;
  else if (body != nullptr)
    return false;
  return message.decode(head);
}

}  // namespace detail

}  // namespace distrib::inline v0
