// SPDX-License-Identifier: Apache-2.0
// An optional component: not in any facade; link distrib::http.
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/host_port.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/remote/detail/http_wire.hpp>
#include <distrib/remote/http_error.hpp>
#include <distrib/remote/http_message.hpp>
#include <distrib/remote/http_options.hpp>
#include <distrib/remote/http_proxy.hpp>
#include <distrib/remote/http_url.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Receives a piece of the body of an answer whose status is good. Returns false to stop reading this answer.
using HttpTake = std::function<bool(const HttpAnswer& answer, ByteView bytes)>;

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

  /// Sends `request` and waits for the whole answer. An answer with any status but 407, a proxy's, is a success. If
  /// there is `take`, the body of a good answer goes to it while it arrives; if it returns false, the rest of the body
  /// is not read, and that is a success, too. Any other body goes into the answer.
  ///
  /// Errors: sets `error` to an `http_errc` with method, host and path. The answer then contains what arrived before;
  /// its status is 0 if that was not even the headers. A header that contains the end of a line is `bad_header`:
  /// nothing is sent.
  auto send(const HttpRequest& request, const HttpTake& take, Error& error) -> HttpAnswer {
    error = {};
    HttpAnswer answer;
    if (const std::string* const name = bad_header(request))
      error = {http_errc::bad_header, request.where() + ": " + *name};
    if (error) return answer;
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
      watch_->between_bytes = 0;
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
    const detail::HttpDeadline deadline{used->socket.get(), watch_->deadline};
    const detail::WithoutSigpipe no_signal;
    httplib::Response response;
    auto failure = httplib::Error::Success;
    const bool whole = connection->send(sent, response, failure);
    if (whole && answer.status == 0) read_headers(response, answer);  // an answer without a body
    if (answer.status == 407) error = {http_errc::bad_status, request.where() + " (status 407" + used->proxy + ")"};
    if (whole || enough) return answer;
    // Newer versions of cpp-httplib wait by themselves and report silence like a closed connection, and a handshake that
    // ended at the deadline like one that was refused: the time distinguishes them.
    const bool late = Clock::now() >= watch_->deadline;
    const bool silent = used->waits_itself && (late || Clock::now() >= progress + options_.idle_timeout);
    http_errc code = code_of(failure);
    if ((code == http_errc::ended_early && silent) || (code == http_errc::no_tls && late)) code = http_errc::timed_out;
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
    std::unique_ptr<detail::HttpSocket> socket;  // null if the client ends its waits by itself; outlives the client
    std::unique_ptr<httplib::ClientImpl> client;
    bool waits_itself = false;  // not in an HttpWire
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
    std::unique_ptr<detail::HttpSocket> socket;
    std::unique_ptr<httplib::ClientImpl> client;
    if (!url.tls) {
      client = detail::make_http_connection<httplib::ClientImpl>(url, *watch_, socket);
    } else {
#ifdef CPPHTTPLIB_OPENSSL_SUPPORT
      client = detail::make_http_connection<httplib::SSLClient>(url, *watch_, socket);
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
#ifdef CPPHTTPLIB_VERSION_NUM
    constexpr bool waits_itself = true;
#else
    const bool waits_itself = socket != nullptr;
#endif
    Connection made{
        .origin = origin, .socket = std::move(socket), .client = std::move(client), .waits_itself = waits_itself};
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

  /// Returns the name of a header that would be more than one line; null if there is none. What answers, files and
  /// programs gave may be in a header, so it could add headers or a whole request.
  static auto bad_header(const HttpRequest& request) -> const std::string* {
    constexpr std::string_view ends{"\r\n\0", 3};
    for (const auto& [name, value] : request.headers)
      if (name.find_first_of(ends) != std::string::npos || value.find_first_of(ends) != std::string::npos) return &name;
    return nullptr;
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
