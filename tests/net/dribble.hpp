// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/asio.hpp>
#include <distrib/net/transport.hpp>

#include "support/catch.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace support {

/// A secure layer that reads one byte and takes three at a time, and holds back one byte in each read until the next.
/// Of every third call it says that the socket accepts no more. Its end needs two calls.
class Dribble final : public distrib::SecureLayer {
 public:
  auto handshake(int, distrib::Error&) -> Wait override { return Wait::none; }
  auto read(int socket, std::span<std::byte> front, std::span<std::byte>, std::error_code& ec) -> std::size_t override {
    std::array<std::byte, 2> bytes{};
    if (held_.empty()) {
      const ::ssize_t count = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (count <= 0) {
        if (count == 0) ec = asio::error::eof;
        else ec = asio::error::would_block;
        return 0;
      }
      held_.assign(bytes.begin(), bytes.begin() + count);
    }
    front[0] = held_.front();
    held_.erase(held_.begin());
    return 1;
  }
  auto write(int socket, std::span<const distrib::ByteView> pieces, std::error_code& ec) -> std::size_t override {
    if (++writes_ % 3 == 0) {
      ec = asio::error::would_block;
      return 0;
    }
    const distrib::ByteView some = pieces[0].first(std::min<std::size_t>(pieces[0].size(), 3));
    CHECK(::send(socket, some.data(), some.size(), MSG_NOSIGNAL) == static_cast<::ssize_t>(some.size()));
    return some.size();
  }
  auto holds_bytes() const noexcept -> bool override { return !held_.empty(); }
  void end(int socket, std::error_code& ec) override {
    if (!std::exchange(asked_, true)) ec = asio::error::would_block;
    else CHECK(::send(socket, "!", 1, MSG_NOSIGNAL) == 1);
  }
  auto binding() const -> distrib::ChannelBinding override { return {std::byte{1}}; }

 private:
  std::vector<std::byte> held_;
  int writes_ = 0;
  bool asked_ = false;
};

}  // namespace support
