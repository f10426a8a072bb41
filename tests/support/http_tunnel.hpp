// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace support {

/// A proxy on loopback that makes tunnels (CONNECT) to servers on loopback, whatever host is asked for. The system
/// chooses its port.
class HttpTunnel {
 public:
  HttpTunnel() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ::sockaddr_in address = loopback(0);
    ::socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<::sockaddr*>(&address);
    if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 64) != 0 ||
        ::getsockname(listener_, generic, &size) != 0)
      throw std::runtime_error{"no port for the test's proxy"};
    port_ = ntohs(address.sin_port);
    accepting_ = std::thread{[this] { accept(); }};
  }
  HttpTunnel(const HttpTunnel&) = delete;
  auto operator=(const HttpTunnel&) -> HttpTunnel& = delete;
  ~HttpTunnel() {
    stop_ = true;
    accepting_.join();
    for (std::thread& thread : serving_) thread.join();
    ::close(listener_);
  }

  [[nodiscard]] auto port() const -> std::uint16_t { return port_; }
  /// Returns the requests so far: the first line and the headers of each.
  [[nodiscard]] auto asked() -> std::vector<std::string> {
    const std::lock_guard lock{mutex_};
    return asked_;
  }

 private:
  static auto loopback(std::uint16_t port) -> ::sockaddr_in {
    ::sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  void accept() {
    while (!stop_) {
      ::pollfd ready{listener_, POLLIN, 0};
      if (::poll(&ready, 1, 20) <= 0) continue;
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket >= 0) serving_.emplace_back([this, socket] { serve(socket); });
    }
  }

  void serve(int client) {
    std::string head;
    char byte = 0;
    while (head.find("\r\n\r\n") == std::string::npos && ::recv(client, &byte, 1, 0) == 1) head += byte;
    {
      const std::lock_guard lock{mutex_};
      asked_.push_back(head);
    }
    const std::size_t colon = head.find(':');
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const ::sockaddr_in address = loopback(static_cast<std::uint16_t>(std::stoi(head.substr(colon + 1))));
    if (::connect(server, reinterpret_cast<const ::sockaddr*>(&address), sizeof address) == 0) {
      const std::string answer = "HTTP/1.1 200 OK\r\n\r\n";
      ::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      while (!stop_ && relay(client, server) && relay(server, client)) {
      }
    }
    ::close(server);
    ::close(client);
  }

  /// Sends on what has arrived. Returns false when a side has closed the connection.
  static auto relay(int from, int to) -> bool {
    ::pollfd ready{from, POLLIN, 0};
    if (::poll(&ready, 1, 2) <= 0) return true;
    char block[65536];
    const ::ssize_t count = ::recv(from, block, sizeof block, 0);
    for (::ssize_t at = 0; at < count;) {
      const ::ssize_t n = ::send(to, block + at, static_cast<std::size_t>(count - at), MSG_NOSIGNAL);
      if (n <= 0) return false;
      at += n;
    }
    return count > 0;
  }

  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::vector<std::string> asked_;
  std::thread accepting_;
  std::vector<std::thread> serving_;
};

}  // namespace support
