// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/error.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/net/tls/tls.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Ends a TCP connection so that the peer gets the last bytes that were written: reads until the peer ends too, for at
/// most 1 s. If the connection were closed with unread bytes, TCP would reset it, and the peer might not get the
/// reason.
class PoliteEnd : public std::enable_shared_from_this<PoliteEnd> {
 public:
  explicit PoliteEnd(TcpSocket socket) : socket_{std::move(socket)}, timer_{socket_.get_executor()} {}

  void start() {
    std::error_code ignored;
    socket_.shutdown(asio::socket_base::shutdown_send, ignored);
    timer_.expires_after(std::chrono::seconds{1});
    timer_.async_wait([self = shared_from_this()](const std::error_code&) {
      std::error_code closed;
      self->socket_.close(closed);
    });
    read();
  }

 private:
  void read() {
    socket_.async_read_some(asio::buffer(part_), [self = shared_from_this()](const std::error_code& ec, std::size_t) {
      ec ? static_cast<void>(self->timer_.cancel()) : self->read();
    });
  }

  TcpSocket socket_;
  SteadyTimer timer_;
  std::array<char, 4096> part_{};
};

/// One TLS handshake with a deadline. Its handlers keep it alive.
///
/// Threads: only the executor's thread.
class TlsHandshake : public std::enable_shared_from_this<TlsHandshake> {
 public:
  /// The callback: with the stream, or with an error.
  using Done = std::function<void(const Error&, std::optional<TlsStream>)>;

  /// `peer`: a name of the peer, used as the place of errors.
  TlsHandshake(TlsStream stream, std::string peer)
      : stream_{std::move(stream)}, peer_{std::move(peer)}, timer_{stream_.get_executor()} {}

  /// Starts the handshake. Calls `done` once, never inside this function; not after `cancel`. If the deadline passes
  /// first, the error is `net_errc::timed_out`.
  void start(TlsSide side, Instant deadline, Done done) {
    done_ = std::move(done);
    timer_.expires_at(deadline);
    timer_.async_wait([self = shared_from_this()](const std::error_code& ec) {
      if (!ec) self->end({net_errc::timed_out, self->peer_ + " (in the TLS handshake)"});
    });
    stream_.async_handshake(side == TlsSide::client ? asio::ssl::stream_base::client : asio::ssl::stream_base::server,
                            [self = shared_from_this()](const std::error_code& ec) {
                              self->end(ec ? tls_error(ec, self->stream_, self->peer_) : Error{});
                            });
  }

  /// Ends the handshake. `done` is not called any more.
  void cancel() noexcept {
    done_ = nullptr;
    timer_.cancel();
    std::error_code ignored;
    stream_.lowest_layer().close(ignored);
  }

 private:
  void end(const Error& error) {
    const Done done = std::exchange(done_, nullptr);
    if (!done) return;
    timer_.cancel();
    if (!error) return done(error, std::move(stream_));
    if (error.code == net_errc::timed_out) {
      std::error_code ignored;  // the handler of the handshake still runs, and does nothing
      stream_.lowest_layer().close(ignored);
    } else {
      std::make_shared<PoliteEnd>(std::move(stream_.next_layer()))->start();
    }
    done(error, std::nullopt);
  }

  TlsStream stream_;
  std::string peer_;
  SteadyTimer timer_;
  Done done_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
