// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/instant.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/server/rank_dealer.hpp>
#include <distrib/ps/server/shard_identity.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/call.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Answers `AskRanks` of the processes of a job with dealt ranks. A question waits until there is something to say, or
/// for `answer_within`: the next question shows that the process is alive.
template <class Connection>
class RankDesk {
 public:
  static constexpr std::chrono::milliseconds answer_within{500};

  RankDesk(const ShardIdentity& identity, const DealingTimes& times, Instant now) : identity_{identity} {
    if (identity.processes != 0 && identity.task == 0 && identity.shard == 0)
      dealer_.emplace(identity.ranks, identity.processes, times, now);
  }

  void ask(AskRanksRequest request, Call<AskRanks, Connection> call, Instant now) {
    if (const std::string unlike = unlike_ranks(request); !unlike.empty())
      return call.fail(ps_errc::other_ranks, unlike);
    if (!dealer_) return call.fail(ps_errc::other_ranks, "only the first shard of /job:ps/task:0 deals ranks");
    if (request.index >= identity_.processes)
      return call.fail(ps_errc::other_ranks, "worker " + std::to_string(request.index) +
                                                 " asks for ranks, and the list of "
                                                 "workers of this parameter server has " +
                                                 std::to_string(identity_.processes));
    const std::uint64_t process = request.process;
    if (request.leaves) {
      dealer_->left(process, now);
      call.reply({});
      answer(now);
    } else {
      dealer_->asked({process, request.index, request.is_chief, request.most_ranks}, request.serves, now);
      std::vector<Rank> dealt = dealer_->dealt(process);
      if (dealt != request.serves) call.reply({std::move(dealt), false});
      else waiting_.push_back({process, std::move(request.serves), instant_after(now, answer_within), std::move(call)});
      answer(now);
    }
  }

  /// In a synchronous job whose ranks change: its log, and the newest cut that all shards have, as far as is known. Deals
  /// the ranks that make later steps. Called after every event of the shard.
  void wants(const SharedRankLog& log, Step common_cut, Instant now) {
    if (!dealer_ || (log == log_ && (common_cut == common_cut_ || log->entries().size() == 1))) return;
    log_ = log;
    common_cut_ = common_cut;
    dealer_->wants(log->ranks_after(common_cut), now);
    answer(now);
  }

  /// In an asynchronous job whose ranks change: deals these ranks, see `AsyncShardCore::needed_ranks`.
  void wants(std::vector<Rank> ranks, Instant now) {
    if (!dealer_) return;
    dealer_->wants(std::move(ranks), now);
    answer(now);
  }

  /// The connection is lost.
  void closed(const Connection& connection) {
    if (std::erase_if(waiting_, [&](const Waiting& one) { return one.call.connection() == connection; }) != 0)
      set_wake();
  }

  /// Returns when `woken` must be called; empty: not before the next event. Asked after every event of the shard, so it
  /// does not look at all processes.
  [[nodiscard]] auto wake() const -> std::optional<Instant> { return wake_; }
  void woken(Instant now) {
    if (!dealer_) return;
    dealer_->look(now);
    answer(now);
  }

  /// The shard is over: tells all that wait. `code`: why, if the job is not done.
  void end_all(bool is_done, const std::error_code& code, std::string_view where) {
    for (const Waiting& one : std::exchange(waiting_, {}))
      if (is_done) one.call.reply({{}, true});
      else one.call.fail(code, where);
  }

  /// Returns how a worker that joins differs from this server in whether ranks are dealt, as a sentence for a message;
  /// empty if it does not differ.
  [[nodiscard]] auto unlike(const JoinRequest& request) const -> std::string {
    if ((request.process != 0) == (identity_.processes != 0)) return {};
    if (request.process != 0) return started_without();
    return "this parameter server was started with --ranks " + std::to_string(identity_.ranks) +
           ", the worker of rank " + std::to_string(request.rank) + " without it, or it is of an older version";
  }

 private:
  struct Waiting {
    std::uint64_t process = 0;
    std::vector<Rank> serves;
    Instant until{};
    Call<AskRanks, Connection> call;
  };

  static auto started_without() -> std::string {
    return "this parameter server was started without --ranks, the worker with it";
  }
  [[nodiscard]] auto unlike_ranks(const AskRanksRequest& request) const -> std::string {
    if (identity_.processes == 0) return started_without();
    if (request.ranks == identity_.ranks) return {};
    return "this parameter server was started with --ranks " + std::to_string(identity_.ranks) + ", the worker with " +
           std::to_string(request.ranks);
  }

  // Answers those that wait whose ranks have moved, or who have waited long enough. They wait in the order of time.
  void answer(Instant now) {
    const bool some_moved = std::exchange(answered_, dealer_->version()) != dealer_->version();
    std::deque<Waiting> still;
    for (Waiting& one : some_moved ? std::exchange(waiting_, {}) : std::deque<Waiting>{}) {
      std::vector<Rank> dealt = dealer_->dealt(one.process);
      if (dealt != one.serves) one.call.reply({std::move(dealt), false});
      else still.push_back(std::move(one));
    }
    if (some_moved) waiting_ = std::move(still);
    for (; !waiting_.empty() && now >= waiting_.front().until; waiting_.pop_front())
      waiting_.front().call.reply({waiting_.front().serves, false});
    set_wake();
  }
  void set_wake() {
    wake_ = dealer_->wake();
    if (!waiting_.empty()) wake_ = std::min(wake_.value_or(waiting_.front().until), waiting_.front().until);
  }

  ShardIdentity identity_;
  std::optional<RankDealer> dealer_;  // empty: another shard deals, or none
  SharedRankLog log_;  // null: it is not known yet, or the ranks of the job never change
  Step common_cut_ = 0;
  std::deque<Waiting> waiting_;
  std::uint64_t answered_ = 0;  // `RankDealer::version` when all that wait were looked at
  std::optional<Instant> wake_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
