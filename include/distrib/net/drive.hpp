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

/// The one thing that a `DriveCore` wants next.
struct DriveAction {
  enum class Kind { done, read, write };

  Kind kind = Kind::done;
  std::error_code result;      ///< done: how it ended.
  std::span<std::byte> space;  ///< read: where to.
  std::size_t at_least = 0;    ///< read: more may come, up to the size of `space`.
  ByteView bytes;              ///< write: all of these.

  [[nodiscard]] static auto done(const std::error_code& result = {}) -> DriveAction {
    return {Kind::done, result, {}, 0, {}};
  }
  /// As many bytes as arrive at once, one or more.
  [[nodiscard]] static auto read_some(std::span<std::byte> space) -> DriveAction {
    return {Kind::read, {}, space, space.empty() ? std::size_t{0} : std::size_t{1}, {}};
  }
  /// All of `space`.
  [[nodiscard]] static auto read(std::span<std::byte> space) -> DriveAction {
    return {Kind::read, {}, space, space.size(), {}};
  }
  [[nodiscard]] static auto write(ByteView bytes) -> DriveAction { return {Kind::write, {}, {}, 0, bytes}; }
};

/// An exchange of one thing after the other, without the stream: is told how the last action went and says the next.
///
/// `next(ec, count)`: first called with no error and 0, then after each action with the bytes it read or wrote and,
/// when the system failed, why. Less read than asked for and no error: the peer closed its side. What an action points
/// to stays valid until the next call. Nothing is called after `done`.
template <class C>
concept DriveCore = requires(C& core, const std::error_code& ec, std::size_t count) {
  { core.next(ec, count) } -> std::same_as<DriveAction>;
};

/// How `async_drive` completes: with what the core's `done` says.
using DriveSignature = void(std::error_code);

namespace detail {

template <class Stream, class Core> struct DriveOperation {
  Stream& stream;
  Core& core;
  bool initiating = true;
  DriveAction action = DriveAction::write({});  // nothing: what follows is the first one
  std::size_t count = 0;                        // bytes of this action until now

  template <class Self> void operator()(Self& self, std::error_code ec = {}, std::size_t more = 0) {
    // No handler is called, and no core that could end it, from within the initiating function.
    if (std::exchange(initiating, false)) return asio::post(stream.get_executor(), std::move(self));

    count += more;
    bool ended = static_cast<bool>(ec);
    if (ec == asio::error::eof) ec.clear();  // cores know no other end than a read that brought too little
    auto cancellation = self.get_cancellation_state();
    while (action.kind != DriveAction::Kind::done) {
      if (!ended && count < wanted()) {
        if (cancellation.cancelled() == asio::cancellation_type::none) break;
        ec = asio::error::operation_aborted;  // nothing was under way that could have heard of it
      }
      if (ec == asio::error::operation_aborted) cancellation.clear();  // told once; what the core wants then, it gets
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

/// Does what the core wants with the stream, until it is done. Both must live until then; nothing else may use the
/// stream meanwhile. Runs on the stream's executor and completes there, or on the token's own.
///
/// Terminal cancellation: the action that runs ends with `std::errc::operation_canceled`, which the core is told
/// like any failure, once; an unknown part of it may have been done. Where none runs, the next one ends so before it
/// begins. Closing the stream has the same effect on the action that runs.
template <class Stream, DriveCore Core, asio::completion_token_for<DriveSignature> Token>
auto async_drive(Stream& stream, Core& core, Token&& token) {
  return asio::async_compose<Token, DriveSignature>(detail::DriveOperation<Stream, Core>{stream, core}, token, stream);
}

}  // namespace v0
}  // namespace distrib
