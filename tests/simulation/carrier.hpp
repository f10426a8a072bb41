// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/crc32c.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/ps/job/rank_block.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/protocol/rank_log_core.hpp>
#include <distrib/ps/server/rank_dealer.hpp>
#include <distrib/ps/store/pull_rows.hpp>
#include <distrib/ps/worker/served_ranks.hpp>
#include <distrib/sim/dice.hpp>

#include "support/actions.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// Whole jobs of production cores. The test carries their messages, and draws everything that can go wrong from one
/// seed.
namespace simulation {

/// By what an entry multiplies the learning rate of one of its steps. Computed step by step, unlike `RankRate::at`. The
/// numbers of entries that are drawn are exact.
[[nodiscard]] inline auto drawn_factor(const distrib::RankEntry& entry, distrib::Step step) -> double {
  double factor = entry.rate.from;
  for (distrib::Step gone = entry.from; gone < step && gone < entry.from + entry.rate.steps; ++gone)
    factor += (entry.rate.to - entry.rate.from) / static_cast<double>(entry.rate.steps);
  return factor;
}

using distrib::Cut;
using distrib::Peer;
using distrib::Rank;
using distrib::Step;
using distrib::sim::Dice;

/// The durable cuts of one shard.
using Disk = std::map<Step, Cut>;

/// Who deals the ranks of a job, and which ranks a process serves. Used only if the rules name a `Dealer`.
template <class Rules>
struct DealingOf {
  using Dealer = distrib::RankDealer;
  using Served = distrib::ServedRanks;
};
template <class Rules>
  requires requires { typename Rules::Dealer; }
struct DealingOf<Rules> {
  using Dealer = typename Rules::Dealer;
  using Served = typename Rules::Served;
};

/// Carries one job from start to end. `Rules` is a kind of job, drawn from the dice: which cores, what a contribution
/// is, what must be true of every answer, of every cut and at the end (see random_runs_test.cpp).
///
/// Faults:
///
/// - messages of different connections are delivered in any order; messages of one connection in order;
/// - connections are lost with the messages on them, or half lost: the shard reads the rest after the worker is back on
///   another connection;
/// - workers and shards are killed and started again; old processes of a rank (zombies) continue beside their
///   successors; workers are asked to stop;
/// - cuts, contributions and the keys of rows take long; cuts are copied while updates continue;
/// - disks are lost in part or completely, or are full for a while;
/// - the state of another replica takes long, or the fetch breaks;
/// - the whole job is ended and started again with other settings;
/// - with backup workers: ranks are lost for ever, or for long, but not more than the job can do without, and not the
///   chief; each shard is told at a moment of its own that they are vacant. So are ranks that are away for a short time;
/// - with dealt ranks: processes come, are lost for ever or come back, leave, and go on as zombies, each with all its
///   ranks; their questions and the answers are lost or late, and the dealer starts anew with its shard; some processes
///   push the sums of their blocks of ranks, others push each rank alone, and some adopt ranks that others serve;
/// - with ranks that change, in synchronous and asynchronous jobs: operators propose other ranks. What they know of the
///   shards may be old, and they may die when only some shards have been asked. The files of the log of the ranks take
///   long.
///
/// In this class a "shard" is a replica of a shard, by its number.
template <class Rules>
class Carrier {
 public:
  explicit Carrier(std::uint64_t seed)
      : dice_{seed},
        of_changes_{seed ^ 0x5e77},
        of_dealing_{seed ^ 0xdea1},
        of_sums_{seed ^ 0x5005},
        of_scaling_{seed ^ 0x5ca1e},
        of_losses_{seed ^ 0x10555},
        rules_{dice_} {
    const auto span = static_cast<std::uint64_t>(contributions()) * (4 * shard_count() + 2);
    for (auto kills = dice_.pick<unsigned>({0, 1, 1, 2, 3, 6, 10}); kills > 0; --kills)
      faults_.push_back({dice_.between(1, span), true});
    for (auto resets = dice_.pick<unsigned>({0, 0, 2, 6}); resets > 0; --resets)
      faults_.push_back({dice_.between(1, span), false});
    std::ranges::sort(faults_, {}, &Fault::when);
    faultless_ = faults_.empty();
    loses_disks_ = rules_.survives_lost_disks && dice_.percent(25);
    keeps_dropped_cuts_ = dice_.percent(25);
    prepares_slowly_ = dice_.percent(25);
    copies_slowly_ = dice_.percent(50);
    if (dice_.percent(25)) disks_are_full_ = {dice_.below(span), dice_.between(1, 2 * span)};
    if constexpr (requires { rules_.change_settings(); })
      for (auto changes = of_changes_.pick<unsigned>({0, 0, 0, 1, 2}); changes > 0; --changes)
        changes_.push_back(
            of_changes_.between(1, of_changes_.percent(50) ? span : std::max<std::uint64_t>(1, span / 4)));
    if (!changes_.empty() && of_changes_.percent(50))
      slow_rank_ = static_cast<Rank>(of_changes_.below(rules_.job.ranks));
    std::ranges::sort(changes_);
    faultless_ = faultless_ && changes_.empty();
    if constexpr (deals) {
      changes_.clear();
      faultless_ = false;
      for (auto joins = of_dealing_.pick<unsigned>({0, 1, 2, 4}); joins > 0; --joins)
        joins_.push_back(of_dealing_.between(1, span));
      std::ranges::sort(joins_);
    }
    if constexpr (loses) {
      std::vector<Rank> others(rules_.job.ranks - 1);
      std::iota(others.begin(), others.end(), Rank{1});
      for (auto lost = of_losses_.below(spare() + 1); lost > 0; --lost) {
        const auto which = others.begin() + static_cast<std::ptrdiff_t>(of_losses_.below(others.size()));
        losses_.push_back({of_losses_.between(1, span), *which});
        others.erase(which);
      }
      std::ranges::sort(losses_, {}, &Loss::when);
    }
    if constexpr (scales) {
      changes_.clear();
      for (auto scaled = of_scaling_.pick<unsigned>({0, 1, 2, 4, 8}); scaled > 0; --scaled)
        scalings_.push_back(of_scaling_.between(1, span));
      std::ranges::sort(scalings_);
      attacks_ = !scalings_.empty();
      faultless_ = faultless_ && scalings_.empty();
    }
  }

  /// Returns an empty text if the job came to its end and everything was right; otherwise what was wrong.
  auto run() -> std::string {
    shards_.resize(shard_count());
    ranks_.resize(rules_.job.rank_names());
    for (std::uint32_t shard = 0; shard < shard_count(); ++shard) {
      shards_[shard].disk = rules_.first_disk(of(shard));
      start_shard(shard);
    }
    if constexpr (deals) {
      for (auto first = of_dealing_.between(1, 5); first > 0; --first) start_process(newest_index_++);
    } else {
      for (Rank rank = 0; rank < rules_.job.ranks; ++rank) start_worker(rank);
    }
    while (wrong_.empty() && !is_over()) {
      if (++now_ > most_events) return "stuck: events go on, but the job does not end";
      const bool waiting = misfortune();
      if (!event() && !waiting) return "stuck: no task has anything to do";
    }
    if (!is_drained()) return "stuck: events go on after the end of the job";
    if constexpr (loses) {
      tell_all_vacant();
      static_cast<void>(is_drained());
    }
    for (std::uint32_t shard = 0; wrong_.empty() && shard < shard_count(); ++shard) {
      if (faultless_ && !shards_[shard].done) wrong_ = "a shard is not done although all workers sent Goodbye";
      for (Rank rank = 0; rank < ranks_.size(); ++rank)
        if (!is_held(rank, shard)) wrong_ = "no disk of a shard holds everything of a rank at the end";
    }
    if constexpr (requires { rules_.change_settings(); }) {
      std::vector<const Disk*> disks;
      for (const ShardState& shard : shards_) disks.push_back(&shard.disk);
      if (wrong_.empty() && !rules_.end_in_one_history(disks)) wrong_ = "the last cuts of shards are of two histories";
    }
    return wrong_;
  }

