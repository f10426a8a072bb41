// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/page_server.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto page_listening(std::shared_ptr<const Transport> transport, ClientRules rules) -> PeerListenerOptions {
  PeerListenerOptions how;
  how.transport = std::move(transport);
  how.rules = std::make_shared<const ClientRules>(std::move(rules));
  how.plain = {
      "GET ", "HTTP/1.1 400 Bad Request\r\nContent-Length: 26\r\nConnection: close\r\n\r\nuse https: it speaks TLS.\n"};
  return how;
}

}  // namespace v0
}  // namespace distrib
