// SPDX-License-Identifier: Apache-2.0
// Blocking sockets, one connection: the lowest latency that is possible.
#include "frames.hpp"

#include <sys/uio.h>

#include <cerrno>
#include <cstddef>

namespace {

/// Reads once into `in`. Returns false if the other end has closed the connection, or it is lost.
auto receive(int socket, Inbox& in) -> bool {
  const auto space = in.space();
  ::ssize_t count = -1;
  do count = ::recv(socket, space.data(), space.size(), 0);
  while (count < 0 && errno == EINTR);
  if (count <= 0) return false;
  in.filled(static_cast<std::size_t>(count));
  return true;
}

void send_all(int socket, Outbox& out) {
  while (true) {
    const auto parts = out.parts();
    if (parts.empty()) return;
    const ::ssize_t count = ::send(socket, parts.front().data(), parts.front().size(), 0);
    if (count < 0 && errno != EINTR) return;
    if (count > 0) out.written(static_cast<std::size_t>(count));
  }
}

void serve(const Options& options) {
  map_counters(options);
  const int listener = listen_on_loopback(0);
  while (true) {
    const int socket = ::accept(listener, nullptr, nullptr);
    send_at_once(socket);
    Inbox in;
    Outbox out;
    while (receive(socket, in)) {
      in.each([&](const Header& header, std::span<const char> body) {
        const auto reply = reply_to(header, body);
        out.add({static_cast<std::uint32_t>(reply.size()), header.method, header.call}, reply);
      });
      send_all(socket, out);
    }
    ::close(socket);
  }
}

void load(const Options& options) {
  const int socket = connect_to(options.port);
  Caller caller{options};
  Inbox in;
  Outbox out;
  caller.begin(out);
  caller.started();
  send_all(socket, out);
  while (receive(socket, in)) {
    in.each([&](const Header& header, std::span<const char>) { caller.answered(header, out); });
    send_all(socket, out);
  }
  fail("the server has closed the connection");
}

}  // namespace

auto main(int argc, char** argv) -> int {
  const Options options{argc, argv};
  options.role == "serve" ? serve(options) : load(options);
}
