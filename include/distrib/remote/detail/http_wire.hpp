// SPDX-License-Identifier: Apache-2.0
// The only header that includes cpp-httplib, 0.11 and up. An optional component: not in any facade.
#pragma once

#include <distrib/remote/http_error.hpp>
#include <distrib/remote/http_url.hpp>

#include <fcntl.h>
#include <httplib.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The time and size limits of one exchange, and what ended it.
struct HttpWatch {
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t max_header_bytes = 256 << 10;

  Clock::time_point deadline;
  std::chrono::milliseconds idle;
  std::string header = {};  // as received
  bool in_header = true;
  std::size_t between_bytes = 0;  // of the lines between the bytes of a body in chunks, since the last of these bytes
  std::optional<http_errc> ended;

  /// Waits until the socket is ready. Returns false, and sets `ended`, if that takes too long or fails.
  auto wait(int socket, short events) -> bool {
    while (true) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      ::pollfd ready{socket, events, 0};
      const int count = left.count() <= 0 ? 0 : ::poll(&ready, 1, static_cast<int>(std::min(left, idle).count()));
      if (count > 0) return true;
      if (count < 0 && errno == EINTR) continue;
      ended = count == 0 ? http_errc::timed_out : http_errc::ended_early;
      return false;
    }
  }
};

#ifndef CPPHTTPLIB_VERSION_NUM  // versions that define it also have set_max_timeout, so they do not need this class

/// A connection on which all waits together have one deadline. cpp-httplib only limits each single wait.
class HttpWire final : public httplib::Stream {
 public:
#ifdef CPPHTTPLIB_OPENSSL_SUPPORT
  // The socket must not block: OpenSSL reads whole records, and would wait for the rest of one without our deadline.
  HttpWire(::socket_t socket, ::SSL* ssl, HttpWatch& watch) : socket_{socket}, ssl_{ssl}, watch_{&watch} {
    if (ssl_ != nullptr) ::fcntl(socket_, F_SETFL, ::fcntl(socket_, F_GETFL) | O_NONBLOCK);
  }
#else
  HttpWire(::socket_t socket, HttpWatch& watch) : socket_{socket}, watch_{&watch} {}
#endif

  auto is_readable() const -> bool override { return true; }
  auto is_writable() const -> bool override { return true; }
  auto read(char* to, std::size_t size) -> ::ssize_t override {
    if (at_ == end_) {
      const ::ssize_t count = fill();
      if (count <= 0) return count;
      at_ = 0;
      end_ = static_cast<std::size_t>(count);
    }
    const std::size_t count = std::min(size, end_ - at_);
    std::memcpy(to, buffer_.data() + at_, count);
    at_ += count;
    if (watch_->in_header) watch_->header.append(to, count);
    else if (size == 1) ++watch_->between_bytes;  // cpp-httplib reads lines byte by byte, into memory without a limit
    if (std::max(watch_->header.size(), watch_->between_bytes) > HttpWatch::max_header_bytes) {
      watch_->ended = http_errc::too_large;
      return -1;
    }
    return static_cast<::ssize_t>(count);
  }
  auto write(const char* from, std::size_t size) -> ::ssize_t override {
#ifdef CPPHTTPLIB_OPENSSL_SUPPORT
    if (ssl_ != nullptr) {
      const int most = static_cast<int>(std::min<std::size_t>(size, 64 << 10));
      return over_tls([&] { return ::SSL_write(ssl_, from, most); }, -1);
    }
#endif
    while (watch_->wait(socket_, POLLOUT)) {
      const ::ssize_t count = ::send(socket_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count >= 0) return count;
      if (errno != EINTR && errno != EAGAIN) break;
    }
    return -1;
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  auto socket() const -> ::socket_t override { return socket_; }

 private:
  auto fill() -> ::ssize_t {
#ifdef CPPHTTPLIB_OPENSSL_SUPPORT
    if (ssl_ != nullptr)
      return over_tls([this] { return ::SSL_read(ssl_, buffer_.data(), static_cast<int>(buffer_.size())); }, 0);
#endif
    while (true) {
      const ::ssize_t count = ::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      if (count >= 0 || (errno != EINTR && errno != EAGAIN)) return count;
      if (!watch_->wait(socket_, POLLIN)) return -1;
    }
  }

#ifdef CPPHTTPLIB_OPENSSL_SUPPORT
  /// Repeats a call of TLS until it has moved bytes, and returns how many; `failed` if the connection is over, -1 if it
  /// takes too long. Each of the calls may have to wait for either direction. A peer that sends slowly has one deadline
  /// for all waits.
  auto over_tls(auto call, ::ssize_t failed) -> ::ssize_t {
    while (true) {
      ::ERR_clear_error();
      const int count = call();
      if (count > 0) return count;
      const int why = ::SSL_get_error(ssl_, count);
      if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) return failed;
      if (!watch_->wait(socket_, why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT)) return -1;
    }
  }
#endif

