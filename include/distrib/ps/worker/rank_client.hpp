// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/net/peer_connector.hpp>
#include <distrib/net/peer_stream.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/client_options.hpp>
#include <distrib/rpc/rpc_client.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What a `RankClient` asks of its owner, and tells it, on the executor. No member may destroy the client.
class RankOwner {
 public:
  virtual ~RankOwner() = default;
  /// Returns the ranks that this process serves.
  [[nodiscard]] virtual auto serves() const -> std::vector<Rank> = 0;
  virtual void dealt(const AskRanksReply& reply) = 0;  ///< The answer of the dealer.
  /// The dealer refuses this process (code 65), or cannot be reached for too long (1 at the start, later 70). Nothing
  /// follows.
  virtual void not_dealt(int code, const Error& why) = 0;
};

/// Asks the first shard of a job, again and again, which ranks this process shall serve. If the connection is lost, it
/// is opened again, and the process goes on with the ranks that it has.
///
/// Threads: one at a time, the executor's. Must be owned by a shared_ptr; its handlers keep it alive. `owner` must live
/// until `close`.
class RankClient : public std::enable_shared_from_this<RankClient> {
 public:
  using Executor = asio::io_context::executor_type;

  /// How this process asks.
  struct Options {
    std::uint32_t index = 0;  ///< Of this process, among the workers of the cluster.
    bool is_chief = false;
    std::uint32_t ranks = 0;  ///< Of the job.
    std::uint32_t most_ranks = 0;  ///< `Job::most_ranks`.
    std::chrono::milliseconds start_within{300'000};  ///< As `WorkerClientOptions::start_within`.
    std::chrono::milliseconds lost_after{660'000};  ///< As `WorkerClientOptions::lost_after`.
    RpcClientOptions rpc;
  };

  DISTRIB_DECL RankClient(const Executor& executor, Address server, Options options, RankOwner& owner);
  RankClient(const RankClient&) = delete;
  auto operator=(const RankClient&) -> RankClient& = delete;
  ~RankClient() = default;

  DISTRIB_DECL void start();
  /// Tells the dealer that this process gives up its ranks, if it can be reached; asks nothing any more.
  DISTRIB_DECL void leave();
  /// Ends the connection. The owner is not called any more.
  DISTRIB_DECL void close();

 private:
  using Clock = std::chrono::steady_clock;

  DISTRIB_DECL void connect();
  DISTRIB_DECL void connected(const Error& error, std::optional<PeerStream> stream);
  DISTRIB_DECL void ask();
  DISTRIB_DECL void answered(const std::error_code& code, const std::string& text, const AskRanksReply& reply);
  DISTRIB_DECL void lost(const std::error_code& code);
  DISTRIB_DECL void fail(int code, const Error& why);
  DISTRIB_DECL void after(std::chrono::milliseconds pause, void (RankClient::*what)());
  [[nodiscard]] DISTRIB_DECL auto question(bool leaves) const -> AskRanksRequest;

  static constexpr std::chrono::milliseconds ask_within{30'000};
  static constexpr std::chrono::milliseconds pause_between{20};
  static constexpr std::chrono::milliseconds pause_after_loss{500};

  Executor executor_;
  Address server_;
  Options options_;
  RankOwner& owner_;
  std::uint64_t id_;  // of this process
  std::unique_ptr<PeerConnector> connector_;
  std::unique_ptr<RpcClient> client_;
  detail::SteadyTimer timer_;
  Instant deadline_{};  // when to give up connecting
  bool was_answered_ = false;  // since it last connected
  bool ever_answered_ = false;
  bool closed_ = false;  // asks nothing any more
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/worker/impl/rank_client.ipp>
#endif
