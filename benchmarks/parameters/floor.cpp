// SPDX-License-Identifier: Apache-2.0
// Lower bound of the cost over TCP: blocking sockets, one connection, one thread at each end, and headers of 8 bytes.
// No names, checksums, copies or counters. A push is applied directly from the receive buffer to the only block of
// values, and a pull is answered from that block. A pull during a push may see a mixture of old and new values. No
// server over TCP on this machine should be faster.
#include "values.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace {

/// Precedes a gradient that is pushed and values that are pulled. A pull, and the answer to a push, are a header alone.
struct Header {
  std::uint32_t bytes = 0;  // size of the body that follows
  std::uint32_t pulls = 0;  // not 0: this is a pull
};

void check(bool good, const char* what) {
  if (!good) fail(std::string{what} + ": " + std::strerror(errno));
}

void send_at_once(int socket) {
  const int on = 1;
  check(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
}

/// Sends the same message `times` times, with as few system calls as possible. Returns false if the other end has
/// disconnected.
auto send_times(int socket, std::size_t times, const Header& header, std::span<const float> body) -> bool {
  std::array<::iovec, 64> pieces;
  for (std::size_t i = 0; i < pieces.size(); i += 2) {
    pieces[i] = {const_cast<Header*>(&header), sizeof header};
    pieces[i + 1] = {const_cast<float*>(body.data()), body.size_bytes()};
  }
  const std::size_t message = sizeof header + body.size_bytes();
  while (times > 0) {
    const std::size_t now = std::min(times, pieces.size() / 2);
    std::size_t left = now * message;
    std::size_t first = 0;  // the byte of the first message to send next
    while (left > 0) {
      std::array<::iovec, 64> rest = pieces;
      if (first < sizeof header) {
        rest[0] = {reinterpret_cast<char*>(const_cast<Header*>(&header)) + first, sizeof header - first};
      } else {
        rest[0].iov_len = 0;
        rest[1] = {reinterpret_cast<char*>(const_cast<float*>(body.data())) + (first - sizeof header), message - first};
      }
      const std::size_t messages = (first + left) / message;
      const ::ssize_t sent = ::writev(socket, rest.data(), static_cast<int>(2 * messages));
      if (sent < 0 && (errno == ECONNRESET || errno == EPIPE)) return false;
      check(sent > 0, "writev");
      left -= static_cast<std::size_t>(sent);
      first = (first + static_cast<std::size_t>(sent)) % message;
    }
    times -= now;
  }
  return true;
}

/// Reads as much as has arrived, but during a large message not beyond its end, so that no byte has to be copied.
class Reader {
 public:
  Reader(int socket, std::size_t bytes) : socket_{socket}, memory_(std::max(large, sizeof(Header) + bytes)) {}

  /// Reads once, waiting if nothing has arrived, and calls `take(header, body)` for each complete message. Returns
  /// false if the other end has disconnected.
  template <class Take>
  auto some(Take take) -> bool {
    Header header;
    std::size_t end = memory_.size();
    if (filled_ >= sizeof header) {
      std::memcpy(&header, memory_.data(), sizeof header);
      if (sizeof header + header.bytes > memory_.size()) fail("a message is too long");
      if (header.bytes >= large / 2) end = sizeof header + header.bytes;
    }
    const ::ssize_t got = ::recv(socket_, memory_.data() + filled_, end - filled_, 0);
    if (got == 0 || (got < 0 && errno == ECONNRESET)) return false;
    check(got > 0, "recv");
    filled_ += static_cast<std::size_t>(got);
    std::size_t at = 0;
    for (; filled_ - at >= sizeof header; at += sizeof header + header.bytes) {
      std::memcpy(&header, memory_.data() + at, sizeof header);
      if (filled_ - at < sizeof header + header.bytes) break;
      take(header, reinterpret_cast<const float*>(memory_.data() + at + sizeof header));
    }
    std::copy(memory_.begin() + static_cast<std::ptrdiff_t>(at), memory_.begin() + static_cast<std::ptrdiff_t>(filled_),
              memory_.begin());
    filled_ -= at;
    return true;
  }

 private:
  static constexpr std::size_t large = std::size_t{256} << 10;
  int socket_;
  std::vector<char> memory_;
  std::size_t filled_ = 0;
};

/// Serves one worker until it disconnects.
void serve(int worker, std::vector<float>& values) {
  const auto bytes = static_cast<std::uint32_t>(values.size() * sizeof(float));
  Reader reader{worker, bytes};
  for (;;) {
    std::size_t pushes = 0;
    std::size_t pulls = 0;
    const bool here = reader.some([&](const Header& header, const float* gradient) {
      if (header.pulls != 0) {
        ++pulls;
        return;
      }
      if (header.bytes != bytes) fail("a gradient has the wrong size");
      for (std::size_t i = 0; i < values.size(); ++i) values[i] -= learning_rate * gradient[i];
      ++pushes;
    });
    if (!here || !send_times(worker, pushes, {}, {}) || !send_times(worker, pulls, {bytes, 0}, values)) return;
  }
}

[[noreturn]] void serve(const Options& options) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  ::socklen_t length = sizeof address;
  check(::bind(listener, reinterpret_cast<::sockaddr*>(&address), length) == 0, "bind");
  check(::listen(listener, 1) == 0, "listen");
  check(::getsockname(listener, reinterpret_cast<::sockaddr*>(&address), &length) == 0, "getsockname");
  tell_port(ntohs(address.sin_port));

  std::vector<float> values(options.bytes / sizeof(float));
  for (;;) {
    const int worker = ::accept(listener, nullptr, nullptr);
    check(worker >= 0, "accept");
    send_at_once(worker);
    serve(worker, values);
    ::close(worker);
  }
}

[[noreturn]] void load(const Options& options) {
  const int server = ::socket(AF_INET, SOCK_STREAM, 0);
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  address.sin_port = ::htons(options.port);
  check(::connect(server, reinterpret_cast<::sockaddr*>(&address), sizeof address) == 0, "connect");
  send_at_once(server);

  Reader reader{server, options.bytes};
  const auto receive = [&](auto take) {
    if (!reader.some(take)) fail("the server has closed the connection");
  };
  const auto values = [&] {
    std::vector<float> got;
    send_times(server, 1, {0, 1}, {});
    while (got.empty())
      receive([&](const Header&, const float* of) { got.assign(of, of + options.bytes / sizeof(float)); });
    return got;
  };
  const std::vector<float> before = values();
  const std::vector<float> pushed = gradient(options.bytes, before);
  const Header push{options.bytes, 0};
  send_times(server, 1, push, pushed);
  for (bool counted = false; !counted;) receive([&](const Header&, const float*) { counted = true; });
  check_applied(before, pushed, values());

  Load load{options};
  load.start();
  const bool pulls = options.method == "pull";
  for (std::size_t begin = options.in_flight;;) {
    if (pulls) send_times(server, begin, {0, 1}, {});
    else send_times(server, begin, push, pushed);
    begin = 0;
    receive([&](const Header&, const float*) {
      load.completed();
      ++begin;
    });
  }
}

}  // namespace

auto main(int argc, char** argv) -> int {
  const Options options{argc, argv};
  if (options.role == "serve") serve(options);
  load(options);
}
