// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace support {

/// The request of a client.
struct HttpAsked {
  std::string method;
  std::string target;
  std::string headers;  ///< All header lines, as they arrived.
  std::string body;

  /// Returns a parameter of the query, not unescaped; empty if it is missing.
  [[nodiscard]] auto parameter(const std::string& name) const -> std::string {
    const std::size_t at = target.find_first_of("?&");
    for (std::size_t from = at; from != std::string::npos; from = target.find('&', from + 1))
      if (target.compare(from + 1, name.size() + 1, name + "=") == 0)
        return target.substr(from + name.size() + 2, target.find('&', from + 1) - from - name.size() - 2);
    return {};
  }
  [[nodiscard]] auto path() const -> std::string { return target.substr(0, target.find('?')); }
};

/// What a server sends: these bytes, unchecked, with a pause after each byte if `pause_between_bytes` is set. Then it
/// closes the connection or keeps it open.
struct HttpSaid {
  std::string bytes;
  bool close = true;
  bool hang = false;  ///< The connection ends only when the server ends.
  std::chrono::milliseconds pause_between_bytes{};

  /// A well-formed answer.
  static auto answer(int status, const std::string& body, const std::string& headers = {}) -> HttpSaid {
    return {.bytes = "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: " + std::to_string(body.size()) +
                     "\r\n" + headers + "\r\n" + body,
            .close = false};
  }
  /// The same in chunks.
  static auto chunked(int status, const std::string& body) -> HttpSaid {
    char size[32];
    std::snprintf(size, sizeof size, "%zx\r\n", body.size());
    return {.bytes = "HTTP/1.1 " + std::to_string(status) + " X\r\nTransfer-Encoding: chunked\r\n\r\n" + size + body +
                     "\r\n0\r\n\r\n",
            .close = false};
  }
  static auto redirect(const std::string& location) -> HttpSaid {
    return answer(307, "", "Location: " + location + "\r\n");
  }
  static auto exception(int status, const std::string& name, const std::string& message) -> HttpSaid {
    return chunked(status, R"({"RemoteException":{"exception":")" + name + R"(","javaClassName":"org.apache.)" + name +
                               R"(","message":")" + message + "\"}}");
  }
};

/// A server on loopback; the system chooses its port. `say` is called on threads of the server, one call at a time.
class HttpServer {
 public:
  using Say = std::function<HttpSaid(const HttpAsked&)>;

  explicit HttpServer(Say say) : say_{std::move(say)} {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ::sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<::sockaddr*>(&address);
    if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 64) != 0 ||
        ::getsockname(listener_, generic, &size) != 0)
      throw std::runtime_error{"no port for the test's server"};
    port_ = ntohs(address.sin_port);
    accepting_ = std::thread{[this] { accept(); }};
  }
  HttpServer(const HttpServer&) = delete;
  auto operator=(const HttpServer&) -> HttpServer& = delete;
  ~HttpServer() {
    stop_ = true;
    accepting_.join();
    for (std::thread& thread : serving_) thread.join();
    ::close(listener_);
  }

  [[nodiscard]] auto port() const -> std::uint16_t { return port_; }
  /// Returns "http://127.0.0.1:PORT".
  [[nodiscard]] auto url() const -> std::string { return "http://127.0.0.1:" + std::to_string(port_); }
  /// Returns all requests so far.
  [[nodiscard]] auto asked() -> std::vector<HttpAsked> {
    const std::lock_guard lock{mutex_};
    return asked_;
  }

 private:
  auto readable(int socket) -> bool {
    while (!stop_) {
      ::pollfd ready{socket, POLLIN, 0};
      if (::poll(&ready, 1, 20) > 0) return true;
    }
    return false;
  }

  void accept() {
    while (readable(listener_)) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket >= 0) serving_.emplace_back([this, socket] { serve(socket); });
    }
  }

  auto receive(int socket, std::string& to) -> bool {
    char block[65536];
    if (!readable(socket)) return false;
    const ::ssize_t count = ::recv(socket, block, sizeof block, 0);
    if (count > 0) to.append(block, static_cast<std::size_t>(count));
    return count > 0;
  }

  auto ask(int socket, std::string& rest, HttpAsked& asked) -> bool {
    std::size_t end = 0;
    while ((end = rest.find("\r\n\r\n")) == std::string::npos)
      if (!receive(socket, rest)) return false;
    const std::string head = rest.substr(0, end + 2);
    rest.erase(0, end + 4);
    const std::size_t space = head.find(' ');
    asked.method = head.substr(0, space);
    asked.target = head.substr(space + 1, head.find(' ', space + 1) - space - 1);
    asked.headers = head.substr(head.find("\r\n") + 2);
    const std::size_t length = asked.headers.find("Content-Length: ");
    const std::size_t size = length == std::string::npos ? 0 : std::stoul(asked.headers.substr(length + 16));
    while (rest.size() < size)
      if (!receive(socket, rest)) return false;
    asked.body = rest.substr(0, size);
    rest.erase(0, size);
    return true;
  }

  void serve(int socket) {
    std::string rest;
    HttpAsked asked;
    while (ask(socket, rest, asked)) {
      HttpSaid said;
      {
        const std::lock_guard lock{mutex_};
        asked_.push_back(asked);
        said = say_(asked);
      }
      const std::size_t slice = said.pause_between_bytes.count() > 0 ? 1 : said.bytes.size();
      for (std::size_t at = 0; at < said.bytes.size() && !stop_; at += slice) {
        const std::size_t count = std::min(slice, said.bytes.size() - at);
        std::size_t sent = 0;
        while (sent < count) {
          const ::ssize_t n = ::send(socket, said.bytes.data() + at + sent, count - sent, MSG_NOSIGNAL);
          if (n <= 0) break;
          sent += static_cast<std::size_t>(n);
        }
        if (sent < count) break;
        if (slice == 1) std::this_thread::sleep_for(said.pause_between_bytes);
      }
      while (said.hang && !stop_) std::this_thread::sleep_for(std::chrono::milliseconds{5});
      if (said.close) break;
      asked = {};
    }
    ::close(socket);
  }

  Say say_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::vector<HttpAsked> asked_;
  std::thread accepting_;
  std::vector<std::thread> serving_;
};

}  // namespace support
