// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/client_event.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Receives the events of one call of a client.
class ClientCallSink {
 public:
  virtual ~ClientCallSink() = default;
  /// True if the call may receive items of a stream; false if it has one answer.
  [[nodiscard]] virtual auto takes_items() const noexcept -> bool = 0;
  virtual void happened(const ClientEvent& event) = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
