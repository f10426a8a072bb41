// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/instant.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// A call, as it is told to who observes the calls of a server or a client.
struct ObservedCall {
  std::string_view peer;     ///< "192.168.0.7:40312": the other end. Valid while it is told.
  std::uint64_t id = 0;      ///< The call's, on its connection.
  std::uint32_t method = 0;  ///< `M::id`.
  Instant began{};           ///< When a server read the request; at a client, when the handler that calls began.
  Instant ended{};           ///< When a server has the answer ready to be written; when a client read it.
  std::size_t request_bytes = 0;  ///< Head and body.
  std::size_t reply_bytes = 0;    ///< The same, of all items of a stream.
};

/// Hears of every call of a server or a client, from their executor: `started(call)` when it begins (`ended` and
/// `reply_bytes` are not known yet), `ended(call, code)` when it is over; no code: it was answered well. Each call that
/// started ends once, at the latest when its connection does. Instants are those of the events that brought the bytes,
/// which many calls share: no clock is read for a call. Must not throw, and not call the server or the client.
template <class O>
concept CallObserver = requires(O& observer, const ObservedCall& call, const std::error_code& code) {
  observer.started(call);
  observer.ended(call, code);
};

namespace detail {

/// Nobody observes, and nothing is spent on it.
struct NoCallObserver {
  void started(const ObservedCall&) const noexcept {}
  void ended(const ObservedCall&, const std::error_code&) const noexcept {}
};

/// The one of those that have none.
inline constexpr NoCallObserver no_call_observer{};

}  // namespace detail

}  // namespace v0
}  // namespace distrib