 private:
  static constexpr std::uint64_t most_events = 400'000;
  static constexpr bool deals = requires { typename Rules::Dealer; };
  static constexpr bool scales = requires { Rules::scales; };
  static constexpr bool loses = requires { Rules::loses; };
  static constexpr bool scales_asynchronously = scales && !Rules::Shard::is_synchronous;

  struct Fault {
    std::uint64_t when;
    bool kill;
  };
  /// A rank is lost.
  struct Loss {
    std::uint64_t when;
    Rank rank;
  };
  /// A replica asks the other replica for its state.
  struct Asking {
    Peer peer = 0;  // the number of this connection at the other replica; 0: it has not been asked yet
    std::uint64_t until = 0;  // when the fetch ends if the other replica could not be asked before
    std::optional<Cut> coming;  // the state that was sent
  };
  struct ShardState {
    std::unique_ptr<typename Rules::Shard> core;  // null: down until `back`
    std::uint64_t back = 0;
    Disk disk;
    std::optional<Cut> saving;
    bool copying = false;
    std::optional<Step> loading;
    std::optional<Asking> asking;  // it asks the other replica for a newer state
    bool starting = false;  // true until the other replica has answered: no worker may join before
    std::vector<Peer> joining;  // the workers that wait to join
    bool saves_again = false;  // a cut found no disk space, and is tried again after a pause
    bool done = false;
    std::optional<distrib::RankFile> rank_file;  // durable
    std::optional<distrib::RankFile> rank_writing;
    std::set<Rank> vacant;  // it was told that these ranks are
    std::set<Rank> said_goodbye;  // to its present process
  };
  struct RankState {
    std::uint64_t worker = 0;  // 0: down until `back`
    std::uint64_t back = 0;
    bool done = false;
    bool lost = false;  // down for ever, or for long; nothing waits for it
  };
  struct WorkerState {
    distrib::RankBlock ranks;  // more than one only if ranks are dealt
    std::unique_ptr<typename Rules::Worker> core;
    std::vector<Peer> links;  // one per shard; 0: not connected
    std::deque<distrib::Prepare> preparing;
    std::deque<distrib::Compute> computing;
    std::uint64_t until = 0;  // when an older process of its rank (a zombie) ends; 0: the newest process
  };
  /// A process that serves dealt ranks.
  struct ProcessState {
    std::uint32_t index = 0;
    typename DealingOf<Rules>::Served core;
    std::map<distrib::RankBlock, std::uint64_t> workers = {};
    std::optional<std::uint64_t> answered_at = {};  // when the answer to its question comes; empty: it asks nothing now
    std::optional<std::vector<Rank>> answer = {};  // empty: it is lost
  };
  /// An operator's request for other ranks, on its way to one shard.
  struct Proposal {
    std::uint64_t when;
    std::uint32_t shard;
    distrib::RankEntry entry;
  };
  struct Returning {
    std::uint32_t index;
    std::uint64_t when;
  };
  struct Answer {
    support::ShardAction what;
    unsigned join;  // number of the Join: items of a Join that is not the newest are dropped, as in `WorkerNode`
  };
  struct Link {
    std::uint64_t worker;
    std::uint32_t shard;
    std::deque<support::WorkerAction> up;
    std::deque<Answer> down;
    unsigned joins_sent = 0;
    unsigned joins_read = 0;
    bool held = true;  // false: its worker has closed it; the shard notices this when it has read the rest
  };
  struct Choice {
    enum { read_up, hang_up, read_down, open, prepare, compute, copy, ask, take_state } what;
    std::uint64_t id;
    std::uint32_t shard;
  };

  // With dealt ranks: a rank that is done says that everything is saved; others that were served then end, too.
  [[nodiscard]] auto is_over() const -> bool {
    if constexpr (scales) return std::ranges::all_of(last_ranks(), [this](Rank rank) { return ranks_[rank].done; });
    if (!deals) return std::ranges::all_of(ranks_, [](const RankState& rank) { return rank.done || rank.lost; });
    return processes_.empty() && std::ranges::any_of(ranks_, &RankState::done);
  }

  // About how many contributions are made.
  [[nodiscard]] auto contributions() const -> std::uint64_t {
    return rules_.job.total_steps * (scales_asynchronously ? 1 : rules_.job.ranks);
  }
  // The last step of the job, as far as is known; used only if ranks change.
  [[nodiscard]] auto last_step() const -> Step {
    if constexpr (scales_asynchronously) return rules_.log().step_of(rules_.job.total_steps - 1);
    else return rules_.job.total_steps;
  }
  // The ranks for which the shards wait at the end; used only if ranks change.
  [[nodiscard]] auto last_ranks() const -> std::vector<Rank> {
    if constexpr (scales_asynchronously) return rules_.log().last_ranks(rules_.job.total_steps);
    else return rules_.log().entry_of(last_step())->ranks;
  }
  [[nodiscard]] auto shard_count() const -> std::uint32_t { return rules_.job.num_replicas(); }
  // Returns the shard that this is a replica of.
  [[nodiscard]] auto of(std::uint32_t shard) const -> std::uint32_t { return shard % rules_.job.shards(); }
  [[nodiscard]] auto sibling(std::uint32_t shard) const -> std::uint32_t {
    return (shard + rules_.job.shards()) % shard_count();
  }
  // True if the disk of the shard, or of the other replica, holds everything of this rank.
  [[nodiscard]] auto is_held(Rank rank, std::uint32_t shard) const -> bool {
    return rules_.holds_all_of(rank, of(shard), shards_[shard].disk) ||
           rules_.holds_all_of(rank, of(shard), shards_[sibling(shard)].disk);
  }

  // Lets all events happen. Returns false if they go on for ever.
  auto is_drained() -> bool {
    while (wrong_.empty() && event())
      if (++now_ > 2 * most_events) return false;
    return true;
  }

  // --- faults ---

  // Lets the faults happen that are due. Returns true if something will still happen without an event.
  auto misfortune() -> bool {
    for (; !faults_.empty() && faults_.front().when <= now_; faults_.erase(faults_.begin()))
      faults_.front().kill ? strike() : reset_one();
    for (; !changes_.empty() && changes_.front() <= now_; changes_.erase(changes_.begin())) change_settings();
    bool waiting = !faults_.empty() || !changes_.empty();
    for (std::uint32_t shard = 0; shard < shard_count(); ++shard)
      if (shards_[shard].core == nullptr) {
        waiting = true;
        if (shards_[shard].back <= now_) start_shard(shard);
      }
    if constexpr (loses) waiting = lose_ranks() || waiting;
    for (Rank rank = 0; !deals && rank < ranks_.size(); ++rank)
      if (ranks_[rank].worker == 0 && !ranks_[rank].done && is_wanted(rank)) {
        waiting = waiting || !ranks_[rank].lost;
        if (ranks_[rank].back <= now_) start_worker(rank);
      }
    if constexpr (scales) waiting = scale() || waiting;
    if constexpr (deals) {
      waiting = true;
      change_processes();
    }
    for (const std::uint64_t id : worker_ids()) {
      const std::uint64_t until = workers_.at(id).until;
      waiting = waiting || until != 0;
      if (until != 0 && until <= now_) end_worker(id, dice_.percent(50));
    }
    return waiting;
  }

