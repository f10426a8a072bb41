// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/net/asio.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// The action that a `DriveCore` wants next.
struct DriveAction {
  enum class Kind { done, read, write };

  Kind kind = Kind::done;
  std::error_code result;      ///< done: the result of the whole exchange.
  std::span<std::byte> space;  ///< read: the memory for the bytes.
  std::size_t at_least = 0;    ///< read: how many bytes to wait for; up to the size of `space` may be read.
  ByteView bytes;              ///< write: the bytes; all of them are written.

  /// Ends the exchange with this result.
  [[nodiscard]] static auto done(const std::error_code& result = {}) -> DriveAction {
    return {Kind::done, result, {}, 0, {}};
  }
  /// Reads the bytes that are available, at least one. Without space it reads nothing.
  [[nodiscard]] static auto read_some(std::span<std::byte> space) -> DriveAction {
    return {Kind::read, {}, space, space.empty() ? std::size_t{0} : std::size_t{1}, {}};
  }
  /// Reads until `space` is full.
  [[nodiscard]] static auto read(std::span<std::byte> space) -> DriveAction {
    return {Kind::read, {}, space, space.size(), {}};
  }
  /// Writes all of `bytes`.
  [[nodiscard]] static auto write(ByteView bytes) -> DriveAction { return {Kind::write, {}, {}, 0, bytes}; }
};

/// The logic of an exchange with one action after another, without the stream: it gets the result of the last action
/// and returns the next action.
///
/// `next(ec, count)` is called first with no error and 0, then after each action with the number of bytes that were
/// read or written, and with the system's error if the action failed. Fewer bytes read than wanted and no error means
/// that the peer has closed its side. What an action points to must stay valid until the next call. `next` is not
/// called after `done`.
template <class C>
concept DriveCore = requires(C& core, const std::error_code& ec, std::size_t count) {
  { core.next(ec, count) } -> std::same_as<DriveAction>;
};

/// The completion of `async_drive`: with the result of the core's `done`.
using DriveSignature = void(std::error_code);

namespace detail {

template <class Stream, class Core> struct DriveOperation {
  Stream& stream;
  Core& core;
  bool initiating = true;
  DriveAction action = DriveAction::write({});  // writes nothing: the core's first action follows
  std::size_t count = 0;                        // bytes of this action so far

  template <class Self> void operator()(Self& self, std::error_code ec = {}, std::size_t more = 0) {
    // Neither a handler nor the core is called inside the initiating function.
    if (std::exchange(initiating, false)) return asio::post(stream.get_executor(), std::move(self));

    count += more;
    bool ended = static_cast<bool>(ec);
    if (ec == asio::error::eof) ec.clear();  // a core sees the end as a read of too few bytes
    auto cancellation = self.get_cancellation_state();
    while (action.kind != DriveAction::Kind::done) {
      if (!ended && count < wanted()) {
        if (cancellation.cancelled() == asio::cancellation_type::none) break;
        ec = asio::error::operation_aborted;  // no action was under way that the cancellation could have ended
      }
      // The core gets the cancellation once; the actions that it wants afterwards are performed.
      if (ec == asio::error::operation_aborted) cancellation.clear();
      action = core.next(without_asio(ec), count);
      count = 0;
      ended = false;
      ec.clear();
    }

    if (action.kind == DriveAction::Kind::done) return self.complete(action.result);
    if (action.kind == DriveAction::Kind::read) {
      const auto space = action.space.subspan(count);
      stream.async_read_some(asio::mutable_buffer{space.data(), space.size()}, std::move(self));
    } else {
      const auto bytes = action.bytes.subspan(count);
      stream.async_write_some(asio::const_buffer{bytes.data(), bytes.size()}, std::move(self));
    }
  }

  [[nodiscard]] auto wanted() const noexcept -> std::size_t {
    return action.kind == DriveAction::Kind::read ? action.at_least : action.bytes.size();
  }
};

}  // namespace detail

/// Performs the core's actions on the stream until the core is done. Core and stream must live until then, and no other
/// operation may use the stream meanwhile. Runs on the stream's executor, and completes there or on the token's own
/// executor.
///
/// Cancellation: terminal. The action that runs ends with `std::errc::operation_canceled`, and an unknown part of it
/// may have been done; if no action runs, the next action ends with this error before it begins. The core gets this
/// error once, like any other error. Closing the stream also ends the action that runs with this error.
template <class Stream, DriveCore Core, asio::completion_token_for<DriveSignature> Token>
auto async_drive(Stream& stream, Core& core, Token&& token) {
  return asio::async_compose<Token, DriveSignature>(detail::DriveOperation<Stream, Core>{stream, core}, token, stream);
}

}  // namespace v0
}  // namespace distrib
