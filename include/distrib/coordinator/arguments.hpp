// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/coordinator/error.hpp>
#include <distrib/coordinator/function.hpp>
#include <distrib/coordinator/remote_value.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/rpc/codec.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

// How arguments and results travel: for each of them the bytes of its head and of its body (`RpcCodec`), each after its
// length as a varint; a vector of plain values is a body. A per-worker value travels as its number, a varint.

template <RpcMessage V> void encode_message(const V& value, WireWriter& to) {
  WireWriter head;
  const MessageBody body = RpcCodec<V>::encode(value, head);
  to.raw_varint(head.size());
  to.raw(head.view());
  to.raw_varint(body.body.bytes().size());
  to.raw(body.body.bytes());
}

template <class V> void encode_value(const V& value, WireWriter& to) {
  if constexpr (is_plain_vector<V>) {
    const ByteView elements = std::as_bytes(std::span{value});
    to.raw_varint(0);
    to.raw_varint(elements.size());
    return to.raw(elements);
  } else {
    encode_message(value, to);
  }
}

/// Takes the bytes that follow their length from the front of `rest`; returns false if they are not all there.
[[nodiscard]] inline auto take_bytes(ByteView& rest, ByteView& taken) -> bool {
  std::uint64_t size = 0;
  if (!read_varint(rest, size) || size > rest.size()) return false;
  taken = rest.first(static_cast<std::size_t>(size));
  rest = rest.subspan(taken.size());
  return true;
}

template <class V> [[nodiscard]] auto decode_value(ByteView& rest, V& value) -> bool {
  ByteView head, body;
  if (!take_bytes(rest, head) || !take_bytes(rest, body)) return false;
  if constexpr (is_plain_vector<V>) {
    if (!head.empty() || body.size() % sizeof(typename V::value_type) != 0) return false;
    value.resize(body.size() / sizeof(typename V::value_type));
    if (!value.empty()) std::memcpy(value.data(), body.data(), body.size());
    return true;
  } else {
    return decode_message(MessageReceived{head, FrameBody{body}, 0}, value);
  }
}

template <class> inline constexpr bool is_per_worker_values = false;
template <class T> inline constexpr bool is_per_worker_values<PerWorkerValues<T>> = true;
template <class> inline constexpr bool is_remote_value = false;
template <class T> inline constexpr bool is_remote_value<RemoteValue<T>> = true;

/// True if an argument of type `A` may be given for the parameter `P` of a function.
template <class P, class A> constexpr auto fits_parameter() -> bool {
  using Given = std::remove_cvref_t<A>;
  using V = std::remove_cvref_t<P>;
  if constexpr (is_resource<P>) return std::is_same_v<Given, PerWorker<V>>;
  else if constexpr (is_per_worker_values<Given>)
    return std::is_convertible_v<const typename decltype(Given::values)::value_type&, V>;
  else return std::is_convertible_v<A, V>;
}
template <class, class...> inline constexpr bool fit_parameters = false;
template <class... Ps, class... As>
  requires(sizeof...(Ps) == sizeof...(As))
inline constexpr bool fit_parameters<std::tuple<Ps...>, As...> = (fits_parameter<Ps, As>() && ...);

template <class P, class A> void encode_argument(const A& given, std::size_t worker, WireWriter& to) {
  using V = std::remove_cvref_t<P>;
  if constexpr (is_resource<P>) to.raw_varint(given.number());
  else if constexpr (is_per_worker_values<A>) encode_value<V>(V(given.values[worker]), to);
  else if constexpr (std::is_same_v<V, A>) encode_value<V>(given, to);
  else encode_value<V>(V(given), to);
}

/// The encoded arguments of a closure: one entry for all workers, or one for each.
using EncodedArguments = std::vector<SharedBuffer>;

/// Encodes the arguments for the parameters `Ps`. Throws `coordinator_errc::no_workers` if a `PerWorkerValues` does not
/// have `workers` values, and `too_large` if they need more than `most_bytes`.
template <class... Ps, class... As>
[[nodiscard]] auto encode_arguments(const std::tuple<Ps...>*, std::string_view function, std::size_t workers,
                                    std::size_t most_bytes, const As&... given) -> EncodedArguments {
  constexpr bool differs = (is_per_worker_values<As> || ...);
  [[maybe_unused]] const auto check = [&](const auto& argument) {
    if constexpr (is_per_worker_values<std::remove_cvref_t<decltype(argument)>>)
      if (argument.values.size() != workers)
        throw_error(coordinator_errc::no_workers, std::string{function} + ": PerWorkerValues has " +
                                                      std::to_string(argument.values.size()) + " values for " +
                                                      std::to_string(workers) + " workers");
  };
  (check(given), ...);
  EncodedArguments encoded;
  WireWriter writer;
  for (std::size_t worker = 0; worker < (differs ? workers : 1); ++worker) {
    writer.clear();
    (encode_argument<Ps>(given, worker, writer), ...);
    if (writer.size() > most_bytes)
      throw_error(coordinator_errc::too_large, std::string{function} + ": " + std::to_string(writer.size()) +
                                                   " bytes of arguments, allowed are " + std::to_string(most_bytes));
    auto bytes = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(writer.size()));
    if (writer.size() != 0) std::memcpy(bytes->data(), writer.view().data(), writer.size());
    encoded.push_back(std::move(bytes));
  }
  return encoded;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
