// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/detail/peer_handshake.hpp>
#include <distrib/net/peer_stream.hpp>
#include <distrib/net/tls/tls.hpp>
#include <distrib/net/transport.hpp>

#include "support/catch.hpp"
#include "support/certificates.hpp"
#include "support/loopback.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

/// Two ends of a TLS connection.
namespace tls_ends {

inline const std::string here = "DNS:localhost,IP:127.0.0.1";

inline auto authority() -> const support::Authority& {
  static const support::Authority ours{"ours"};
  return ours;
}

/// Returns TLS that accepts every client with a certificate of the authority.
inline auto any_of(const distrib::TlsFiles& files) -> std::shared_ptr<const distrib::Tls> {
  distrib::TlsOptions options;
  options.peers = {"*"};
  return distrib::Tls::from_files(files, std::move(options));
}
/// Returns TLS with a certificate of our authority for this machine.
inline auto ours() -> std::shared_ptr<const distrib::Tls> {
  static const auto made = any_of(authority().issue("ours", here));
  return made;
}

/// Both ends after a handshake, and the error of each. If a server does not accept the certificate, the client's
/// handshake succeeds, and its first read fails: that is `of_client` then.
struct Ends {
  Ends(asio::io_context& context, const std::shared_ptr<const distrib::Transport>& serves,
       const std::shared_ptr<const distrib::Transport>& calls, const std::string& host = "localhost",
       distrib::ClientRules rules = {})
      : Ends{context, support::SocketPair{context}, serves, calls, host, std::move(rules)} {}

  Ends(asio::io_context& context, support::SocketPair pair, const std::shared_ptr<const distrib::Transport>& serves,
       const std::shared_ptr<const distrib::Transport>& calls, const std::string& host, distrib::ClientRules rules) {
    using distrib::detail::PeerHandshake;
    const auto accepting = std::make_shared<PeerHandshake>(std::move(pair.socket), "server's peer");
    const auto connecting = std::make_shared<PeerHandshake>(std::move(pair.peer), "client's peer");
    int open = 2;
    const auto into = [&open](std::optional<distrib::PeerStream>& stream, distrib::Error& error) {
      return [&](const distrib::Error& failure, std::optional<distrib::PeerStream> made) {
        --open;
        error = failure;
        if (made) stream.emplace(*std::move(made));
      };
    };
    accepting->accept(serves, std::make_shared<const distrib::ClientRules>(std::move(rules)), {},
                      support::now() + std::chrono::seconds{60}, into(server, of_server));
    connecting->connect(*calls, host, support::now() + std::chrono::seconds{60}, into(client, of_client));
    support::run_until(context, [&] { return open == 0; });
    if (!client || server) return;
    std::array<std::byte, 1> byte{};
    std::error_code ec = asio::error::would_block;
    while (ec == asio::error::would_block) {
      client->read_some(distrib::ReadSpace{byte}, ec);
      context.restart();
      context.poll();
    }
    of_client = {ec, "client's peer"};
  }

  std::optional<distrib::PeerStream> server;
  std::optional<distrib::PeerStream> client;
  distrib::Error of_server;
  distrib::Error of_client;
};

}  // namespace tls_ends
