// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/server_event.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Receives the events of one call, instead of the session's owner.
class ServerCallSink {
 public:
  virtual ~ServerCallSink() = default;
  virtual void happened(const ServerEvent& event) = 0;
  /// Called when the connection has ended, or when the session ended the call because an item was too large.
  virtual void ended(const std::error_code& why) = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
