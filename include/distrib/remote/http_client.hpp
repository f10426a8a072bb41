// SPDX-License-Identifier: Apache-2.0
// The only header that includes cpp-httplib, 0.11 and up. An optional component: not in any facade; link distrib::http.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/host_port.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/remote/http_error.hpp>
#include <distrib/remote/http_message.hpp>
#include <distrib/remote/http_options.hpp>
#include <distrib/remote/http_proxy.hpp>
#include <distrib/remote/http_url.hpp>

#include <httplib.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Receives a piece of the body of an answer whose status is good. Returns false to stop reading this answer.
using HttpTake = std::function<bool(const HttpAnswer& answer, ByteView bytes)>;

namespace detail {

/// The time and size limits of one exchange, and what ended it.
struct HttpWatch {
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t max_header_bytes = 256 << 10;

  Clock::time_point deadline;
  std::chrono::milliseconds idle;
  std::string header = {};  // as received
  bool in_header = true;
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
  HttpWire(::socket_t socket, ::SSL* ssl, HttpWatch& watch) : socket_{socket}, ssl_{ssl}, watch_{&watch} {}
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
    if (watch_->header.size() > HttpWatch::max_header_bytes) {
      watch_->ended = http_errc::too_large;
      return -1;
    }
    return static_cast<::ssize_t>(count);
  }
  auto write(const char* from, std::size_t size) -> ::ssize_t override {
    while (watch_->wait(socket_, POLLOUT)) {
#ifdef CPPHTTPLIB_OPENSSL_SUPPORT
      if (ssl_ != nullptr) {
        const int count = ::SSL_write(ssl_, from, static_cast<int>(std::min<std::size_t>(size, 64 << 10)));
        if (count > 0) return count;
        if (goes_on(count)) continue;
        return -1;
      }
#endif
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
    while (true) {
#ifdef CPPHTTPLIB_OPENSSL_SUPPORT
      if (ssl_ != nullptr) {
        if (::SSL_pending(ssl_) == 0 && !watch_->wait(socket_, POLLIN)) return -1;
        const int count = ::SSL_read(ssl_, buffer_.data(), static_cast<int>(buffer_.size()));
        if (count > 0) return count;
        if (goes_on(count)) continue;
        return 0;
      }
#endif
      if (!watch_->wait(socket_, POLLIN)) return -1;
      const ::ssize_t count = ::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      if (count >= 0 || (errno != EINTR && errno != EAGAIN)) return count;
    }
  }

#ifdef CPPHTTPLIB_OPENSSL_SUPPORT
  /// True if the call of TLS only has to be repeated.
  auto goes_on(int result) -> bool {
    const int why = ::SSL_get_error(ssl_, result);
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
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

/// Makes a client of cpp-httplib, of the class `Base`. Versions 0.12 to 0.18 allow no other stream for TLS: there each
/// wait has a limit, and all waits together have one only while a body arrives.
template <class Base>
auto make_http_connection(const HttpUrl& url, HttpWatch& watch) -> std::unique_ptr<httplib::ClientImpl> {
#ifndef CPPHTTPLIB_VERSION_NUM
  if constexpr (!std::is_final_v<Base>) return std::make_unique<HttpConnection<Base>>(url, watch);
#endif
  static_cast<void>(watch);
  return std::make_unique<Base>(url.host, url.port);
}

/// Makes the client send targets unchanged; but from about version 0.27 on, cpp-httplib decodes a query and encodes it
/// again.
void send_targets_as_they_are(auto& client) {
  if constexpr (requires { client.set_path_encode(false); }) client.set_path_encode(false);
  else client.set_url_encode(false);
}

}  // namespace detail

/// Sends requests and waits for the answers, on the caller's thread. Keeps a connection for the next request to the
/// same server if that server allows it, for at most four servers. Does not follow redirects. Uses the proxies of the
/// options; the place of an error then names the proxy, too.
///
/// Threads: one at a time. Movable.
class HttpClient {
 public:
  explicit HttpClient(HttpOptions options = {})
      : options_{std::move(options)}, watch_{std::make_unique<detail::HttpWatch>()} {
    constexpr std::chrono::hours longest{24 * 24};  // poll(2) takes an int of milliseconds
    for (auto* const time : {&options_.connect_timeout, &options_.idle_timeout, &options_.timeout})
      *time = std::min<std::chrono::milliseconds>(*time, longest);
  }

  /// Sends `request` and waits for the whole answer. An answer with any status but 407, a proxy's, is a success. If there is `take`, the
  /// body of a good answer goes to it while it arrives; if it returns false, the rest of the body is not read, and that
  /// is a success, too. Any other body goes into the answer.
  ///
  /// Errors: sets `error` to an `http_errc` with method, host and path. The answer then contains what arrived before;
  /// its status is 0 if that was not even the headers.
  auto send(const HttpRequest& request, const HttpTake& take, Error& error) -> HttpAnswer {
    error = {};
    HttpAnswer answer;
    Connection* const used = connect(request.url, error);
    if (error) return answer;
    if (used == nullptr) {
      error = {http_errc::no_tls, request.where() + " (this cpp-httplib is built without TLS)"};
      return answer;
    }
    httplib::ClientImpl* const connection = used->client.get();
    using Clock = detail::HttpWatch::Clock;
    auto progress = Clock::now();
    *watch_ = {.deadline = progress + options_.timeout, .idle = options_.idle_timeout, .ended = {}};
    bool enough = false;
    httplib::Request sent = to_httplib(request);
    // Inside a tunnel, cpp-httplib would send the proxy's password to the server, too.
    if (used->hides_password) sent.headers.emplace("Proxy-Authorization", "");
    sent.response_handler = [&](const httplib::Response& response) {
      watch_->in_header = false;
      read_headers(response, answer);
      return true;
    };
    sent.content_receiver = [&](const char* data, std::size_t size, auto, auto) {
      const ByteView bytes = as_bytes({data, size});
      progress = Clock::now();
      if (progress >= watch_->deadline) watch_->ended = http_errc::timed_out;
      if (watch_->ended) return false;
      if (take && answer.good()) {
        enough = !take(answer, bytes);
        return !enough;
      }
      if (size > request.max_body_bytes - answer.body.size()) watch_->ended = http_errc::too_large;
      else answer.body.append(data, size);
      return !watch_->ended;
    };
    const detail::WithoutSigpipe no_signal;
    httplib::Response response;
    auto failure = httplib::Error::Success;
    const bool whole = connection->send(sent, response, failure);
    if (whole && answer.status == 0) read_headers(response, answer);  // an answer without a body
    if (answer.status == 407) error = {http_errc::bad_status, request.where() + " (status 407" + used->proxy + ")"};
    if (whole || enough) return answer;
    // Newer versions of cpp-httplib wait by themselves and report silence like a closed connection: the time
    // distinguishes the two.
    const bool silent = Clock::now() >= std::min(progress + options_.idle_timeout, watch_->deadline);
    const http_errc code =
        code_of(failure) == http_errc::ended_early && silent ? http_errc::timed_out : code_of(failure);
    error = {watch_->ended.value_or(code), request.where() + used->proxy};
    connection->stop();
    return answer;
  }

  /// This overload has no `take`: the answer holds the whole body. It throws the error as `std::system_error`.
  auto send(const HttpRequest& request) -> HttpAnswer {
    Error error;
    return detail::or_throw(send(request, {}, error), error);
  }

  [[nodiscard]] auto options() const noexcept -> const HttpOptions& { return options_; }

 private:
  struct Connection {
    std::string origin;
    std::unique_ptr<httplib::ClientImpl> client;
    std::string proxy = {};  // " by proxy HOST:PORT", for messages
    bool hides_password = false;
  };
  static constexpr std::size_t most_connections = 4;

  /// Returns the connection to the URL's host, which may not be open yet. Null: it needs TLS, and this cpp-httplib has
  /// none; or `error` is set.
  auto connect(const HttpUrl& url, Error& error) -> Connection* {
    const std::string origin = url.origin();
    for (Connection& known : connections_)
      if (known.origin == origin) return &known;
    const std::optional<HttpProxy> proxy = HttpProxy::of(url, options_.proxies, error);
    if (error) return nullptr;
    std::unique_ptr<httplib::ClientImpl> client;
    if (!url.tls) {
      client = detail::make_http_connection<httplib::ClientImpl>(url, *watch_);
    } else {
#ifdef CPPHTTPLIB_OPENSSL_SUPPORT
      client = detail::make_http_connection<httplib::SSLClient>(url, *watch_);
      client->enable_server_certificate_verification(true);
      if (!options_.authority.empty()) client->set_ca_cert_path(options_.authority);
#else
      return nullptr;
#endif
    }
#ifdef CPPHTTPLIB_VERSION_NUM
    client->set_max_timeout(options_.timeout);
#endif
    client->set_connection_timeout(options_.connect_timeout);
    client->set_read_timeout(options_.idle_timeout);
    client->set_write_timeout(options_.idle_timeout);
    client->set_keep_alive(true);
    client->set_tcp_nodelay(true);
    client->set_follow_location(false);
    client->set_decompress(false);
    detail::send_targets_as_they_are(*client);
    Connection made{.origin = origin, .client = std::move(client)};
    if (proxy) {
      made.client->set_proxy(proxy->host, proxy->port);
      if (!proxy->user.empty()) made.client->set_proxy_basic_auth(proxy->user, proxy->password);
      made.proxy = " by proxy " + detail::host_port(proxy->host, std::to_string(proxy->port));
      made.hides_password = url.tls && !proxy->user.empty();
    }
    if (connections_.size() == most_connections) connections_.erase(connections_.begin());
    connections_.push_back(std::move(made));
    return &connections_.back();
  }

  static auto to_httplib(const HttpRequest& request) -> httplib::Request {
    httplib::Request sent;
    sent.method = request.method;
    sent.path = request.url.target;
    for (const auto& [name, value] : request.headers) sent.headers.emplace(name, value);
    sent.headers.emplace("User-Agent", "distrib");
    if (!request.body) return sent;
    sent.headers.emplace("Content-Type", request.body_type);
    const ByteView body = *request.body;
    sent.content_length_ = body.size();
    sent.content_provider_ = [body](std::size_t offset, std::size_t size, httplib::DataSink& sink) {
      return sink.write(as_text(body).data() + offset, std::min<std::size_t>(size, 1 << 20));
    };
    return sent;
  }

  void read_headers(const httplib::Response& response, HttpAnswer& answer) const {
    answer.status = response.status;
    answer.headers = headers(response);
    answer.location = answer.header("location");
    answer.content_range = answer.header("content-range");
    answer.etag = answer.header("etag");
    answer.content_length = detail::parse_whole<std::uint64_t>(answer.header("content-length"));
  }

  /// Returns the headers as received: cpp-httplib 0.11 decodes %XX in headers, which would change a Location.
  auto headers(const httplib::Response& response) const -> std::vector<std::pair<std::string, std::string>> {
    std::vector<std::pair<std::string, std::string>> found;
    if (watch_->header.empty()) {
      for (const auto& [name, value] : response.headers) found.emplace_back(detail::lower_case(name), value);
      return found;
    }
    std::string_view rest = watch_->header;
    detail::cut_before(rest, '\n');  // the status
    while (!rest.empty()) {
      std::string_view line = detail::cut_before(rest, '\n');
      std::string name = detail::lower_case(detail::cut_before(line, ':'));
      const std::size_t first = std::min(line.find_first_not_of(" \t"), line.size());
      const std::size_t last = line.find_last_not_of(" \t\r");
      if (last == std::string_view::npos) continue;
      found.emplace_back(std::move(name), line.substr(first, last + 1 - first));
    }
    return found;
  }

  static auto code_of(httplib::Error error) noexcept -> http_errc {
    switch (error) {
      case httplib::Error::Connection: return http_errc::unreachable;
      case httplib::Error::ConnectionTimeout: return http_errc::timed_out;
      case httplib::Error::SSLConnection:
      case httplib::Error::SSLLoadingCerts:
      case httplib::Error::SSLServerVerification: return http_errc::no_tls;
      default: return http_errc::ended_early;
    }
  }

  HttpOptions options_;
  std::unique_ptr<detail::HttpWatch> watch_;
  std::vector<Connection> connections_;  // the oldest first
};

}  // namespace v0
}  // namespace distrib
