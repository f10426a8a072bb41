// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/file_descriptor.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/drive.hpp>

#include <array>
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

/// A connection to the Hadoop process that started this program. Its functions block, because a task has nothing else
/// to do meanwhile. Runs its own `io_context` on the calling thread.
///
/// Threads: one at a time.
class SocketLink {
 public:
  /// Connects to 127.0.0.1. After at most ten seconds without success it sets `error` to `net_errc::refused` or
  /// `timed_out`; the link must then not be used.
  DISTRIB_DECL SocketLink(std::uint16_t port, Error& error);

  /// Waits for at least one byte. Returns the number of bytes read; 0 at the end, and after a failure, which sets `ec`.
  /// After that it returns 0 at once and leaves `ec` as it is.
  DISTRIB_DECL auto read_some(std::span<std::byte> space, std::error_code& ec) -> std::size_t;

  /// Sends all of `bytes`.
  void write(ByteView bytes, std::error_code& ec) { perform(DriveAction::write(bytes), ec); }

  /// Waits until the other side closes the connection, which it does after the last message. Trap: if this side closed
  /// first, the other side might lose that message before it has read it.
  void finish() {
    std::array<std::byte, 4096> rest;
    std::error_code ec;
    while (read_some(rest, ec) != 0) {
    }
  }

 private:
  /// A core that performs one action.
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

  DISTRIB_DECL auto perform(const DriveAction& action, std::error_code& ec) -> std::size_t;

  asio::io_context context_{1};
  std::optional<TcpSocket> socket_;
  bool ended_ = false;
};

/// A recorded conversation: reads Hadoop's messages from one file and writes the answers to another.
class ReplayLink {
 public:
  /// Reads `path`, writes `path` + ".out". On failure `error` is the operating system's reason; the link must then not
  /// be used.
  DISTRIB_DECL ReplayLink(const std::string& path, Error& error);

  /// Reads the next bytes of the file and returns their number; 0 at its end, and after a failure, which sets `ec`.
  auto read_some(std::span<std::byte> space, std::error_code& ec) -> std::size_t { return from_.read(space, ec); }

  /// Writes all of `bytes`.
  void write(ByteView bytes, std::error_code& ec) { to_.write(bytes, ec); }

  /// Does nothing: there is nothing to wait for.
  void finish() const noexcept {}

 private:
  distrib::detail::FileDescriptor from_;
  distrib::detail::FileDescriptor to_;
};

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/hadoop/impl/pipes_link.ipp>
#endif
