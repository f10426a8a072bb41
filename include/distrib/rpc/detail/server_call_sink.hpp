// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/server_event.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Who is told, in place of the server's owner, what happens to one call.
class ServerCallSink {
 public:
  virtual ~ServerCallSink() = default;
  virtual void happened(const ServerEvent& event) = 0;
  virtual void ended(const std::error_code& why) = 0;  ///< The connection has ended, or the call without its handler.
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
