// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <vector>

// Bare sockets that move the bytes of contributions: a lower bound of what fan_cores_benchmark measures. One thread
// serves all of its connections by epoll. What is sent is one block for all connections, and what is received goes into
// one buffer and is forgotten: no names, checksums, sums or values. A client sends `up` bytes, and the server answers
// with `down` bytes when all of them are there.

/// How many bytes a contribution has on one connection.
struct BareSizes {
  std::size_t up = 0;
  std::size_t down = 0;
};

/// Connections of one thread, which calls `run`. Throws std::system_error where a system call fails.
class BareSockets {
 public:
  explicit BareSockets(const BareSizes& sizes)
      : sizes_{sizes}, epoll_{::epoll_create1(0)}, out_(std::max(sizes.up, sizes.down)), in_(std::size_t{256} << 10) {
    check(epoll_ >= 0, "epoll_create1");
  }
  BareSockets(const BareSockets&) = delete;
  auto operator=(const BareSockets&) -> BareSockets& = delete;
  ~BareSockets() {
    for (const auto& wire : wires_) ::close(wire->socket);
    ::close(epoll_);
    if (listener_.socket >= 0) ::close(listener_.socket);
  }

  /// Accepts connections on a free port, which it returns.
  auto listen() -> std::uint16_t {
    listener_.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    check(listener_.socket >= 0, "socket");
    ::sockaddr_in at = loopback(0);
    ::socklen_t length = sizeof at;
    check(::bind(listener_.socket, reinterpret_cast<::sockaddr*>(&at), length) == 0, "bind");
    check(::listen(listener_.socket, SOMAXCONN) == 0, "listen");
    check(::getsockname(listener_.socket, reinterpret_cast<::sockaddr*>(&at), &length) == 0, "getsockname");
    watch(listener_, EPOLLIN);
    return ntohs(at.sin_port);
  }

  /// Connects to a server for client number `client`.
  void connect(std::uint16_t port, std::size_t client) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    check(socket >= 0, "socket");
    const ::sockaddr_in to = loopback(port);
    check(::connect(socket, reinterpret_cast<const ::sockaddr*>(&to), sizeof to) == 0, "connect");
    check(::fcntl(socket, F_SETFL, O_NONBLOCK) == 0, "fcntl");
    Wire& wire = add(socket);
    wire.client = client;
    if (clients_.size() <= client) clients_.resize(client + 1);
    clients_[client].wires.push_back(&wire);
  }

  /// The client sends a contribution on each of its connections.
  void push(std::size_t client) {
    clients_[client].waits = clients_[client].wires.size();
    for (Wire* wire : clients_[client].wires) {
      wire->to_send = sizes_.up;
      wire->to_receive = sizes_.down;
      if (!send(*wire)) throw std::runtime_error{"a server has disconnected"};
    }
  }

  /// Serves until a peer disconnects. `answered(client)`: all answers to the client's contribution are there.
  void run(const std::function<void(std::size_t)>& answered = {}) {
    std::array<::epoll_event, 64> events;
    std::vector<std::size_t> done;
    for (;;) {
      const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 60'000);
      if (count < 0 && errno == EINTR) continue;
      check(count >= 0, "epoll_wait");
      if (count == 0) throw std::runtime_error{"nothing has arrived for a minute"};
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        Wire& wire = *static_cast<Wire*>(events[i].data.ptr);
        if (&wire == &listener_) {
          accept();
          continue;
        }
        if (!go_on(wire)) return;
        if (wire.client == no_client || wire.to_receive != 0 || wire.told) continue;
        wire.told = true;
        if (--clients_[wire.client].waits == 0) done.push_back(wire.client);
      }
      for (const std::size_t client : done) {
        for (Wire* wire : clients_[client].wires) wire->told = false;
        answered(client);
      }
      done.clear();
    }
  }

 private:
  static constexpr std::size_t no_client = ~std::size_t{0};

  struct Wire {
    int socket = -1;
    std::size_t client = no_client;  // none: the end of the server
    std::size_t to_send = 0;
    std::size_t to_receive = 0;
    bool told = false;  // of a client: that the answer is there is counted
  };
  struct Client {
    std::vector<Wire*> wires;
    std::size_t waits = 0;  // wires without their answer
  };

  static void check(bool good, const char* what) {
    if (!good) throw std::system_error{errno, std::generic_category(), what};
  }
  static auto loopback(std::uint16_t port) -> ::sockaddr_in {
    ::sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    address.sin_port = ::htons(port);
    return address;
  }
  void watch(Wire& wire, std::uint32_t what) {
    ::epoll_event event{};
    event.events = what;
    event.data.ptr = &wire;
    check(::epoll_ctl(epoll_, EPOLL_CTL_ADD, wire.socket, &event) == 0, "epoll_ctl");
  }
  auto add(int socket) -> Wire& {
    const int on = 1;
    check(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
    wires_.push_back(std::make_unique<Wire>());
    wires_.back()->socket = socket;
    watch(*wires_.back(), EPOLLIN | EPOLLOUT | EPOLLET);
    return *wires_.back();
  }
  void accept() {
    for (;;) {
      const int socket = ::accept4(listener_.socket, nullptr, nullptr, SOCK_NONBLOCK);
      if (socket < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)) return;
      check(socket >= 0, "accept");
      Wire& wire = add(socket);
      wire.to_receive = sizes_.up;
    }
  }

  // Sends as much as is possible now. Returns false if the peer has disconnected.
  auto send(Wire& wire) -> bool {
    while (wire.to_send > 0) {
      const ::ssize_t sent = ::send(wire.socket, out_.data(), wire.to_send, MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN) return true;
      if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) return false;
      check(sent > 0, "send");
      wire.to_send -= static_cast<std::size_t>(sent);
    }
    return true;
  }

  // Sends and receives as much as is possible now. Returns false if the peer has disconnected.
  auto go_on(Wire& wire) -> bool {
    for (;;) {
      if (!send(wire)) return false;
      if (wire.to_send > 0) return true;
      if (wire.to_receive == 0 && wire.client != no_client) return true;
      if (wire.to_receive == 0) wire.to_receive = sizes_.up;  // the server has answered
      while (wire.to_receive > 0) {
        const ::ssize_t got = ::recv(wire.socket, in_.data(), std::min(in_.size(), wire.to_receive), 0);
        if (got < 0 && errno == EAGAIN) return true;
        if (got == 0 || (got < 0 && errno == ECONNRESET)) return false;
        check(got > 0, "recv");
        wire.to_receive -= static_cast<std::size_t>(got);
      }
      if (wire.client == no_client) wire.to_send = sizes_.down;
    }
  }

  BareSizes sizes_;
  int epoll_;
  std::vector<std::byte> out_;
  std::vector<std::byte> in_;
  Wire listener_;
  std::vector<std::unique_ptr<Wire>> wires_;
  std::vector<Client> clients_;
};
