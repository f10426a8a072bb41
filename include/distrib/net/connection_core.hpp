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

/// Where the next bytes are to go: into `front` first, what is left into `back`. At least one has room.
struct ReadSpace {
  std::span<std::byte> front;
  std::span<std::byte> back = {};
  bool is_large = false;  ///< They are of something large: there is little work for each byte.

  [[nodiscard]] auto size() const noexcept -> std::size_t { return front.size() + back.size(); }
};

/// The least memory that a shell lends a core to read into.
inline constexpr std::size_t least_read_bytes = std::size_t{64} << 10;

/// One end of a duplex connection, without the connection: is told what was read, written and lost, and says what it
/// wants read, written and when it wants to be woken. It performs no I/O and reads no clock. `Connection` runs it over
/// a socket, the simulator over its network.
///
/// - `reads()`: whether it takes bytes now.
/// - `read_space(lent)`: called when it does: where the next bytes are to go, which may be `lent`, at least
///   `least_read_bytes`, or memory of the core's own.
/// - `bytes_read(n, now)`: the first n > 0 bytes of that space were filled.
/// - `keep()`: after each `bytes_read`, when the owner has taken what there was: `lent` goes back, and the core keeps
///   elsewhere what it still needs of it.
/// - `ready()`: whether the owner could take something although nothing was read or woken.
/// - `output()`: what is to be written, a range of pieces in order; empty: nothing. Stays valid and unchanged until
///   `written`, whatever else is called in between; what comes up meanwhile is in the next one.
/// - `written(now)`: all of the last `output()` was written.
/// - `wake()`: when `woken` is to be called at the latest; empty: never. Early and repeated calls do no harm.
/// - `lost(reason)`: there is no connection any more: the peer closed it (no reason), or what the system says. The last
///   event; called once, not after `finished()`.
/// - `finished()`: nothing is left to do: close when `output()` is written.
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
