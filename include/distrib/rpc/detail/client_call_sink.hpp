// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/client_event.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Who is told what happens to one call of a client.
class ClientCallSink {
 public:
  virtual ~ClientCallSink() = default;
  [[nodiscard]] virtual auto takes_items() const noexcept -> bool = 0;  ///< Else it has one answer.
  virtual void happened(const ClientEvent& event) = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
