// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/net/peer_connector.hpp>
#include <distrib/net/peer_stream.hpp>
#include <distrib/net/transport.hpp>
#include <distrib/net/transport_refresh.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/protocol/look_core.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/client_options.hpp>
#include <distrib/rpc/rpc_client.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How an onlooker finds the parameter servers of its job, and how long it waits for them.
struct LookClientOptions {
  /// If it has seen no values for this long after its start, it ends with code 1.
  std::chrono::milliseconds start_within{300'000};
  /// If it cannot reach a shard, or is not served, for this long, it ends with code 1.
  std::chrono::milliseconds lost_after{660'000};
  RpcClientOptions rpc;  ///< `service` and `categories` are set by the client.
  /// As `WorkerClientOptions::accepted`.
  std::shared_ptr<const ClientRules> accepted = {};
  Observer observer = {};  ///< Called on the executor.
};

/// What a `LookClient` tells its owner, on the executor. Any member may call the client.
class LookOwner {
 public:
  virtual ~LookOwner() = default;
  virtual void looked(LookedAt values) = 0;
  virtual void cannot_keep_up(Step step) = 0;  ///< See `CannotKeepUp`.
  /// A shard cannot be reached, or does not serve this onlooker. The client tries again.
  virtual void troubled(const Error& why) = 0;
  /// Code 0: the job is done. 1: the shards cannot be reached, or do not serve this onlooker, for too long. 65: they
  /// refuse it. Nothing follows.
  virtual void ended(int code, const Error& why) = 0;
};

/// Looks at the values of a running job over TCP, without being one of its ranks: a connection to each shard, opened
/// again whenever it is lost, and the `LookCore` that uses these connections. With replicas of shards it goes to the
/// other replica when it loses one.
///
/// Threads: one at a time, the executor's. Must be owned by a shared_ptr; its handlers keep it alive. `owner` must live
/// until `ended` or `close`.
class LookClient : public std::enable_shared_from_this<LookClient> {
 public:
  using Executor = asio::io_context::executor_type;

  /// `servers`: the address of each ps task, in the order of their indexes. `rows`: the rows that each look asks for,
  /// one entry per shard; empty: none.
  ///
  /// Errors: throws `ps_errc::shard_too_large` as `WorkerClient`.
  DISTRIB_DECL LookClient(const Executor& executor, const Job& job, std::vector<Address> servers,
                          const std::vector<WantedRows>& rows, LookClientOptions options, LookOwner& owner);
  LookClient(const LookClient&) = delete;
  auto operator=(const LookClient&) -> LookClient& = delete;
  ~LookClient() = default;

  /// Starts to connect. Must be called once.
  DISTRIB_DECL void start();
  /// As `LookCore::look` and `look_at_end`.
  DISTRIB_DECL void look();
  DISTRIB_DECL void look_at_end();
  /// Ends the connections. The owner is not called any more.
  DISTRIB_DECL void close();

 private:
  using Clock = std::chrono::steady_clock;

  /// The connection to one shard, or to one of its replicas.
  struct Link {
    Link(const Executor& executor, std::uint32_t of_shard, SharedBuffer wanted)
        : shard{of_shard}, replica{of_shard}, rows{std::move(wanted)}, pause{executor} {}

    std::uint32_t shard;
    std::uint32_t replica;
    SharedBuffer rows;  // what is asked of its tables; null: nothing
    std::unique_ptr<PeerConnector> connector;
    std::unique_ptr<RpcClient> client;
    std::shared_ptr<asio::cancellation_signal> cancel;  // of its call; null: none was made
    detail::SteadyTimer pause;
    std::uint64_t number = 0;  // of its connection
    bool here = false;  // the server has greeted
  };

  // Performs the actions of the core.
  struct Out {
    LookClient* client;
    DISTRIB_DECL void operator()(AskLook ask) const;
    DISTRIB_DECL void operator()(DropLooks) const;
    DISTRIB_DECL void operator()(AskEnd ask) const;
    DISTRIB_DECL void operator()(JobDone) const;
    DISTRIB_DECL void operator()(LookedAt values) const;
    DISTRIB_DECL void operator()(CannotKeepUp action) const;
  };

  DISTRIB_DECL void connect(Link& link);
  DISTRIB_DECL void connected(Link& link, const Error& error, std::optional<PeerStream> stream);
  DISTRIB_DECL void greeted(Link& link);
  DISTRIB_DECL void answered(Link& link, const std::error_code& code, const std::string& text, PullReply reply);
  // A call has failed.
  DISTRIB_DECL void failed(Link& link, const std::error_code& code, const std::string& text);
  // Tries again after a pause; or ends, if this has gone on for too long.
  DISTRIB_DECL void lost(Link& link, const Error& why);
  DISTRIB_DECL void not_served(const Error& why);
  DISTRIB_DECL void hang_up(Link& link);
  DISTRIB_DECL void trouble(std::optional<Instant>& since, const Error& why);
  DISTRIB_DECL void end(int code, const Error& why);
  // True if another attempt would end in the same way.
  [[nodiscard]] DISTRIB_DECL static auto is_refusal(const std::error_code& code) -> bool;
  [[nodiscard]] DISTRIB_DECL auto name_of(const Link& link) const -> std::string;

  static constexpr std::chrono::milliseconds pause_after_loss{500};

  Executor executor_;
  Job job_;
  std::string hash_;
  std::vector<Address> servers_;
  LookClientOptions options_;
  LookOwner& owner_;
  LookCore core_;
  Out out_{this};
  std::deque<Link> links_;  // one per shard
  std::optional<TransportRefresh> refresh_;
  std::uint64_t jitter_;
  std::uint64_t pauses_ = 0;
  std::uint64_t ticket_ = 0;  // of the calls whose answers are needed
  std::optional<Instant> lost_since_;  // a shard cannot be reached
  std::optional<Instant> unserved_since_;  // a shard has refused to serve
  bool has_looked_ = false;
  bool is_done_ = false;  // the job; the owner is told soon
  bool closed_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/worker/impl/look_client.ipp>
#endif