  // Kills a process. Sometimes a worker continues as a zombie instead, or is asked to stop.
  void strike() {
    std::vector<std::uint32_t> up;  // shards, then ranks
    for (std::uint32_t shard = 0; shard < shard_count(); ++shard)
      if (shards_[shard].core != nullptr) up.push_back(shard);
    std::vector<std::uint64_t> processes;
    for (const auto& entry : processes_) processes.push_back(entry.first);
    for (Rank rank = 0; rank < (deals ? processes.size() : ranks_.size()); ++rank)
      if (deals || ranks_[rank].worker != 0) up.push_back(shard_count() + rank);
    if (up.empty()) return;
    const std::uint32_t victim = up[dice_.below(up.size())];
    if (victim < shard_count()) return end_shard(victim);
    if constexpr (deals) return strike_process(processes[victim - shard_count()]);
    RankState& rank = ranks_[victim - shard_count()];
    if (dice_.percent(30)) {
      workers_.at(rank.worker).until = now_ + dice_.between(20, 300);
    } else if (dice_.percent(30)) {
      return on_worker(rank.worker, [](auto& core, auto& out) { core.stop(out); });
    } else {
      end_worker(rank.worker, dice_.percent(50));
    }
    rank.worker = 0;
    rank.back = now_ + dice_.between(1, 60);
  }

  // Everything ends, and is started again with other settings.
  void change_settings() {
    if constexpr (requires { rules_.change_settings(); }) {
      if (!rules_.can_change_settings() || std::ranges::any_of(ranks_, &RankState::done)) return;
      for (const std::uint64_t id : worker_ids()) end_worker(id, false);
      for (RankState& rank : ranks_) rank = {0, now_ + dice_.between(1, 60), false};
      for (std::uint32_t shard = 0; shard < shard_count(); ++shard)
        if (shards_[shard].core != nullptr) end_shard(shard);
      rules_.change_settings();
      if (!rules_.survives_lost_disks || of_changes_.percent(50)) return;
      // After a few more steps a disk is lost, and all go back to before the change.
      loses_disks_ = true;
      keeps_disks_until_ = now_ + of_changes_.between(100, 400);
      for (auto kills = of_changes_.between(1, 3); kills > 0; --kills)
        faults_.push_back({keeps_disks_until_ + of_changes_.between(1, 100), true});
      std::ranges::sort(faults_, {}, &Fault::when);
    }
  }

  // --- ranks that are lost ---

  // How many ranks the job can do without.
  [[nodiscard]] auto spare() const -> Rank { return rules_.job.consistency.backup_workers(rules_.job.ranks); }

  // Ranks are lost, and shards are told that they are vacant. Returns true if there is more to come.
  auto lose_ranks() -> bool {
    for (; !losses_.empty() && losses_.front().when <= now_; losses_.erase(losses_.begin())) {
      RankState& rank = ranks_[losses_.front().rank];
      if (rank.done) continue;
      for (const std::uint64_t id : worker_ids())
        if (workers_.at(id).ranks.first == losses_.front().rank) end_worker(id, of_losses_.percent(50));
      rank = {0, of_losses_.percent(70) ? 4 * most_events : now_ + of_losses_.between(100, 1000), false, true};
    }
    bool waiting = !losses_.empty();
    for (std::uint32_t shard = 0; shard < shard_count(); ++shard)
      for (Rank rank = 1; rank < ranks_.size() && shards_[shard].core != nullptr; ++rank) {
        if (ranks_[rank].worker != 0 || ranks_[rank].done || is_linked(rank, shard)) continue;
        if (shards_[shard].vacant.contains(rank) || shards_[shard].vacant.size() == spare()) continue;
        waiting = waiting || ranks_[rank].lost;
        if (of_losses_.percent(2)) tell_vacant(rank, shard);
      }
    return waiting;
  }

  // A service learns that a rank is vacant by the time for which it is away.
  void tell_vacant(Rank rank, std::uint32_t shard) {
    shards_[shard].vacant.insert(rank);
    on_shard(shard, [rank](auto& core, auto& out) { core.vacate(rank, out); });
  }
  void tell_all_vacant() {
    for (std::uint32_t shard = 0; shard < shard_count(); ++shard)
      for (Rank rank = 1; rank < ranks_.size() && shards_[shard].core != nullptr; ++rank)
        if (ranks_[rank].lost && !is_linked(rank, shard)) tell_vacant(rank, shard);
  }

  // True if a worker of the rank is connected to the shard, as far as the shard knows.
  [[nodiscard]] auto is_linked(Rank rank, std::uint32_t shard) const -> bool {
    return std::ranges::any_of(links_, [&](const auto& entry) {
      return entry.second.shard == shard && ranks_of_.at(entry.second.worker).first == rank;
    });
  }

  // A shard is done: each rank must have said goodbye to it, or be vacant.
  void check_ended(const ShardState& state) {
    for (Rank rank = 0; rank < ranks_.size(); ++rank)
      if (!state.said_goodbye.contains(rank) && !state.vacant.contains(rank))
        fail("a shard is done that a rank has not left");
  }

  // --- ranks that change ---

  // True if the rank makes a step that some shard lacks. Asynchronous: also if it makes the last step of the job, because
  // the shards wait until it says goodbye.
  [[nodiscard]] auto is_wanted(Rank rank) const -> bool {
    if constexpr (scales_asynchronously) {
      Step least = distrib::end_of_job;
      for (const ShardState& shard : shards_) {
        const bool is_new = shard.core == nullptr && shard.disk.empty();
        least = std::min(least, shard.core != nullptr ? shard.core->progress(rank).done
                                : is_new              ? 0
                                                      : shard.disk.rbegin()->second.applied[rank]);
      }
      const std::vector<Rank> last = last_ranks();
      return rules_.log().next_step(least, rank, rules_.job.total_steps) != 0 ||
             std::ranges::find(last, rank) != last.end();
    } else if constexpr (scales) {
      Step least = rules_.job.total_steps - 1;
      for (const ShardState& shard : shards_)
        least = std::min(least, shard.core != nullptr ? shard.core->step() : shard.disk.rbegin()->first);
      return rules_.log().is_rank_after(least, rank);
    } else {
      return true;
    }
  }

