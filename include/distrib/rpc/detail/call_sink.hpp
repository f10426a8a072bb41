// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/server_core.hpp>

#include <system_error>

namespace distrib::inline v0::detail {

/// Who is told, in place of the server's owner, what happens to one call.
class ServerCallSink {
 public:
  virtual ~ServerCallSink() = default;
  virtual void happened(const ServerEvent& event) = 0;
  virtual void ended(const std::error_code& why) = 0;  ///< The connection has ended, or the call without its handler.
};

/// Who is told what happens to one call of a client.
class ClientCallSink {
 public:
  virtual ~ClientCallSink() = default;
  [[nodiscard]] virtual auto takes_items() const noexcept -> bool = 0;  ///< Else it has one answer.
  virtual void happened(const ClientEvent& event) = 0;
};

}  // namespace distrib::inline v0::detail
