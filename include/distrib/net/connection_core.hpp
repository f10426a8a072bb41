// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <system_error>

namespace distrib::inline v0 {

/// Time as cores know it: handed in with each event, only ever compared and added to.
using Instant = std::chrono::steady_clock::time_point;

/// One end of a duplex connection, without the connection: is told what was read, written and lost, and says what it
/// wants read, written and when it wants to be woken. It performs no I/O and reads no clock. `Connection` runs it over
/// a socket, the simulator over its network.
///
/// - `read_space()`: where the next bytes are to go; empty: read nothing now. Stays valid until `bytes_read`.
/// - `bytes_read(n, now)`: the first n > 0 bytes of that space were filled.
/// - `output()`: what is to be written, in order; empty: nothing. Stays valid and unchanged until `written`, whatever
///   else is called in between; what comes up meanwhile is in the next one.
/// - `written(now)`: all of the last `output()` was written.
/// - `wake()`: when `woken` is to be called at the latest; empty: never. Early and repeated calls do no harm.
/// - `lost(reason)`: there is no connection any more: the peer closed it (no reason), or what the system says. The last
///   event; called once, not after `finished()`.
/// - `finished()`: nothing is left to do: close when `output()` is written.
template <class C>
concept ConnectionCore = requires(C& core, const C& view, std::size_t n, Instant now, const std::error_code& reason) {
  { core.read_space() } -> std::same_as<std::span<std::byte>>;
  core.bytes_read(n, now);
  { core.output() } -> std::convertible_to<std::span<const ByteView>>;
  core.written(now);
  { view.wake() } -> std::same_as<std::optional<Instant>>;
  core.woken(now);
  core.lost(reason);
  { view.finished() } -> std::same_as<bool>;
};

}  // namespace distrib::inline v0