  // Operators ask for other ranks, and shards get what was asked. Returns true if there is more to come.
  auto scale() -> bool {
    for (; !scalings_.empty() && scalings_.front() <= now_; scalings_.erase(scalings_.begin())) {
      const unsigned how = static_cast<unsigned>(of_scaling_.below(10));
      Step from = of_scaling_.between(2, std::max<Step>(2, last_step()));
      if (how < 6) {  // all shards are asked for their horizon, and none is missing
        from = of_scaling_.pick<Step>({0, 1, 1, 2});
        Step most = 0;
        for (const ShardState& shard : shards_) most = std::max(most, horizon_of(shard));
        from += most;
      } else if (how < 8) {
        from = horizon_of(shards_[of_scaling_.below(shard_count())]) + 1;
      }
      const bool to_all = of_scaling_.percent(60);
      const std::uint64_t always = of_scaling_.below(shard_count());
      const distrib::RankEntry entry = drawn_entry(from);
      for (std::uint32_t shard = 0; shard < shard_count(); ++shard)
        if (to_all || shard == always || of_scaling_.percent(50))
          proposals_.push_back({now_ + of_scaling_.below(60), shard, entry});
    }
    for (std::size_t i = 0; i < proposals_.size(); ++i) {
      if (proposals_[i].when > now_) continue;
      const Proposal due = proposals_[i];
      proposals_.erase(proposals_.begin() + static_cast<std::ptrdiff_t>(i--));
      if (shards_[due.shard].core != nullptr)
        on_shard(due.shard, [&](auto& core, auto&) { rules_.propose(core, due.entry); });
    }
    return !scalings_.empty() || !proposals_.empty();
  }

  [[nodiscard]] static auto horizon_of(const ShardState& shard) -> Step {
    if constexpr (scales)
      if (shard.core != nullptr) return shard.core->rank_log()->horizon();
    return shard.rank_file ? shard.rank_file->horizon : 0;
  }

  auto drawn_entry(Step from) -> distrib::RankEntry {
    distrib::RankEntry entry{from, ++newest_entry_, {}};
    for (Rank rank = 0; rank < ranks_.size(); ++rank)
      if (of_scaling_.percent(50) || rank == 0) entry.ranks.push_back(rank);
    // numbers whose sums and products are exact
    if (of_scaling_.percent(50)) entry.rate.from = of_scaling_.pick<double>({0.25, 0.5, 2, 3});
    entry.rate.to = of_scaling_.percent(50) ? entry.rate.from : of_scaling_.pick<double>({0.5, 1, 1.5, 4});
    if (entry.rate.from != entry.rate.to) entry.rate.steps = of_scaling_.pick<Step>({1, 2, 4, 8});
    return entry;
  }

  // A shard starts with the file that it wrote last. Sometimes an operator asks just then, this shard alone.
  void open_ranks(std::uint32_t shard) {
    if constexpr (scales) {
      ShardState& state = shards_[shard];
      on_shard(shard, [&](auto& core, auto&) { rules_.open(core, state.rank_file, core.rank_step()); });
      if (attacks_ && of_scaling_.percent(50))
        proposals_.push_back(
            {now_ + of_scaling_.below(20), shard, drawn_entry(state.core->rank_step() + of_scaling_.between(1, 7))});
    }
  }

  // The file of a shard is durable.
  void keep_ranks(std::uint32_t shard) {
    if constexpr (scales) {
      shards_[shard].rank_file = *std::exchange(shards_[shard].rank_writing, std::nullopt);
      rules_.agreed(of(shard), *shards_[shard].rank_file);
    }
  }

  // --- processes that serve dealt ranks ---

  [[nodiscard]] auto time() const -> distrib::Instant { return distrib::Instant{} + std::chrono::milliseconds{now_}; }

  void make_dealer() {
    dealer_.emplace(static_cast<Rank>(ranks_.size()), newest_index_ + of_dealing_.below(3),
                    distrib::DealingTimes{std::chrono::milliseconds{150}, std::chrono::milliseconds{40}}, time());
  }

  void start_process(std::uint32_t index) {
    const std::uint64_t id = ++newest_process_;
    const Rank sums_of = of_sums_.percent(70) ? rules_.job.ranks : 0;
    processes_.emplace(id, ProcessState{index, typename DealingOf<Rules>::Served{index == 0, sums_of}});
    on_process(id, [](auto& core, auto& out) { core.start(out); });
  }

  // Processes come and come back, ask, and get answers.
  void change_processes() {
    const bool is_done = std::ranges::any_of(ranks_, &RankState::done);
    for (; !joins_.empty() && joins_.front() <= now_; joins_.erase(joins_.begin()))
      if (!is_done) start_process(newest_index_++);
    for (std::size_t i = 0; i < returning_.size(); ++i)
      if (returning_[i].when <= now_) {
        const Returning back = returning_[i];
        returning_.erase(returning_.begin() + static_cast<std::ptrdiff_t>(i--));
        if (!is_done) start_process(back.index);
      }
    if (processes_.empty() && returning_.empty() && !is_done) returning_.push_back({newest_index_++, now_ + 20});
    if (dealer_ && dealer_->wake() && *dealer_->wake() <= time()) dealer_->look(time());
    std::vector<std::uint64_t> ids;
    for (const auto& entry : processes_) ids.push_back(entry.first);
    for (const std::uint64_t id : ids) {
      const auto known = processes_.find(id);
      if (known == processes_.end()) continue;
      ProcessState& process = known->second;
      if (is_done && of_dealing_.percent(10)) {
        on_process(id, [](auto& core, auto& out) { core.job_is_over(out); });
      } else if (!process.answered_at) {
        if (dealer_ && of_dealing_.percent(10)) ask_dealer(id, process);
      } else if (*process.answered_at <= now_) {
        process.answered_at.reset();
        const std::optional<std::vector<Rank>> answer = std::exchange(process.answer, std::nullopt);
        if (answer) on_process(id, [&](auto& core, auto& out) { core.dealt(*answer, out); });
      }
    }
  }

  void ask_dealer(std::uint64_t id, ProcessState& process) {
    process.answered_at = now_ + of_dealing_.below(20);
    if (of_dealing_.percent(10)) return;  // the question is lost
    dealer_->asked({id, process.index, process.index == 0}, process.core.serves(), time());
    if (of_dealing_.percent(90)) process.answer = dealer_->dealt(id);
    if (of_dealing_.percent(2)) process.answer.emplace();  // wrong advice, which costs time only
    if (wrong_advice_ != 0 && of_sums_.percent(3)) {  // ranks that others serve, too
      --wrong_advice_;
      const auto first = static_cast<Rank>(of_sums_.below(ranks_.size()));
      const auto number = static_cast<Rank>(of_sums_.between(1, ranks_.size() - first));
      process.answer.emplace(number);
      std::iota(process.answer->begin(), process.answer->end(), first);
    }
  }

  // A process is killed, goes on as a zombie without the dealer, or is asked to stop. Some come back.
  void strike_process(std::uint64_t id) {
    const std::uint32_t index = processes_.at(id).index;
    if (dice_.percent(50)) returning_.push_back({index, now_ + dice_.between(1, 60)});
    if (dice_.percent(30)) {
      if (dealer_ && dice_.percent(70)) dealer_->left(id, time());
      return on_process(id, [](auto& core, auto& out) { core.stop(out); });
    }
    const bool is_zombie = dice_.percent(30);
    for (const auto& [ranks, worker] : processes_.at(id).workers)
      if (is_zombie) workers_.at(worker).until = now_ + dice_.between(20, 300);
      else end_worker(worker, dice_.percent(50));
    processes_.erase(id);
  }

  template <class Event>
  void on_process(std::uint64_t id, Event happens) {
    struct Actions {
      std::vector<distrib::StartRanks> starts;
      std::vector<distrib::StopRanks> stops;
      bool done = false;
      void operator()(distrib::StartRanks action) { starts.push_back(action); }
      void operator()(distrib::StopRanks action) { stops.push_back(action); }
      void operator()(distrib::ProcessDone) { done = true; }
    } actions;
    happens(processes_.at(id).core, actions);
    for (const distrib::StartRanks& action : actions.starts) {
      start_worker(action.ranks);
      if (processes_.contains(id)) processes_.at(id).workers[action.ranks] = newest_worker_;
    }
    for (const distrib::StopRanks& action : actions.stops) {
      if (!processes_.contains(id)) break;
      const auto worker = processes_.at(id).workers.find(action.ranks);
      if (worker != processes_.at(id).workers.end())
        on_worker(worker->second, [](auto& core, auto& out) { core.stop(out); });
    }
    if (actions.done) processes_.erase(id);
  }

