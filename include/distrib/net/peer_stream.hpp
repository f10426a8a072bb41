// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connection_core.hpp>
#include <distrib/net/detail/read_some.hpp>
#include <distrib/net/detail/write_pieces.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/net/transport.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// A connection to a peer: a TCP socket, and a secure layer above it if the connection is not plain. A `TcpSocket`
/// converts to a plain stream.
///
/// Threads: one at a time.
class PeerStream {
 public:
  using executor_type = TcpSocket::executor_type;  // NOLINT: Asio's name
  using wait_type = TcpSocket::wait_type;  // NOLINT: the same
  static constexpr wait_type wait_read = TcpSocket::wait_read;
  static constexpr wait_type wait_write = TcpSocket::wait_write;

  /// A plain stream over a connected socket.
  PeerStream(TcpSocket socket) : PeerStream{std::move(socket), nullptr, Clock::now()} {}  // NOLINT: implicit on purpose
  /// `layer`: after its handshake; null: plain. `begun`: when the connection was accepted or made.
  PeerStream(TcpSocket socket, std::unique_ptr<SecureLayer> layer, Instant begun)
      : socket_{std::move(socket)}, layer_{std::move(layer)}, begun_{begun} {}

  [[nodiscard]] auto get_executor() noexcept -> executor_type { return socket_.get_executor(); }

  /// Returns the socket. Its bytes are those of the layer.
  [[nodiscard]] auto lowest_layer() noexcept -> TcpSocket& { return socket_; }
  [[nodiscard]] auto lowest_layer() const noexcept -> const TcpSocket& { return socket_; }

  /// True if there is a secure layer.
  [[nodiscard]] auto is_secure() const noexcept -> bool { return layer_ != nullptr; }

  /// Returns the bytes that identify this connection; all zeros if it is plain.
  [[nodiscard]] auto binding() const -> ChannelBinding { return layer_ ? layer_->binding() : ChannelBinding{}; }

  /// Returns when the connection was accepted or made.
  [[nodiscard]] auto begun() const noexcept -> Instant { return begun_; }

  /// Reads the bytes that have arrived, as many as fit, without waiting. The socket must be non-blocking. Sets `ec` as
  /// `SecureLayer::read`.
  auto read_some(const ReadSpace& space, std::error_code& ec) -> std::size_t {
    if (layer_ == nullptr) return detail::read_some(socket_, space, ec);
    return layer_->read(socket_.native_handle(), space.front, space.back, ec);
  }

  /// Writes the pieces as far as the socket accepts them. Sets `ec` as `SecureLayer::write`.
  auto write_some(const detail::WritePieces& pieces, std::error_code& ec) -> std::size_t {
    if (layer_ == nullptr)
      return pieces.is_one() ? socket_.write_some(*pieces.begin(), ec) : socket_.write_some(pieces, ec);
    return secure_write_some(pieces, ec);
  }

  /// Waits until something can be read or written; completes at once if the layer holds bytes to read.
  template <class Handler> void async_wait(wait_type what, Handler&& handler) {
    if (layer_ == nullptr || what != wait_read || !layer_->holds_bytes())
      return socket_.async_wait(what, std::forward<Handler>(handler));
    const auto executor = asio::get_associated_executor(handler, socket_.get_executor());
    asio::post(executor, [handler = std::forward<Handler>(handler)]() mutable { handler(std::error_code{}); });
  }

  /// Tells the peer that nothing follows, if the layer has an end of its own. Sets `ec` as `SecureLayer::end`.
  void end(std::error_code& ec) {
    ec.clear();
    if (layer_) layer_->end(socket_.native_handle(), ec);
  }

  /// Returns the stream, to continue with it on another executor; this object then has no socket.
  [[nodiscard]] auto release(const executor_type& executor) -> PeerStream {
    const auto protocol = socket_.local_endpoint().protocol();
    return {TcpSocket{executor, protocol, socket_.release()}, std::move(layer_), begun_};
  }

  // For `async_drive`.

  template <class Handler> void async_read_some(asio::mutable_buffer space, Handler&& handler) {
    if (layer_ == nullptr) return socket_.async_read_some(space, std::forward<Handler>(handler));
    transfer<true>(std::span{static_cast<std::byte*>(space.data()), space.size()}, std::forward<Handler>(handler));
  }
  template <class Handler> void async_write_some(asio::const_buffer bytes, Handler&& handler) {
    if (layer_ == nullptr) return socket_.async_write_some(bytes, std::forward<Handler>(handler));
    transfer<false>(ByteView{static_cast<const std::byte*>(bytes.data()), bytes.size()},
                    std::forward<Handler>(handler));
  }

 private:
  using Clock = std::chrono::steady_clock;

  auto secure_write_some(const detail::WritePieces& pieces, std::error_code& ec) -> std::size_t {
    std::array<ByteView, detail::WritePieces::most> views;
    std::size_t count = 0;
    for (const asio::const_buffer& piece : pieces)
      views[count++] = {static_cast<const std::byte*>(piece.data()), piece.size()};
    return layer_->write(socket_.native_handle(), std::span{views}.first(count), ec);
  }

  /// Waits for the socket, then reads or writes through the layer; repeats that if the layer had nothing for the
  /// caller.
  template <bool reads, class Bytes, class Handler> void transfer(Bytes bytes, Handler handler) {
    const auto executor = asio::get_associated_executor(handler, socket_.get_executor());
    const auto slot = asio::get_associated_cancellation_slot(handler);
    auto ready = [this, bytes, handler = std::move(handler)](const std::error_code& failed) mutable {
      std::error_code ec = failed;
      std::size_t count = 0;
      if (!ec) {
        const int socket = socket_.native_handle();
        if constexpr (reads) count = layer_->read(socket, bytes, {}, ec);
        else count = layer_->write(socket, std::span{&bytes, 1}, ec);
      }
      if (ec == asio::error::would_block && count == 0) return transfer<reads>(bytes, std::move(handler));
      if (ec == asio::error::would_block) ec.clear();
      handler(ec, count);
    };
    async_wait(reads ? wait_read : wait_write,
               asio::bind_cancellation_slot(slot, asio::bind_executor(executor, std::move(ready))));
  }

  TcpSocket socket_;
  std::unique_ptr<SecureLayer> layer_;
  Instant begun_;
};

}  // namespace v0
}  // namespace distrib
