// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/instant.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// A call of a server or client, as it is reported to a `CallObserver`.
struct ObservedCall {
  std::string_view peer;  ///< The other end, for example "192.168.0.7:40312". Valid during the observer's function.
  std::uint64_t id = 0;  ///< The id of the call on its connection.
  std::uint32_t method = 0;  ///< The id of its method, `M::id`.
  Instant began{};  ///< Server: when the request was read. Client: when a deadline would begin to count.
  Instant ended{};  ///< Server: when the answer was ready to be written. Client: when the answer was read.
  std::size_t request_bytes = 0;  ///< Bytes of the request: head and body; without metadata and streamed items.
  std::size_t reply_bytes = 0;  ///< Bytes of the reply, or of all items of a stream: heads and bodies.
};

/// Observes every call of a server or client, on its executor.
/// - `started(call)` is called when a call begins; its `ended` and `reply_bytes` are not known yet.
/// - `ended(call, code)` is called when the call is over; an empty code means that it was answered without an error.
///
/// Each call that started ends exactly once, at the latest when its connection ends. The clock is read per event on a
/// connection, not per call, so many calls share an instant. The functions must not throw, and must not call the server
/// or client.
template <class O>
concept CallObserver = requires(O& observer, const ObservedCall& call, const std::error_code& code) {
  observer.started(call);
  observer.ended(call, code);
};

namespace detail {

/// The default observer: nothing is observed, and it costs nothing.
struct NoCallObserver {
  void started(const ObservedCall&) const noexcept {}
  void ended(const ObservedCall&, const std::error_code&) const noexcept {}
};

/// The observer of servers and clients that have no other observer.
inline constexpr NoCallObserver no_call_observer{};

}  // namespace detail

}  // namespace v0
}  // namespace distrib