  // A worker has ended by itself.
  void worker_ended(std::uint64_t worker, distrib::RankBlock ranks, bool left) {
    for (Rank rank = ranks.first; rank < ranks.end(rules_.job.ranks); ++rank)
      ranks_[rank].done = ranks_[rank].done || !left;
    for (auto& [id, process] : processes_) {
      const auto served = process.workers.find(ranks);
      if (served == process.workers.end() || served->second != worker) continue;
      process.workers.erase(served);
      const int code = left ? distrib::exit_code::again : distrib::exit_code::done;
      return on_process(id, [&](auto& core, auto& out) { core.ended(ranks, code, out); });
    }
  }

  void reset_one() {
    std::vector<Peer> held;
    for (const auto& [peer, link] : links_)
      if (link.held) held.push_back(peer);
    if (held.empty()) return;
    const bool sent_arrives = dice_.percent(50);
    const Peer peer = held[dice_.below(held.size())];
    const auto [id, shard] = std::pair{links_.at(peer).worker, links_.at(peer).shard};
    let_go(peer, sent_arrives);
    lost(id, shard);
  }

  void start_shard(std::uint32_t shard) {
    ShardState& state = shards_[shard];
    // Workers must make again what a lost disk held, so none may have ended.
    if (loses_disks_ && now_ >= keeps_disks_until_ && std::ranges::none_of(ranks_, &RankState::done)) {
      if (dice_.percent(50)) state.disk = rules_.first_disk(of(shard));
      const Step newest = state.disk.rbegin()->first;
      if (dice_.percent(50))  // cut 0 can always be made again
        std::erase_if(state.disk, [newest](const auto& cut) { return cut.first != 0 && cut.first != newest; });
    }
    state.core = rules_.shard(of(shard), state.disk);
    open_ranks(shard);
    if constexpr (deals)
      if (shard == 0) make_dealer();
    if (rules_.job.replicas == 1) return;
    state.starting = true;
    ask_sibling(shard);
  }

  void ask_sibling(std::uint32_t shard) {
    if (!shards_[shard].asking) shards_[shard].asking = Asking{0, now_ + dice_.below(40), {}};
  }

  void end_shard(std::uint32_t shard) {
    ShardState& state = shards_[shard];
    state.vacant.clear();
    state.said_goodbye.clear();
    if (shard == 0) dealer_.reset();
    if (dice_.percent(20)) on_shard(shard, [](auto& core, auto& out) { core.save(out); });
    if (state.saving && dice_.percent(50)) state.disk.insert_or_assign(state.saving->step, *state.saving);
    state.saving.reset();
    if (state.rank_writing && of_scaling_.percent(50)) keep_ranks(shard);
    state.rank_writing.reset();
    state.copying = false;
    state.loading.reset();
    state.saves_again = false;
    state.core.reset();
    state.joining.clear();
    if (state.asking && state.asking->peer != 0 && shards_[sibling(shard)].core != nullptr)
      disconnect(sibling(shard), state.asking->peer);
    state.asking.reset();
    state.back = now_ + dice_.between(1, 60);
    std::vector<std::uint64_t> hear;  // the workers that lose the connection
    std::erase_if(links_, [&](const auto& entry) {
      if (entry.second.shard != shard) return false;
      if (entry.second.held) workers_.at(entry.second.worker).links[shard] = 0;
      if (entry.second.held) hear.push_back(entry.second.worker);
      return true;
    });
    for (const std::uint64_t id : hear) lost(id, shard);
    if (Asking* const other = asking_of(sibling(shard)); other != nullptr && other->peer != 0)
      take_state(sibling(shard), true);
  }

  [[nodiscard]] auto asking_of(std::uint32_t shard) -> Asking* {
    return rules_.job.replicas > 1 && shards_[shard].asking ? &*shards_[shard].asking : nullptr;
  }

  // The worker notices that its connection is lost.
  void lost(std::uint64_t id, std::uint32_t shard) {
    if constexpr (requires(typename Rules::Worker& core, support::WorkerActions& out) {
                    core.disconnected(shard, out);
                  })
      if (workers_.contains(id)) on_worker(id, [&](auto& core, auto& out) { core.disconnected(shard, out); });
  }

  void start_worker(distrib::RankBlock ranks) {
    const std::uint64_t id = ++newest_worker_;
    ranks_[ranks.first].worker = id;
    ranks_[ranks.first].lost = false;
    ranks_of_[id] = ranks;
    WorkerState& worker = workers_[id];
    worker = {ranks, new_worker(ranks), std::vector<Peer>(shard_count()), {}, {}, 0};
    for (std::uint32_t shard = 0; shard < shard_count(); ++shard)
      if (shards_[shard].core != nullptr) connect(id, shard);
    if (rules_.job.replicas == 1) return on_worker(id, [](auto& core, auto& out) { core.start(out); });
    for (std::uint32_t shard = 0; shard < shard_count(); ++shard)
      if (shards_[shard].core != nullptr) on_worker(id, [&](auto& core, auto& out) { core.reconnected(shard, out); });
  }

  [[nodiscard]] auto new_worker(distrib::RankBlock ranks) const {
    if constexpr (deals) return rules_.worker(ranks);
    else return rules_.worker(ranks.first);
  }

  // Ends a worker process. `sent_arrives`: the shards still read what it has sent.
  void end_worker(std::uint64_t id, bool sent_arrives) {
    for (const Peer peer : std::vector<Peer>{workers_.at(id).links})
      if (peer != 0) let_go(peer, sent_arrives);
    workers_.erase(id);
  }

  void connect(std::uint64_t worker, std::uint32_t shard) {
    links_[++newest_peer_] = {worker, shard, {}, {}};
    workers_.at(worker).links[shard] = newest_peer_;
  }

  // Closes the worker's end. The shard notices at once, or, if `sent_arrives`, after it has read the rest.
  void let_go(Peer peer, bool sent_arrives) {
    Link& link = links_.at(peer);
    workers_.at(link.worker).links[link.shard] = 0;
    link.held = false;
    link.down.clear();
    if (!sent_arrives) hang_up(peer);
  }

  void hang_up(Peer peer) {
    disconnect(links_.at(peer).shard, peer);
    std::erase(shards_[links_.at(peer).shard].joining, peer);
    links_.erase(peer);
  }

  void disconnect(std::uint32_t shard, Peer peer) {
    on_shard(shard, [peer](auto& core, auto& out) { core.disconnect(peer, out); });
  }

  // --- events ---

