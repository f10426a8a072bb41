// SPDX-License-Identifier: Apache-2.0
// Moves objects by HTTP over bare sockets, as fast as this machine and the server can: the limit for every client. No
// library: blocking sockets, one a thread, which stay open. The requests are signed before (presigned URLs).
//
// usage: sockets_benchmark get|put PORT CONNECTIONS < REQUESTS
//
// REQUESTS: a line for each, "TARGET FIRST BYTES". get asks for BYTES bytes from FIRST on; put writes BYTES bytes, and
// FIRST is not used. The server is 127.0.0.1:PORT. Prints MiB a second of all bodies.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

struct Request {
  std::string target;
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
};

void check(bool good, const char* what) {
  if (!good) throw std::runtime_error{what};
}

class Connection {
 public:
  explicit Connection(std::uint16_t port) : socket_{::socket(AF_INET, SOCK_STREAM, 0)}, host_{std::to_string(port)} {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int one = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    check(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0, "connect");
  }
  Connection(const Connection&) = delete;
  auto operator=(const Connection&) -> Connection& = delete;
  ~Connection() { ::close(socket_); }

  void get(const Request& request, std::vector<char>& buffer) {
    send("GET " + request.target + " HTTP/1.1\r\nHost: 127.0.0.1:" + host_ + "\r\nRange: bytes=" +
         std::to_string(request.first) + '-' + std::to_string(request.first + request.bytes - 1) + "\r\n\r\n");
    check(receive(buffer, "HTTP/1.1 206") == request.bytes, "a body has another length");
  }
  void put(const Request& request, std::vector<char>& buffer, const std::vector<char>& content) {
    send("PUT " + request.target + " HTTP/1.1\r\nHost: 127.0.0.1:" + host_ +
         "\r\nContent-Length: " + std::to_string(request.bytes) + "\r\n\r\n");
    send({content.data(), static_cast<std::size_t>(request.bytes)});
    receive(buffer, "HTTP/1.1 200");
  }

 private:
  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      check(count > 0, "send");
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  /// Reads an answer; returns the number of bytes in its body.
  auto receive(std::vector<char>& buffer, std::string_view status) const -> std::uint64_t {
    std::size_t got = 0;
    std::size_t end = std::string_view::npos;
    while (end == std::string_view::npos) {
      got += some(buffer, got);
      end = std::string_view{buffer.data(), got}.find("\r\n\r\n");
    }
    std::string head{buffer.data(), end + 2};
    check(head.starts_with(status), head.c_str());
    std::ranges::transform(head, head.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    const std::size_t at = head.find("\r\ncontent-length: ");
    check(at != std::string::npos, "no Content-Length");
    std::uint64_t length = 0;
    std::from_chars(head.data() + at + 18, head.data() + head.size(), length);
    for (std::uint64_t left = length - (got - end - 4); left > 0;) left -= some(buffer, 0);
    return length;
  }
  auto some(std::vector<char>& buffer, std::size_t from) const -> std::size_t {
    const ssize_t count = ::recv(socket_, buffer.data() + from, buffer.size() - from, 0);
    check(count > 0, "recv");
    return static_cast<std::size_t>(count);
  }

  int socket_;
  std::string host_;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) return 64;
  const bool writes = std::string_view{argv[1]} == "put";
  const auto port = static_cast<std::uint16_t>(std::stoul(argv[2]));
  const std::size_t connections = std::stoul(argv[3]);
  std::vector<Request> requests;
  std::uint64_t total = 0, longest = 0;
  for (Request request; std::cin >> request.target >> request.first >> request.bytes;) {
    total += request.bytes;
    longest = std::max(longest, request.bytes);
    requests.push_back(request);
  }
  const std::vector<char> content(writes ? static_cast<std::size_t>(longest) : 0, 'x');
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < connections; ++i)
    threads.emplace_back([&] {
      try {
        Connection connection{port};
        std::vector<char> buffer(std::size_t{1} << 20);
        for (std::size_t at = next++; at < requests.size(); at = next++) {
          if (writes) connection.put(requests[at], buffer, content);
          else connection.get(requests[at], buffer);
        }
      } catch (const std::exception& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        failed = true;
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (failed) return 70;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::printf("%.1f\n", static_cast<double>(total) / seconds / (1 << 20));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 70;
}
