// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/net/instant.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// The memory for the next bytes that are read: first `front`, then `back`. At least one of them is not empty.
struct ReadSpace {
  std::span<std::byte> front;
  std::span<std::byte> back = {};
  bool is_large = false;  ///< True if the bytes belong to something large, so that they cause little work per byte.

  [[nodiscard]] auto size() const noexcept -> std::size_t { return front.size() + back.size(); }
};

/// The smallest memory that the owner of a core lends it for reading.
inline constexpr std::size_t least_read_bytes = std::size_t{64} << 10;

/// The logic of one end of a duplex connection, without the connection. The shell (`Connection` over a socket, the
/// simulator over its network) reports what was read, written and lost; the core answers what it wants to read, to
/// write, and when it wants to be woken. A core performs no I/O and reads no clock.
///
/// - `reads()`: true if it accepts bytes now.
/// - `read_space(lent)`: called only if `reads()`. Returns where the next bytes go: into `lent`, which has at least
///   `least_read_bytes`, or into memory of the core.
/// - `bytes_read(n, now)`: the first n > 0 bytes of that space were filled.
/// - `keep()`: called after each `bytes_read`, when the owner has taken all events. The shell takes `lent` back, so the
///   core must first copy the bytes that it still needs.
/// - `ready()`: true if the owner can take events although nothing was read and no time has passed.
/// - `output()`: the bytes to write, as a range of pieces in order; empty: nothing. They stay valid and unchanged until
///   `written`, whatever is called in between. Bytes that are added meanwhile belong to the next output.
/// - `written(now)`: all of the last `output()` was written.
/// - `wake()`: when `woken` must be called at the latest; empty: never.
/// - `woken(now)`: called at the time of `wake()`; the core does what is due at `now`. Early and repeated calls do no
///   harm.
/// - `lost(reason)`: the connection has ended: the peer closed it (empty reason), or with the system's error. It is the
///   last event, is called at most once, and never after `finished()`.
/// - `finished()`: true if nothing is left to do: the shell closes the connection when `output()` is written.
template <class C>
concept ConnectionCore = requires(C& core, const C& view, std::span<std::byte> lent, std::size_t n, Instant now,
                                  const std::error_code& reason) {
  { view.reads() } -> std::same_as<bool>;
  { core.read_space(lent) } -> std::same_as<ReadSpace>;
  core.bytes_read(n, now);
  core.keep();
  { view.ready() } -> std::same_as<bool>;
  { core.output().empty() } -> std::same_as<bool>;
  { *core.output().begin() } -> std::convertible_to<ByteView>;
  core.written(now);
  { view.wake() } -> std::same_as<std::optional<Instant>>;
  core.woken(now);
  core.lost(reason);
  { view.finished() } -> std::same_as<bool>;
};

}  // namespace v0
}  // namespace distrib