  // Lets one of the possible events happen. Returns false if there is none.
  auto event() -> bool {
    choices_.clear();
    for (const auto& [peer, link] : links_) {
      if (!link.up.empty()) choices_.push_back({Choice::read_up, peer, link.shard});
      else if (!link.held) choices_.push_back({Choice::hang_up, peer, link.shard});
      if (!link.down.empty() && is_awake(link.worker)) choices_.push_back({Choice::read_down, peer, link.shard});
    }
    for (const auto& [id, worker] : workers_) {
      if (!worker.preparing.empty() && (!prepares_slowly_ || dice_.percent(5)))
        choices_.push_back({Choice::prepare, id, 0});
      if (!worker.computing.empty() && is_awake(id)) choices_.push_back({Choice::compute, id, 0});
      for (std::uint32_t shard = 0; shard < shard_count(); ++shard)
        if (worker.links[shard] == 0 && shards_[shard].core != nullptr) choices_.push_back({Choice::open, id, shard});
    }
    for (std::uint32_t shard = 0; shard < shard_count(); ++shard)
      if (shards_[shard].copying && (!copies_slowly_ || dice_.percent(20)))
        choices_.push_back({Choice::copy, 0, shard});
    for (std::uint32_t shard = 0; shard < shard_count(); ++shard)
      if (const auto& asking = shards_[shard].asking; asking && dice_.percent(30)) {
        if (asking->peer == 0) choices_.push_back({Choice::ask, 0, shard});
        if (asking->coming) choices_.push_back({Choice::take_state, 0, shard});
      }
    if (choices_.empty()) add_slow_choices();
    const bool disks_work = std::ranges::any_of(shards_, [](const ShardState& s) {
      return s.saving || s.loading || s.saves_again || s.copying || s.asking || s.rank_writing;
    });
    if (choices_.empty() && !disks_work) return false;
    if (choices_.empty() || dice_.percent(4)) work_disks();
    else happen(choices_[dice_.below(choices_.size())]);
    return true;
  }

  // A slow worker seldom receives and computes, while the others continue.
  auto is_awake(std::uint64_t worker) -> bool {
    return !slow_rank_ || ranks_of_.at(worker).first != *slow_rank_ || dice_.percent(10);
  }

  // Used if nothing else can happen.
  void add_slow_choices() {
    for (const auto& [id, worker] : workers_) {
      if (choices_.empty() && !worker.preparing.empty()) choices_.push_back({Choice::prepare, id, 0});
      if (choices_.empty() && !worker.computing.empty()) choices_.push_back({Choice::compute, id, 0});
    }
    for (const auto& [peer, link] : links_)
      if (choices_.empty() && !link.down.empty()) choices_.push_back({Choice::read_down, peer, link.shard});
  }

  // Disks are slower than messages.
  void work_disks() {
    for (std::uint32_t shard = 0; shard < shard_count(); ++shard) {
      if (shards_[shard].saving && dice_.percent(50) && now_ - disks_are_full_.from < disks_are_full_.events &&
          (shard + now_) % 3 != 0) {
        shards_[shard].saving.reset();
        shards_[shard].saves_again = true;
        on_shard(shard, [](auto& core, auto& out) { core.no_room(out); });
      } else if (shards_[shard].saves_again && dice_.percent(20)) {
        shards_[shard].saves_again = false;
        on_shard(shard, [](auto& core, auto& out) { core.save_again(out); });
      }
      if (shards_[shard].saving && dice_.percent(50)) {
        const Cut cut = *std::exchange(shards_[shard].saving, std::nullopt);
        shards_[shard].disk.insert_or_assign(cut.step, cut);
        on_shard(shard, [&](auto& core, auto& out) { core.cut_saved(cut.step, out); });
        check_common_cut();
      }
      if (shards_[shard].loading && dice_.percent(50)) load(shard);
      if constexpr (scales)
        if (shards_[shard].rank_writing && dice_.percent(60)) {
          keep_ranks(shard);
          on_shard(shard, [](auto& core, auto& out) { core.ranks_written(out); });
        }
    }
  }

  void happen(const Choice& choice) {
    switch (choice.what) {
      case Choice::read_up: return read_up(choice.id);
      case Choice::hang_up: return hang_up(choice.id);
      case Choice::read_down: return read_down(choice.id);
      case Choice::open:
        connect(choice.id, choice.shard);
        return on_worker(choice.id, [&](auto& core, auto& out) { core.reconnected(choice.shard, out); });
      case Choice::prepare: return prepare(choice.id);
      case Choice::compute: return compute(choice.id);
      case Choice::copy: return copy(choice.shard);
      case Choice::ask: return ask(choice.shard);
      case Choice::take_state: return take_state(choice.shard, dice_.percent(20));
    }
  }

  void read_up(Peer peer) {
    Link& link = links_.at(peer);
    auto message = std::move(link.up.front());
    link.up.pop_front();
    const distrib::RankBlock ranks = ranks_of_.at(link.worker);
    if (std::holds_alternative<distrib::SendJoin>(message)) ++link.joins_read;
    if (ShardState& state = shards_[link.shard]; state.starting) {  // as in `ShardService`
      if (std::holds_alternative<distrib::SendJoin>(message)) {
        std::erase(state.joining, peer);
        state.joining.push_back(peer);
      }
      return;
    }
    if (std::holds_alternative<distrib::SendJoin>(message)) shards_[link.shard].vacant.erase(ranks.first);
    if (std::holds_alternative<distrib::SendGoodbye>(message)) shards_[link.shard].said_goodbye.insert(ranks.first);
    on_shard(link.shard, [&](auto& core, auto& out) {
      if (std::holds_alternative<distrib::SendJoin>(message)) join(core, peer, ranks, out);
      if (auto* m = std::get_if<distrib::SendPull>(&message)) core.pull(peer, m->step, out, asked_for(link.shard, *m));
      if (auto* m = std::get_if<distrib::SendPush>(&message)) core.push(peer, std::move(m->contribution), out);
      if (std::holds_alternative<distrib::SendSave>(message)) {
        if constexpr (requires { core.save(peer, out); }) core.save(peer, out);
        else core.save(out);
      }
      if (std::holds_alternative<distrib::SendGoodbye>(message)) core.goodbye(peer, out);
      if (std::holds_alternative<distrib::SendLeave>(message)) core.disconnect(peer, out);
      if constexpr (requires { core.restore(peer, Step{}, out, std::uint64_t{}); })
        if (auto* m = std::get_if<distrib::SendRestore>(&message)) core.restore(peer, m->cut, out, m->lineage);
      if (auto* m = std::get_if<distrib::SendCatchUp>(&message)) {
        if (core.step() > m->done) join(core, peer, ranks, out);
        else ask_sibling(link.shard);
      }
    });
  }

  static void join(auto& core, Peer peer, distrib::RankBlock ranks, auto& out) {
    if constexpr (deals) core.join(peer, ranks, out);
    else core.join(peer, ranks.first, out);
  }

  // Asks the other replica. If that replica is down, tries again for a while.
  void ask(std::uint32_t shard) {
    ShardState& state = shards_[shard];
    if (shards_[sibling(shard)].core == nullptr) {
      if (now_ >= state.asking->until) take_state(shard, true);
      return;
    }
    state.asking->peer = ++newest_peer_;
    if constexpr (requires(typename Rules::Shard& core, support::ShardActions& out) {
                    core.state(Peer{}, Step{}, out);
                  })
      on_shard(sibling(shard), [&](auto& core, auto& out) { core.state(state.asking->peer, state.core->step(), out); });
  }

