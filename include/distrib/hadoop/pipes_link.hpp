// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/file_descriptor.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connect.hpp>
#include <distrib/net/drive.hpp>
#include <distrib/net/instant.hpp>

#include <fcntl.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace hadoop {

/// A connection to the Hadoop that started this program, in steps that block: a task has nothing else to do meanwhile.
/// Runs an `io_context` of its own on the thread that calls. One thread at a time.
class SocketLink {
 public:
  /// Connects to 127.0.0.1. Fails after ten seconds with `net_errc::refused` or `timed_out`.
  SocketLink(std::uint16_t port, Error& error) {
    const ConnectOptions options{.deadline = instant_after(std::chrono::steady_clock::now(), std::chrono::seconds{10})};
    Connector connector{context_.get_executor(), Address{"127.0.0.1", port}, options,
                        [&](const Error& failure, std::optional<TcpSocket> socket) {
                          error = failure;
                          socket_ = std::move(socket);
                        }};
    context_.run();
  }

  /// Waits for a byte or more; 0 at the end.
  auto read_some(std::span<std::byte> space, std::error_code& ec) -> std::size_t {
    if (ended_) return 0;  // an end is told once: who asks again might wait for ever
    const std::size_t count = perform(DriveAction::read_some(space), ec);
    ended_ = count == 0;
    return count;
  }

  /// Sends all of `bytes`.
  void write(ByteView bytes, std::error_code& ec) { perform(DriveAction::write(bytes), ec); }

  /// Waits for the other side to close, as it does after the last message: who left before it has read might take that
  /// message away.
  void finish() {
    std::array<std::byte, 4096> rest;
    std::error_code ec;
    while (read_some(rest, ec) != 0) {
    }
  }

 private:
  /// A core that wants one thing.
  struct One {
    DriveAction action;
    std::size_t count = 0;
    bool asked = false;

    auto next(const std::error_code& ec, std::size_t done) -> DriveAction {
      if (!std::exchange(asked, true)) return action;
      count = done;
      return DriveAction::done(ec);
    }
  };

  auto perform(const DriveAction& action, std::error_code& ec) -> std::size_t {
    One one{action};
    async_drive(*socket_, one, [&](const std::error_code& result) { ec = result; });
    context_.restart();
    context_.run();
    return one.count;
  }

  asio::io_context context_{1};
  std::optional<TcpSocket> socket_;
  bool ended_ = false;
};

/// A conversation that was recorded: reads what Hadoop said from one file and writes the answers to another.
class ReplayLink {
 public:
  /// Reads `path`, writes `path` + ".out". Fails with the system's reason.
  ReplayLink(const std::string& path, Error& error) {
    from_ = {path, O_RDONLY, error.code};
    error.where = path;
    if (error) return;
    to_ = {path + ".out", O_WRONLY | O_CREAT | O_TRUNC, error.code};
    if (error) error.where += ".out";
    else error = {};
  }

  /// The next bytes of the file; 0 at its end.
  auto read_some(std::span<std::byte> space, std::error_code& ec) -> std::size_t { return from_.read(space, ec); }

  /// Writes all of `bytes`.
  void write(ByteView bytes, std::error_code& ec) { to_.write(bytes, ec); }

  /// Nothing to wait for.
  void finish() const noexcept {}

 private:
  distrib::detail::FileDescriptor from_;
  distrib::detail::FileDescriptor to_;
};

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
