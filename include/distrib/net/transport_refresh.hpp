// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/transport.hpp>

#include <memory>
#include <string>

namespace distrib {
inline namespace v0 {

/// For what the certificate of this end must be good, see `Transport::check`.
struct OwnIdentity {
  std::string host = {};  ///< Empty: not checked.
  std::shared_ptr<const ClientRules> rules = {};  ///< Of the servers that this end calls. Null: not checked.
};

/// Has a transport read changed certificate files while this object lives, every `Transport::refresh_every()`. Reports
/// files that are refused, and once a key file that other users may read, as `Event::Kind::tls_refused`.
///
/// Threads: one at a time; while the executor runs, only its thread, on which `observer` is called and files are read.
/// Must be destroyed before the executor's context, and keeps that context's `run()` busy until it is stopped.
class TransportRefresh {
 public:
  using Executor = asio::io_context::executor_type;

  /// `transport` null: does nothing. `observer` may be empty. The first report comes later, on the executor.
  DISTRIB_DECL TransportRefresh(const Executor& executor, std::shared_ptr<const Transport> transport, OwnIdentity own,
                                Observer observer);
  TransportRefresh(const TransportRefresh&) = delete;
  auto operator=(const TransportRefresh&) -> TransportRefresh& = delete;
  ~TransportRefresh() { stop(); }

  /// Reads and reports nothing any more.
  DISTRIB_DECL void stop() noexcept;

 private:
  struct State;

  std::shared_ptr<State> state_;  // null: stopped
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/net/impl/transport_refresh.ipp>
#endif