  // Ends the fetch. `broken`: without a state.
  void take_state(std::uint32_t shard, bool broken) {
    ShardState& state = shards_[shard];
    if (state.asking->peer != 0 && shards_[sibling(shard)].core != nullptr)
      disconnect(sibling(shard), state.asking->peer);
    const std::optional<Cut> cut = broken ? std::nullopt : std::move(state.asking->coming);
    state.asking.reset();
    if constexpr (requires(typename Rules::Shard& core, support::ShardActions& out) { core.state_came(nullptr, out); })
      on_shard(shard, [&](auto& core, auto& out) {
        core.state_came(cut ? &*cut : nullptr, out);
        if (!std::exchange(state.starting, false)) return;
        for (const Peer peer : std::exchange(state.joining, {}))
          join(core, peer, ranks_of_.at(links_.at(peer).worker), out);
      });
  }

  // The other replica has answered.
  void send_state(std::uint32_t shard, const distrib::SendState& answer) {
    Asking* const asking = asking_of(sibling(shard));
    if (asking == nullptr || asking->peer != answer.peer)
      return fail("a state is sent, but the other replica does not wait for one");
    if (answer.step == 0) return take_state(sibling(shard), true);
    if (!shards_[shard].disk.contains(answer.step)) return fail("a shard sends a cut that was dropped");
    asking->coming = shards_[shard].disk.at(answer.step);
  }

  void read_down(Peer peer) {
    Link& link = links_.at(peer);
    auto [message, join] = std::move(link.down.front());
    link.down.pop_front();
    const std::uint32_t shard = link.shard;
    const bool is_item =
        std::holds_alternative<distrib::JoinedReply>(message) || std::holds_alternative<distrib::NoticeReply>(message);
    if (is_item && join != link.joins_sent) return;
    on_worker(link.worker, [&](auto& core, auto& out) {
      if (auto* m = std::get_if<distrib::JoinedReply>(&message)) core.joined(shard, m->progress, out);
      if (auto* m = std::get_if<distrib::NoticeReply>(&message)) core.notice(shard, m->progress, out);
      if (auto* m = std::get_if<distrib::PushedReply>(&message)) core.pushed(shard, m->progress, out);
      if (auto* m = std::get_if<distrib::ValuesReply>(&message))
        core.values(shard, m->step, m->block, m->progress, out);
      if constexpr (requires { core.gone(shard, Step{}, distrib::Progress{}, out); })
        if (auto* m = std::get_if<distrib::GoneReply>(&message)) core.gone(shard, m->step, m->progress, out);
    });
  }

  // Reads the rows of a pull, as the shard's service does.
  auto asked_for(std::uint32_t shard, const distrib::SendPull& pull) -> distrib::PullRows {
    distrib::PullRows rows;
    if (read_pull_rows(rules_.layouts()[of(shard)], pull.rows.keys, 1 << 20, rows))
      fail("the keys of a pull do not decode");
    return rows;
  }

  void prepare(std::uint64_t id) {
    WorkerState& worker = workers_.at(id);
    const Step step = worker.preparing.front().step;
    worker.preparing.pop_front();
    auto wanted = rules_.wanted(step, worker.ranks.first);
    on_worker(id, [&](auto& core, auto& out) { core.prepared(step, std::move(wanted), out); });
  }

  void compute(std::uint64_t id) {
    WorkerState& worker = workers_.at(id);
    const distrib::Compute work = std::move(worker.computing.front());
    worker.computing.pop_front();
    const Rank first = worker.ranks.first;
    if (!rules_.good_input(work.step, first, work.values)) return fail("a contribution is computed from wrong values");
    const auto made_as = [&](Rank rank) {
      if constexpr (requires { rules_.made_as(Rank{}, std::size_t{}); })
        return rules_.made_as(rank, place_of(id) + (rank - first));
      else return rank;
    };
    auto blocks = contribution(worker.ranks, work, made_as);
    auto next = rules_.wanted(work.step + 1, first);
    on_worker(id, [&](auto& core, auto& out) { core.computed(work.ticket, std::move(blocks), out, std::move(next)); });
  }

  auto contribution(distrib::RankBlock ranks, const distrib::Compute& work, auto made_as) {
    if constexpr (deals) return rules_.contribution_of(ranks, work.step, work.values, made_as);
    else if constexpr (scales) return rules_.contribution_of(work, ranks.first);
    else return rules_.contribution(work.step, ranks.first, work.values);
  }

  // Returns the place of a worker among those of its process.
  [[nodiscard]] auto place_of(std::uint64_t id) const -> std::size_t {
    for (const auto& [number, process] : processes_) {
      const auto mine =
          std::ranges::find(process.workers, id, &std::pair<const distrib::RankBlock, std::uint64_t>::second);
      if (mine != process.workers.end()) return static_cast<std::size_t>(std::distance(process.workers.begin(), mine));
    }
    return 0;
  }

  // Copies a few keys of a cut's tables.
  void copy(std::uint32_t shard) {
    shards_[shard].copying = false;
    const std::size_t most_bytes = dice_.pick<std::size_t>({1, 64, 512});
    on_shard(shard, [&](auto& core, auto& out) { core.copy_cut(most_bytes, out); });
  }

  void load(std::uint32_t shard) {
    const Step step = *std::exchange(shards_[shard].loading, std::nullopt);
    if (!shards_[shard].disk.contains(step)) return fail("a shard loads a cut that was dropped");
    if constexpr (requires(typename Rules::Shard& core, support::ShardActions& out) { core.cut_refused(out); })
      if (loses_disks_ && step != 0 && dice_.percent(20) && std::ranges::none_of(ranks_, &RankState::done)) {
        shards_[shard].disk.erase(step);  // as if it were damaged, or removed by another process
        return on_shard(shard, [](auto& core, auto& out) { core.cut_refused(out); });
      }
    if constexpr (requires(typename Rules::Shard& core, support::ShardActions& out) { core.cut_loaded(Cut{}, out); })
      on_shard(shard, [&](auto& core, auto& out) { core.cut_loaded(shards_[shard].disk.at(step), out); });
  }

  // --- actions ---

  template <class Event>
  void on_shard(std::uint32_t shard, Event happens) {
    support::ShardActions actions;
    happens(*shards_[shard].core, actions);
    for (support::ShardAction& action : actions) {
      if (auto* save = std::get_if<distrib::SaveCut>(&action)) {
        if (shards_[shard].saving) fail("a shard saves two cuts at once");
        if (!rules_.good_cut(of(shard), save->cut)) fail("a cut has wrong contents");
        shards_[shard].saving = save->cut;
      } else if (std::holds_alternative<distrib::CopyCut>(action)) {
        if (std::exchange(shards_[shard].copying, true)) fail("a shard asks for two copies of a cut at once");
      } else if (auto* wanted = std::get_if<distrib::LoadCut>(&action)) {
        if (shards_[shard].loading) fail("a shard loads two cuts at once");
        shards_[shard].loading = wanted->step;
      } else if (auto* drop = std::get_if<distrib::DropCut>(&action)) {
        if (!keeps_dropped_cuts_) shards_[shard].disk.erase(drop->step);
        // only the eight newest cuts after the common cut known to the shard stay
        if (drop->unneeded) newest_common_cut_ = 0;
        check_common_cut();
      } else if (auto* state = std::get_if<distrib::SendState>(&action)) {
        send_state(shard, *state);
      } else if (std::holds_alternative<distrib::ShardDone>(action)) {
        shards_[shard].done = true;
        if constexpr (loses) check_ended(shards_[shard]);
      } else if (std::holds_alternative<distrib::RefusedReply>(action)) {
        fail("refused");
      } else {
        reply(shard, std::move(action));
      }
    }
    if constexpr (scales) {
      static_cast<void>(shards_[shard].core->rank_log()->take_answers());
      if (!shards_[shard].rank_writing)
        shards_[shard].rank_writing = shards_[shard].core->rank_log()->next_write(shards_[shard].core->rank_step());
    }
  }

