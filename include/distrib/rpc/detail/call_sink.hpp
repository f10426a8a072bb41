// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/server_core.hpp>

namespace distrib::inline v0::detail {

/// Who is told, in place of the server's owner, what happens to one call.
class ServerCallSink {
 public:
  virtual ~ServerCallSink() = default;
  virtual void happened(const ServerEvent& event) = 0;
  virtual void closed() = 0;  ///< The connection has ended.
};

/// Who is told what happens to one call of a client.
class ClientCallSink {
 public:
  virtual ~ClientCallSink() = default;
  virtual void happened(const ClientEvent& event) = 0;
};

}  // namespace distrib::inline v0::detail
