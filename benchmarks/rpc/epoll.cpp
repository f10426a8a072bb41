// SPDX-License-Identifier: Apache-2.0
// epoll alone: reads as much as has arrived and answers all of it with one write. No library, no features.
#include "frames.hpp"

#include <sys/epoll.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

namespace {

/// One end of a connection. `Take` gets every frame, and the outbox for its answer.
struct Connection {
  int socket = -1;
  int loop = -1;
  bool waits_for_room = false;
  Inbox in;
  Outbox out;

  /// Writes until nothing is left or the socket is full. Returns false if the connection is lost.
  auto flush() -> bool {
    while (true) {
      const auto parts = out.parts();
      if (parts.empty()) return wait_for_room(false);
      std::array<::iovec, 64> pieces;
      std::size_t count = 0;
      for (; count < std::min(parts.size(), pieces.size()); ++count)
        pieces[count] = {const_cast<char*>(parts[count].data()), parts[count].size()};
      const ::ssize_t written = ::writev(socket, pieces.data(), static_cast<int>(count));
      if (written > 0) out.written(static_cast<std::size_t>(written));
      else if (errno == EAGAIN) return wait_for_room(true);
      else if (errno != EINTR) return false;
    }
  }

  auto wait_for_room(bool wanted) -> bool {
    if (wanted == waits_for_room) return true;
    waits_for_room = wanted;
    ::epoll_event event{EPOLLIN | (wanted ? std::uint32_t{EPOLLOUT} : 0U), {.ptr = this}};
    return ::epoll_ctl(loop, EPOLL_CTL_MOD, socket, &event) == 0;
  }

  template <class Take>
  auto ready(std::uint32_t events, Take take) -> bool {
    if ((events & EPOLLIN) != 0) {
      const auto space = in.space();
      const ::ssize_t count = ::recv(socket, space.data(), space.size(), 0);
      if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return false;
      if (count > 0) {
        in.filled(static_cast<std::size_t>(count));
        in.each([&](const Header& header, std::span<const char> body) { take(header, body, out); });
      }
    } else if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
      return false;
    }
    return flush();
  }
};

auto add(int loop, int socket) -> Connection& {
  ::fcntl(socket, F_SETFL, O_NONBLOCK);
  auto* const connection = new Connection;
  connection->socket = socket;
  connection->loop = loop;
  ::epoll_event event{EPOLLIN, {.ptr = connection}};
  ::epoll_ctl(loop, EPOLL_CTL_ADD, socket, &event);
  return *connection;
}

template <class Take>
void run(int loop, const Take& take, int listener = -1, const std::vector<int>& loops = {}) {
  std::array<::epoll_event, 256> events;
  for (std::size_t accepted = 0;;) {
    const int count = ::epoll_wait(loop, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      auto* const connection = static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr);
      if (connection == nullptr) {
        const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (socket < 0) continue;
        send_at_once(socket);
        add(loops[accepted++ % loops.size()], socket);
      } else if (!connection->ready(events[static_cast<std::size_t>(i)].events, take)) {
        ::close(connection->socket);
        delete connection;
      }
    }
  }
}

void serve(const Options& options) {
  map_counters(options);
  const auto answer = [](const Header& header, std::span<const char> body, Outbox& out) {
    const auto reply = reply_to(header, body);
    out.add({static_cast<std::uint32_t>(reply.size()), header.method, header.call}, reply);
  };
  std::vector<int> loops;
  for (std::size_t i = 0; i < options.threads; ++i) loops.push_back(::epoll_create1(EPOLL_CLOEXEC));
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < options.threads; ++i) threads.emplace_back([&, i] { run(loops[i], answer); });
  const int listener = listen_on_loopback(SOCK_NONBLOCK);
  ::epoll_event event{EPOLLIN, {.ptr = nullptr}};
  ::epoll_ctl(loops[0], EPOLL_CTL_ADD, listener, &event);
  run(loops[0], answer, listener, loops);
}

void load(const Options& options) {
  Caller caller{options};
  const int loop = ::epoll_create1(EPOLL_CLOEXEC);
  std::vector<Connection*> connections;
  for (std::size_t i = 0; i < options.connections; ++i) connections.push_back(&add(loop, connect_to(options.port)));
  if (options.role == "idle") tell_connected(connections.size());
  else caller.started();
  for (Connection* const connection : connections) {
    if (options.role == "idle" && !options.used) break;
    caller.begin(connection->out);
    connection->flush();
  }
  run(loop, [&caller](const Header& header, std::span<const char>, Outbox& out) { caller.answered(header, out); });
}

}  // namespace

auto main(int argc, char** argv) -> int {
  const Options options{argc, argv};
  options.role == "serve" ? serve(options) : load(options);
}