  void reply(std::uint32_t shard, support::ShardAction action) {
    const Peer peer = support::peer_of(action);
    const auto link = links_.find(peer);
    if (link == links_.end()) return fail("an answer on a connection that has ended");
    if (const auto* values = std::get_if<distrib::ValuesReply>(&action))
      if (!rules_.good_values(*shards_[shard].core, of(shard), ranks_of_.at(link->second.worker).first, *values))
        fail("a pull is answered with wrong values");
    if (link->second.held) link->second.down.push_back({std::move(action), link->second.joins_read});
  }

  template <class Event>
  void on_worker(std::uint64_t id, Event happens) {
    WorkerState& worker = workers_.at(id);
    support::WorkerActions actions;
    bool at_once = false;  // the keys of rows are found at once
    happens(*worker.core, actions);
    for (support::WorkerAction& action : actions) {
      if (const auto* asked = std::get_if<distrib::Prepare>(&action)) {
        worker.preparing.push_back(*asked);
        at_once = !prepares_slowly_ && dice_.percent(50);
      } else if (auto* work = std::get_if<distrib::Compute>(&action)) {
        worker.computing.push_back(std::move(*work));
      } else if (const auto* done = std::get_if<distrib::WorkerDone>(&action)) {
        for (std::uint32_t shard = 0; !done->left && !loses_disks_ && shard < shard_count(); ++shard)
          if (!is_held(worker.ranks.first, shard))
            fail("a worker ends before the disks of all shards hold everything of its rank");
        if (faultless_ && done->result.size() != (worker.ranks.first == 0 ? rules_.job.shards() : 0))
          fail("the number of blocks in a worker's result is wrong");
        for (std::uint32_t shard = 0; shard < done->result.size(); ++shard)
          if (!rules_.good_result(shard, *done->result[shard], shards_[shard].disk)) fail("a result has wrong values");
        if constexpr (requires { rules_.good_results(done->result); })
          if (!rules_.good_results(done->result)) fail("the blocks of a result are of two histories");
        RankState& rank = ranks_[worker.ranks.first];
        if (rank.worker == id) {
          rank.worker = 0;
          rank.done = !done->left;
          rank.back = now_ + dice_.between(1, 60);
        }
        if constexpr (deals) {
          const distrib::RankBlock its_ranks = worker.ranks;
          const bool left = done->left;
          end_worker(id, true);
          return worker_ended(id, its_ranks, left);
        }
        return end_worker(id, true);
      } else if (std::holds_alternative<distrib::ReplicasDiffer>(action)) {
        fail("two replicas return different values");
      } else if (std::holds_alternative<distrib::TellsNoHistory>(action)) {
        fail("a worker reports that a shard does not report its history");
      } else {
        const std::uint32_t shard = support::shard_of(action);
        if (auto* push = std::get_if<distrib::SendPush>(&action))
          push->contribution.checksum = distrib::crc32c(push->contribution.block->bytes());
        if (const Peer peer = worker.links[shard]; peer != 0) {
          Link& link = links_.at(peer);
          if (std::holds_alternative<distrib::SendJoin>(action)) ++link.joins_sent;
          link.up.push_back(std::move(action));
        }
      }
    }
    if (at_once) prepare(id);
  }

  // The newest cut that all shards have (at least one replica of each) must never be removed, and never become older.
  // Compared only within one history: in another history other cuts count.
  void check_common_cut() {
    if constexpr (requires(typename Rules::Shard& core) { core.lineage(); }) {
      const distrib::Lineage* history = nullptr;
      for (const ShardState& state : shards_) {
        if (state.core == nullptr) continue;
        if (history != nullptr && state.core->lineage() != *history) return;
        history = &state.core->lineage();
      }
      if (history == nullptr) return;
      if (*history != checked_history_) newest_common_cut_ = 0;
      checked_history_ = *history;
      std::vector<Step> common;
      for (std::uint32_t shard = 0; shard < rules_.job.shards(); ++shard) {
        std::set<Step> cuts;
        for (std::uint32_t replica = shard; replica < shard_count(); replica += rules_.job.shards()) {
          const ShardState& state = shards_[replica];
          if (state.core == nullptr) {
            for (const auto& [step, cut] : state.disk)
              if (cut.lineage == history->until(step)) cuts.insert(step);
          } else {
            for (const Step step : state.core->progress().cuts) cuts.insert(step);
          }
        }
        if (shard == 0) common.assign(cuts.begin(), cuts.end());
        else std::erase_if(common, [&cuts](Step step) { return !cuts.contains(step); });
      }
      if (!loses_disks_ && common.back() < newest_common_cut_) fail("the newest common cut was dropped");
      newest_common_cut_ = common.back();
    }
  }

  [[nodiscard]] auto worker_ids() const -> std::vector<std::uint64_t> {
    std::vector<std::uint64_t> ids;
    for (const auto& entry : workers_) ids.push_back(entry.first);
    return ids;
  }

  void fail(const char* what) {
    if (wrong_.empty()) wrong_ = what;
  }

  Dice dice_;
  Dice of_changes_;  // for changes of settings only, so that they change nothing else that is drawn
  Dice of_dealing_;  // for processes only
  Dice of_sums_;  // for sums of ranks only
  Dice of_scaling_;  // for ranks that change only
  Dice of_losses_;  // for ranks that are lost only
  unsigned wrong_advice_ = of_sums_.pick<unsigned>({0, 1, 4, 12});  // how often a process is dealt what others serve
  Rules rules_;
  std::vector<Fault> faults_;
  std::vector<std::uint64_t> changes_;  // when settings change
  std::optional<Rank> slow_rank_;
  bool faultless_ = false;
  bool loses_disks_ = false;
  std::uint64_t keeps_disks_until_ = 0;
  bool keeps_dropped_cuts_ = false;
  bool prepares_slowly_ = false;
  bool copies_slowly_ = false;
  struct {
    std::uint64_t from = 0, events = 0;
  } disks_are_full_;  // when most disks are full
  std::uint64_t now_ = 0;
  std::vector<ShardState> shards_;
  std::vector<RankState> ranks_;
  std::map<std::uint64_t, WorkerState> workers_;  // of every process that is up
  std::map<Peer, Link> links_;
  std::map<std::uint64_t, distrib::RankBlock> ranks_of_;  // of every worker that was ever started
  std::map<std::uint64_t, ProcessState> processes_;  // with dealt ranks: those that are up
  std::optional<typename DealingOf<Rules>::Dealer> dealer_;  // empty: its shard is down, or ranks are not dealt
  std::vector<std::uint64_t> joins_;  // when further processes come
  std::vector<Returning> returning_;
  std::vector<std::uint64_t> scalings_;  // when operators ask for other ranks
  std::vector<Proposal> proposals_;
  std::vector<Loss> losses_;  // of different ranks
  bool attacks_ = false;  // operators ask shards that have just started
  std::uint64_t newest_entry_ = 0;
  std::uint64_t newest_process_ = 0;
  std::uint32_t newest_index_ = 0;
  std::uint64_t newest_worker_ = 0;
  Peer newest_peer_ = 0;
  Step newest_common_cut_ = 0;
  distrib::Lineage checked_history_;  // the history of `newest_common_cut_`
  std::vector<Choice> choices_;
  std::string wrong_;
};

}  // namespace simulation
