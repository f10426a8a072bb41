// SPDX-License-Identifier: Apache-2.0
// The lowest possible cost of moving the main job's bytes: the same processes on loopback, with blocking sockets and
// without this library. In each step every worker sends one message to each server. A server that has the messages of
// all workers answers each of them, and a worker that has all answers begins the next step. Each message is one write,
// and no byte of a payload is read.
#include "processes.hpp"

#include <CLI/CLI.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace {

/// Precedes every payload, and is as long as the header of the library's frames.
struct Header {
  std::uint64_t step = 0, payload_bytes = 0, unused[2] = {};
};
static_assert(sizeof(Header) == 32);

void check(bool good, const char* what) {
  if (!good) throw std::system_error{errno, std::generic_category(), what};
}

struct Listener {
  int socket = -1;
  ::sockaddr_in address{};
};

auto listen_on_loopback() -> Listener {
  Listener listener{::socket(AF_INET, SOCK_STREAM, 0), {}};
  listener.address.sin_family = AF_INET;
  listener.address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  ::socklen_t length = sizeof listener.address;
  auto* address = reinterpret_cast<::sockaddr*>(&listener.address);
  check(::bind(listener.socket, address, length) == 0, "bind");
  check(::listen(listener.socket, SOMAXCONN) == 0, "listen");
  check(::getsockname(listener.socket, address, &length) == 0, "getsockname");
  return listener;
}

void send_at_once(int socket) {
  const int on = 1;
  check(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
}

auto connect_to(const Listener& listener) -> int {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const auto* address = reinterpret_cast<const ::sockaddr*>(&listener.address);
  check(::connect(socket, address, sizeof listener.address) == 0, "connect");
  send_at_once(socket);
  return socket;
}

void send_message(int socket, std::uint64_t step, std::vector<std::byte>& payload) {
  Header header{step, payload.size()};
  const ::iovec pieces[] = {{&header, sizeof header}, {payload.data(), payload.size()}};
  const ::ssize_t sent = ::writev(socket, pieces, 2);  // on a blocking socket this writes everything
  check(sent == static_cast<::ssize_t>(sizeof header + payload.size()), "writev");
}

/// Reads a message into `buffer`, whose size is that of header and payload together. Throws if the connection ends or
/// the message is of another step or size.
void receive_message(int socket, std::uint64_t step, std::vector<std::byte>& buffer) {
  for (std::size_t got = 0; got < buffer.size();) {
    const ::ssize_t n = ::recv(socket, buffer.data() + got, buffer.size() - got, 0);
    check(n >= 0, "recv");
    if (n == 0) throw std::runtime_error{"the other end closed its connection"};
    got += static_cast<std::size_t>(n);
  }
  Header header;
  std::memcpy(&header, buffer.data(), sizeof header);
  if (header.step != step || header.payload_bytes != buffer.size() - sizeof header)
    throw std::runtime_error{"a message has the wrong step or size"};
}

struct Traffic {
  std::size_t workers = 3;
  std::uint64_t steps = 3000;
  std::vector<std::size_t> push_bytes, pull_bytes;  // one number for each server
};

// This cannot deadlock: all workers write to server 0 first, then to server 1 and so on, and then read in the same
// order.
void serve(const Traffic& traffic, std::size_t server, const Listener& listener) {
  std::vector<int> workers;
  while (workers.size() < traffic.workers) {
    workers.push_back(::accept(listener.socket, nullptr, nullptr));
    check(workers.back() >= 0, "accept");
    send_at_once(workers.back());
  }
  std::vector<std::byte> received(sizeof(Header) + traffic.push_bytes[server]), answer(traffic.pull_bytes[server]);
  for (std::uint64_t step = 0; step < traffic.steps; ++step) {
    for (const int worker : workers) receive_message(worker, step, received);
    for (const int worker : workers) send_message(worker, step, answer);
  }
}

void work(const Traffic& traffic, const std::vector<Listener>& listeners) {
  std::vector<int> servers;
  std::vector<std::vector<std::byte>> pushes, answers;
  for (std::size_t s = 0; s < listeners.size(); ++s) {
    servers.push_back(connect_to(listeners[s]));
    pushes.emplace_back(traffic.push_bytes[s]);
    answers.emplace_back(sizeof(Header) + traffic.pull_bytes[s]);
  }
  for (const Listener& listener : listeners) ::close(listener.socket);
  for (std::uint64_t step = 0; step < traffic.steps; ++step) {
    for (std::size_t s = 0; s < servers.size(); ++s) send_message(servers[s], step, pushes[s]);
    for (std::size_t s = 0; s < servers.size(); ++s) receive_message(servers[s], step, answers[s]);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  Traffic traffic;
  CLI::App app{"Moves the bytes of a training job over plain sockets and prints the cost as JSON."};
  app.add_option("--workers", traffic.workers, "Worker processes")->check(CLI::Range(1, 100))->capture_default_str();
  app.add_option("--steps", traffic.steps, "Steps")->check(CLI::Range(0, 1 << 30))->capture_default_str();
  app.add_option("--push_bytes", traffic.push_bytes, "Bytes of a worker's message to each server: A,B,...")
      ->delimiter(',')
      ->required();
  app.add_option("--pull_bytes", traffic.pull_bytes, "Bytes of each server's answer: A,B,...")
      ->delimiter(',')
      ->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 64;
  }
  if (traffic.push_bytes.size() != traffic.pull_bytes.size()) {
    std::fprintf(stderr, "error: --push_bytes and --pull_bytes must have equally many numbers, one for each server\n");
    return 64;
  }

  std::vector<Listener> listeners;
  for (std::size_t s = 0; s < traffic.push_bytes.size(); ++s) listeners.push_back(listen_on_loopback());
  std::vector<std::function<void()>> processes;
  for (std::size_t s = 0; s < listeners.size(); ++s)
    processes.emplace_back([&traffic, &listeners, s] { serve(traffic, s, listeners[s]); });
  for (std::size_t w = 0; w < traffic.workers; ++w)
    processes.emplace_back([&traffic, &listeners] { work(traffic, listeners); });
  const Cost cost = run_processes(processes);
  if (!cost.complete) return 70;

  double bytes = 0;
  for (std::size_t s = 0; s < listeners.size(); ++s)
    bytes += static_cast<double>(traffic.push_bytes[s] + traffic.pull_bytes[s] + 2 * sizeof(Header));
  bytes *= static_cast<double>(traffic.workers) * static_cast<double>(traffic.steps);
  std::printf(
      "{\"cpu_seconds\":%.3f,\"user_seconds\":%.3f,\"system_seconds\":%.3f,\"seconds\":%.3f,\"steps_per_second\":%.1f,"
      "\"bytes_per_second\":%.0f}\n",
      cost.user_seconds + cost.system_seconds, cost.user_seconds, cost.system_seconds, cost.seconds,
      static_cast<double>(traffic.steps) / cost.seconds, bytes / cost.seconds);
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 70;
}
