// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

// The wire format of the peers that use sockets directly: a header of 16 bytes and a body. No checksum, deadline, limit
// or error: calls need at least this. Programs that read ahead use `Inbox` and `Outbox`.

struct Header {
  std::uint32_t size = 0;  ///< Bytes of the body.
  std::uint32_t method = 0;  ///< A `MethodNumber`.
  std::uint64_t call = 0;
};
static_assert(sizeof(Header) == 16);

enum MethodNumber : std::uint32_t { echo = 0, push = 1, pull = 2 };

inline auto method_number(const Options& options) -> MethodNumber {
  return options.method == "push" ? push : options.method == "pull" ? pull : echo;
}

/// The received bytes: a buffer that is filled by reads as large as its free space, and the frames in it.
class Inbox {
 public:
  [[nodiscard]] auto space() -> std::span<char> {
    if (begin_ == end_) begin_ = end_ = 0;
    if (capacity_ - begin_ < wanted_ || capacity_ - end_ < least_space) make_room();
    return {memory_.get() + end_, capacity_ - end_};
  }
  void filled(std::size_t count) { end_ += count; }

  /// Calls `take(header, body)` for every complete frame and removes it.
  template <class Take>
  void each(Take take) {
    Header header;
    while (end_ - begin_ >= sizeof header) {
      std::memcpy(&header, memory_.get() + begin_, sizeof header);
      if (end_ - begin_ < sizeof header + header.size) {
        wanted_ = sizeof header + header.size;
        return;
      }
      take(header, std::span<const char>{memory_.get() + begin_ + sizeof header, header.size});
      begin_ += sizeof header + header.size;
    }
    wanted_ = sizeof header;
  }

 private:
  static constexpr std::size_t read_ahead = 64 << 10, least_space = 4 << 10;

  // Makes room for the rest of the frame that has begun, and for more; moves the received bytes to the front.
  void make_room() {
    if (capacity_ < wanted_ + least_space) {
      capacity_ = wanted_ > sizeof(Header) ? wanted_ + read_ahead : read_ahead;
      auto larger = std::make_unique_for_overwrite<char[]>(capacity_);
      if (end_ != begin_) std::memcpy(larger.get(), memory_.get() + begin_, end_ - begin_);
      memory_ = std::move(larger);
    } else {
      std::memmove(memory_.get(), memory_.get() + begin_, end_ - begin_);
    }
    end_ -= std::exchange(begin_, 0);
  }

  std::unique_ptr<char[]> memory_;
  std::size_t capacity_ = 0, begin_ = 0, end_ = 0;
  std::size_t wanted_ = sizeof(Header);  // bytes from `begin_` on that the next frame needs
};

/// The bytes to send. While one batch is written, frames are added to the next. Bodies up to `most_copied` bytes are
/// copied; larger ones must live until they are written.
class Outbox {
 public:
  void add(const Header& header, std::span<const char> body) {
    copy({reinterpret_cast<const char*>(&header), sizeof header});
    if (body.size() <= most_copied) copy(body);
    else next_.pieces.push_back({body.data(), body.size()});
  }

  /// Returns the parts to write now; empty: there is nothing to write. They stay the same until `written`.
  [[nodiscard]] auto parts() -> std::span<const std::span<const char>> {
    if (writing_.parts.empty() && !next_.pieces.empty()) {
      std::swap(writing_, next_);
      const char* bytes = writing_.bytes.data();
      for (const Piece& piece : writing_.pieces) {
        writing_.parts.emplace_back(piece.outside != nullptr ? piece.outside : bytes, piece.size);
        if (piece.outside == nullptr) bytes += piece.size;
      }
      at_ = 0;
    }
    return std::span<const std::span<const char>>{writing_.parts}.subspan(at_);
  }
  void written(std::size_t count) {
    while (at_ < writing_.parts.size() && count >= writing_.parts[at_].size()) count -= writing_.parts[at_++].size();
    if (at_ < writing_.parts.size()) {
      writing_.parts[at_] = writing_.parts[at_].subspan(count);
      return;
    }
    writing_.bytes.clear();
    writing_.pieces.clear();
    writing_.parts.clear();
    at_ = 0;
  }

 private:
  static constexpr std::size_t most_copied = 2 << 10;

  struct Piece {
    const char* outside;  // null: the piece is the next `size` bytes of `Batch::bytes`
    std::size_t size;
  };
  struct Batch {
    std::vector<char> bytes;
    std::vector<Piece> pieces;
    std::vector<std::span<const char>> parts;
  };

  void copy(std::span<const char> bytes) {
    if (next_.pieces.empty() || next_.pieces.back().outside != nullptr) next_.pieces.push_back({nullptr, 0});
    next_.bytes.insert(next_.bytes.end(), bytes.begin(), bytes.end());
    next_.pieces.back().size += bytes.size();
  }

  Batch next_, writing_;
  std::size_t at_ = 0;
};

/// Returns the body of the reply to `request`, the same for all servers.
inline auto reply_to(const Header& request, std::span<const char> body) -> std::span<const char> {
  if (request.method == echo) return body;
  if (request.method == push) return block().first(small_bytes);
  std::uint32_t size = 0;
  std::memcpy(&size, body.data(), sizeof size);
  return block().first(size);
}

/// The calls of a client: whenever a call has ended, the next begins (role load only).
class Caller {
 public:
  explicit Caller(const Options& options)
      : load_{options},
        in_flight_{options.in_flight},
        reply_size_{reply_size(options)},
        goes_on_{options.role == "load"},
        request_{request_bytes(options)},
        method_{method_number(options)} {}

  /// Adds the first calls of a connection, `in_flight` of them.
  void begin(Outbox& out) {
    for (std::size_t i = 0; i < in_flight_; ++i) out.add(header(), request_);
  }
  void started() { load_.start(); }

  void answered(const Header& reply, Outbox& out) {
    answered(reply);
    if (goes_on_) out.add(header(), request_);
  }
  void answered(const Header& reply) {
    if (reply.size != reply_size_) fail("a reply has the wrong size");
    load_.completed();
  }

  [[nodiscard]] auto header() -> Header { return {static_cast<std::uint32_t>(request_.size()), method_, ++call_}; }
  [[nodiscard]] auto request() const -> std::span<const char> { return request_; }

 private:
  Load load_;
  std::size_t in_flight_;
  std::uint32_t reply_size_;
  bool goes_on_;
  std::vector<char> request_;
  MethodNumber method_;
  std::uint64_t call_ = 0;
};

// --- sockets of the programs without Asio ---

inline void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// Listens on a free port of 127.0.0.1 and prints the port.
inline auto listen_on_loopback(int flags) -> int {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  ::socklen_t length = sizeof address;
  auto* const any = reinterpret_cast<::sockaddr*>(&address);
  if (::bind(socket, any, length) != 0 || ::listen(socket, SOMAXCONN) != 0 || ::getsockname(socket, any, &length) != 0)
    fail("cannot listen on 127.0.0.1");
  block();
  tell_port(::ntohs(address.sin_port));
  return socket;
}

inline auto connect_to(std::uint16_t port) -> int {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  address.sin_port = ::htons(port);
  if (::connect(socket, reinterpret_cast<const ::sockaddr*>(&address), sizeof address) != 0)
    fail("cannot connect to the server");
  send_at_once(socket);
  return socket;
}
