// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/peer_connector.hpp>
#include <distrib/ps/cut/state_fetch_core.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/rpc/rpc_client.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The shell of a `StateFetchCore`: has its own connection to the other replica of a shard, and a timer.
///
/// Calls `came` once, on the executor, with the fetched cut; see `StateFetched::cut` for when it is empty. Must be
/// owned by a shared_ptr; if it is destroyed before that, it calls nothing.
///
/// Threads: one at a time, the executor's.
class StateFetch : public std::enable_shared_from_this<StateFetch> {
 public:
  using Executor = asio::io_context::executor_type;
  using Came = std::function<void(std::optional<Cut>)>;

  DISTRIB_DECL StateFetch(const Executor& executor, const Address& sibling, RpcClientOptions options,
                          StateFetchCore core, Came came);

  void start() { core_.start(Clock::now(), *this); }

  // --- the actions of the core ---

  DISTRIB_DECL void operator()(ConnectToSibling action);
  DISTRIB_DECL void operator()(AskSibling action);
  DISTRIB_DECL void operator()(AskSiblingLater action);
  void operator()(StateFetched action);

 private:
  using Clock = std::chrono::steady_clock;

  Executor executor_;
  Address sibling_;
  RpcClientOptions options_;
  StateFetchCore core_;
  Came came_;
  SteadyTimer pause_;
  std::shared_ptr<PeerConnector> connector_;  // a shared pointer only so that the destructor needs no complete type
  std::shared_ptr<RpcClient> client_;
};

inline void StateFetch::operator()(StateFetched action) {
  connector_.reset();
  client_.reset();
  std::exchange(came_, {})(std::move(action.cut));
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/server/detail/impl/state_fetch.ipp>
#endif
