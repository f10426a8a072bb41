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

namespace distrib::inline v0 {

/// A call without content, or an answer that says no more than that it is one.
struct Empty {
  void encode(WireWriter&) const {}
  [[nodiscard]] auto decode(ByteView) const -> bool { return true; }
};

/// A call with one answer. A method is a type: `struct Push : distrib::Method<"ps.Push", PushRequest, PushReply> {};`
/// One that does no harm when it is carried out twice may say `static constexpr bool idempotent = true;`: then an
/// `RpcClientPool` repeats it also where it may have been carried out already.
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

template <RpcMethod M>
inline constexpr bool is_idempotent = false;
template <RpcMethod M>
  requires requires { M::idempotent; }
inline constexpr bool is_idempotent<M> = M::idempotent;

}  // namespace detail

}  // namespace distrib::inline v0
