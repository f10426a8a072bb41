// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/detail/peer_handshake.hpp>

#include <distrib/net/error.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

template <class Next> void PeerHandshake::wait(TcpSocket::wait_type what, Next next) {
  waits_to_read_ = what == TcpSocket::wait_read;
  socket_.async_wait(what, [self = shared_from_this(), next](const std::error_code&) {
    if (self->done_) next(*self);
  });
}

DISTRIB_DECL void PeerHandshake::accept(std::shared_ptr<const Transport> transport,
                                        std::shared_ptr<const ClientRules> rules, const PlainAnswer& plain,
                                        Instant deadline, Done done) {
  begin(deadline, std::move(done));
  wait(TcpSocket::wait_read, [transport = std::move(transport), rules = std::move(rules), plain](PeerHandshake& self) {
    self.look_at_first_bytes(transport, rules, plain);
  });
}

DISTRIB_DECL void PeerHandshake::connect(const Transport& transport, const std::string& host, Instant deadline,
                                         Done done) {
  begin(deadline, std::move(done));
  try {
    layer_ = transport.connect_layer(host);
  } catch (const std::system_error& thrown) {  // otherwise it would leave the context's `run()`
    return asio::post(socket_.get_executor(), [self = shared_from_this(), error = error_of(thrown)] {
      self->end({error.code, self->peer_ + " (" + error.where + ")"});
    });
  }
  wait(TcpSocket::wait_write, [](PeerHandshake& self) { self.go_on(); });
}

DISTRIB_DECL void PeerHandshake::begin(Instant deadline, Done done) {
  done_ = std::move(done);
  std::error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay{true}, ignored);
  timer_.expires_at(deadline);
  timer_.async_wait([self = shared_from_this()](const std::error_code& ec) {
    if (ec || !self->done_) return;
    const bool silent = self->layer_ == nullptr;
    self->end(silent ? Error{} : Error{net_errc::timed_out, self->peer_ + " (in the TLS handshake)"});
  });
}

DISTRIB_DECL auto PeerHandshake::waits_for_peer() noexcept -> bool {
  char byte = 0;
  return waits_to_read_ && ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 1;
}

DISTRIB_DECL void PeerHandshake::look_at_first_bytes(const std::shared_ptr<const Transport>& transport,
                                                     std::shared_ptr<const ClientRules> rules,
                                                     const PlainAnswer& plain) {
  constexpr char handshake_record = 0x16;  // the first byte of TLS
  std::array<char, 16> bytes{};
  const ::ssize_t count = ::recv(socket_.native_handle(), bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
    return wait(TcpSocket::wait_read, [=](PeerHandshake& self) { self.look_at_first_bytes(transport, rules, plain); });
  if (count <= 0) return end({});
  if (bytes[0] != handshake_record) {
    const std::string_view seen{bytes.data(), static_cast<std::size_t>(count)};
    const std::size_t compared = std::min(seen.size(), plain.begins.size());
    if (compared != 0 && seen.substr(0, compared) == std::string_view{plain.begins}.substr(0, compared))
      (void)::send(socket_.native_handle(), plain.answer.data(), plain.answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return end({net_errc::no_tls, peer_ + " (a client that does not use TLS; this server speaks TLS only)"});
  }
  try {
    layer_ = transport->accept_layer(std::move(rules));
  } catch (const std::system_error& thrown) {
    return end({thrown.code(), peer_ + " (" + error_of(thrown).where + ")"});
  }
  go_on();
}

DISTRIB_DECL void PeerHandshake::go_on() {
  Error error;
  const SecureLayer::Wait what = layer_->handshake(socket_.native_handle(), error);
  if (error) return end({error.code, peer_ + (error.where.empty() ? "" : " (" + error.where + ")")});
  if (what == SecureLayer::Wait::none) return end({});
  wait(what == SecureLayer::Wait::read ? TcpSocket::wait_read : TcpSocket::wait_write,
       [](PeerHandshake& self) { self.go_on(); });
}

DISTRIB_DECL void PeerHandshake::cancel() noexcept {
  done_ = nullptr;
  leaves_ = false;
  timer_.cancel();
  std::error_code ignored;
  socket_.close(ignored);
}

DISTRIB_DECL void PeerHandshake::end(const Error& error) {
  const auto self = shared_from_this();
  const Done done = std::exchange(done_, nullptr);
  timer_.cancel();
  if (!error && layer_) return done({}, PeerStream{std::move(socket_), std::move(layer_), begun_});
  if (error && error.code != net_errc::timed_out) leave();
  else cancel();
  done(error, std::nullopt);
}

DISTRIB_DECL void PeerHandshake::leave() {
  leaves_ = true;
  layer_.reset();
  std::error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  timer_.expires_after(std::chrono::seconds{1});
  timer_.async_wait([self = shared_from_this()](const std::error_code& ec) {
    if (!ec) self->cancel();
  });
  drop_bytes();
}

DISTRIB_DECL void PeerHandshake::drop_bytes() {
  socket_.async_wait(TcpSocket::wait_read, [self = shared_from_this()](const std::error_code&) {
    if (!self->leaves_) return;
    std::array<char, 4096> part;
    std::error_code ec;
    self->socket_.read_some(asio::buffer(part), ec);
    if (ec && ec != asio::error::would_block) self->cancel();
    else self->drop_bytes();
  });
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
