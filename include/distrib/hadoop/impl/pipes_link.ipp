// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/hadoop/pipes_link.hpp>

#include <distrib/net/address.hpp>
#include <distrib/net/connect.hpp>
#include <distrib/net/instant.hpp>

#include <fcntl.h>

#include <chrono>

namespace distrib {
inline namespace v0 {
namespace hadoop {

DISTRIB_DECL SocketLink::SocketLink(std::uint16_t port, Error& error) {
  const ConnectOptions options{.deadline = instant_after(std::chrono::steady_clock::now(), std::chrono::seconds{10})};
  Connector connector{context_.get_executor(), Address{"127.0.0.1", port}, options,
                      [&](const Error& failure, std::optional<TcpSocket> socket) {
                        error = failure;
                        socket_ = std::move(socket);
                      }};
  context_.run();
}

DISTRIB_DECL auto SocketLink::read_some(std::span<std::byte> space, std::error_code& ec) -> std::size_t {
  if (ended_) return 0;  // the end is reported once: another read might wait forever
  const std::size_t count = perform(DriveAction::read_some(space), ec);
  ended_ = count == 0;
  return count;
}

DISTRIB_DECL auto SocketLink::perform(const DriveAction& action, std::error_code& ec) -> std::size_t {
  One one{action};
  async_drive(*socket_, one, [&](const std::error_code& result) { ec = result; });
  context_.restart();
  context_.run();
  return one.count;
}

DISTRIB_DECL ReplayLink::ReplayLink(const std::string& path, Error& error) {
  from_ = {path, O_RDONLY, error.code};
  error.where = path;
  if (error) return;
  to_ = {path + ".out", O_WRONLY | O_CREAT | O_TRUNC, error.code};
  if (error) error.where += ".out";
  else error = {};
}

}  // namespace hadoop
}  // namespace v0
}  // namespace distrib
