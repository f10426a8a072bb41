// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/tls/tls_connect.hpp>
#include <distrib/net/tls/tls_listener.hpp>

#include "support/certificates.hpp"

#include <string>

/// A server and a client that trust the same authority.
namespace tls_ends {

inline auto authority() -> const support::Authority& {
  static const support::Authority ours{"ours"};
  return ours;
}
inline auto client() -> distrib::TlsConnect {
  return distrib::TlsConnect{distrib::TlsContext{distrib::TlsSide::client, {{}, {}, authority().file()}}};
}
inline auto server(const std::string& names = "DNS:localhost,IP:127.0.0.1") -> distrib::TlsAccept {
  return distrib::TlsAccept{distrib::TlsContext{distrib::TlsSide::server, authority().issue("server", names)}};
}

}  // namespace tls_ends