  ::socket_t socket_;
#ifdef CPPHTTPLIB_OPENSSL_SUPPORT
  ::SSL* ssl_;
#endif
  HttpWatch* watch_;
  std::array<char, 64 << 10> buffer_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

/// A client of cpp-httplib whose connections are an `HttpWire` each.
template <class Base> class HttpConnection final : public Base {
 public:
  HttpConnection(const HttpUrl& url, HttpWatch& watch) : Base{url.host, url.port}, watch_{&watch} {}

 private:
  auto process_socket(const typename Base::Socket& socket, std::function<bool(httplib::Stream&)> exchange)
      -> bool override {
#ifdef CPPHTTPLIB_OPENSSL_SUPPORT
    const auto wire = std::make_unique<HttpWire>(socket.sock, socket.ssl, *watch_);
#else
    const auto wire = std::make_unique<HttpWire>(socket.sock, *watch_);
#endif
    return exchange(*wire);
  }

  HttpWatch* watch_;
};

#endif

/// Blocks SIGPIPE on this thread during its lifetime, so that a peer that closes the connection does not end the
/// process: OpenSSL writes without MSG_NOSIGNAL.
class WithoutSigpipe {
 public:
  WithoutSigpipe() noexcept {
    ::sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::sigemptyset(&sigpipe_);
    ::sigaddset(&sigpipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  auto operator=(const WithoutSigpipe&) -> WithoutSigpipe& = delete;
  ~WithoutSigpipe() {
    constexpr ::timespec at_once{};
    while (!was_pending_ && ::sigtimedwait(&sigpipe_, nullptr, &at_once) < 0 && errno == EINTR) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  ::sigset_t sigpipe_;
  ::sigset_t before_;
  bool was_pending_;
};

/// The socket that a client of cpp-httplib uses at the moment, for another thread to end its waits. Any thread may call
/// its functions.
class HttpSocket {
 public:
  HttpSocket() = default;
  HttpSocket(const HttpSocket&) = delete;
  auto operator=(const HttpSocket&) -> HttpSocket& = delete;
  ~HttpSocket() { use(-1); }

  /// Keeps a descriptor of its own: that of cpp-httplib may be closed, and its number used again, at any time.
  void use(int socket) {
    const std::lock_guard lock{mutex_};
    if (own_ >= 0) ::close(own_);
    own_ = socket < 0 ? -1 : ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
  }
  void shut_down() {
    const std::lock_guard lock{mutex_};
    if (own_ >= 0) ::shutdown(own_, SHUT_RDWR);
  }

 private:
  std::mutex mutex_;
  int own_ = -1;
};

/// Ends all waits on a socket from a point in time on, during its lifetime. `socket` may be null: then it does nothing.
class HttpDeadline {
 public:
  HttpDeadline(HttpSocket* socket, HttpWatch::Clock::time_point deadline) {
    if (socket == nullptr) return;
    thread_ = std::jthread{[socket, deadline](const std::stop_token& stop) {
      std::mutex mutex;
      std::unique_lock lock{mutex};
      std::condition_variable_any stopped;
      const auto is_over = [&] { return stop.stop_requested(); };
      // Again and again, because the client may connect once more.
      for (auto at = deadline; !stopped.wait_until(lock, stop, at, is_over); at += std::chrono::milliseconds{10})
        socket->shut_down();
    }};
  }

 private:
  std::jthread thread_;
};

/// Makes a client of cpp-httplib, of the class `Base`. Where its stream for TLS cannot be replaced (from version 0.12
/// on), OpenSSL reads whole records, and the limit of a wait begins anew with each byte. Then `socket` is set, and
/// `HttpDeadline` ends the waits.
template <class Base>
auto make_http_connection(const HttpUrl& url, HttpWatch& watch, std::unique_ptr<HttpSocket>& socket)
    -> std::unique_ptr<httplib::ClientImpl> {
#ifndef CPPHTTPLIB_VERSION_NUM
  if constexpr (!std::is_final_v<Base>) return std::make_unique<HttpConnection<Base>>(url, watch);
#endif
  static_cast<void>(watch);
  auto client = std::make_unique<Base>(url.host, url.port);
  if (!url.tls) return client;
  socket = std::make_unique<HttpSocket>();
  client->set_socket_options([used = socket.get()](::socket_t opened) { used->use(opened); });
  return client;
}

/// Makes the client send targets unchanged; but from about version 0.27 on, cpp-httplib decodes a query and encodes it
/// again.
void send_targets_as_they_are(auto& client) {
  if constexpr (requires { client.set_path_encode(false); }) client.set_path_encode(false);
  else client.set_url_encode(false);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
