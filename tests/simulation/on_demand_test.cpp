// SPDX-License-Identifier: Apache-2.0
// Random runs of workers on demand (`WorkerOptions::on_demand`), as the functions of a coordinator use them: messages
// in any order between connections, lost connections, and either shards or workers that are killed and started again.
// If no worker is killed, each contribution counts exactly once on every shard; if workers are, each that a worker saw
// counted is counted. Mistakes are planted, and found.
#include <distrib/optimizer/sgd.hpp>
#include <distrib/ps/protocol/async_shard_core.hpp>
#include <distrib/ps/protocol/async_worker_core.hpp>
#include <distrib/sim/dice.hpp>

#include "ps/story.hpp"
#include "support/actions.hpp"
#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace on_demand {

using distrib::Cut;
using distrib::Peer;
using distrib::Rank;
using distrib::Step;

enum class Killed { none, shards, workers };

/// What a worker does; a mistake changes it.
struct Right {
  static auto make(const distrib::Job& job, Rank rank, std::size_t budget) {
    return distrib::AsyncWorkerCore{job, rank, {.replay_budget_bytes = budget, .on_demand = true}};
  }
  static auto is_counted(const distrib::AsyncWorkerCore& core, Step step) { return core.counted() >= step; }
};
/// Goes on when it has sent a contribution, without waiting until it counts.
struct Hasty : Right {
  static auto is_counted(const distrib::AsyncWorkerCore&, Step) { return true; }
};

template <class Way> class Run {
 public:
  Run(std::uint64_t seed, Killed what) : dice_{seed}, what_{what} {
    job_ = story::asynchronous(story::job(static_cast<std::uint32_t>(dice_.between(1, 3)),
                                          static_cast<Rank>(dice_.between(1, 3)), distrib::open_end,
                                          dice_.pick<std::uint64_t>({0, 0, 3, 7})));
    shards_.resize(job_.shards());
    workers_.resize(job_.ranks);
    links_.resize(job_.shards() * job_.ranks);
    budget_ = dice_.pick<std::size_t>({64 * job_.shards(), std::size_t{1} << 20});
    wanted_ = dice_.between(1, 12);
    faults_ = dice_.below(8);
  }

  /// Returns what was wrong; empty: nothing.
  auto run() -> std::string {
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) start_shard(shard);
    for (Rank rank = 0; rank < workers_.size(); ++rank) start_worker(rank);
    for (int events = 0; !all_done(); ++events) {
      if (events > 200'000) return "stuck";
      if (faults_ > 0 && dice_.below(150) == 0) fault();
      else event();
      if (!wrong_.empty()) return wrong_;
    }
    while (save_one()) continue;
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) {
      Step made = 0, settled = 0;
      for (const WorkerState& worker : workers_) {
        made += worker.made;
        settled += worker.settled;
      }
      const Step counted = shards_[shard].core->step();
      if (counted < settled) return "a contribution that was counted is lost";
      if (counted > made) return "a contribution counts twice";
      if (what_ != Killed::workers && counted != made) return "a contribution is missing";
      if (!shards_[shard].disk || shards_[shard].disk->step != counted) return "the last cut is missing";
      if (shards_[shard].disk->values->template as<float>()[0] != -static_cast<float>(counted))
        return "the values are not those of the contributions";
    }
    return {};
  }

 private:
  struct ShardState {
    std::optional<distrib::AsyncShardCore> core;
    std::optional<Cut> disk, saving;
  };
  struct WorkerState {
    std::optional<distrib::AsyncWorkerCore> core;
    std::optional<distrib::Compute> computing;
    Step awaits = 0;  // the contribution that must be counted before the next one
    Step made = 0, settled = 0;
    bool wants = false, finishing = false, done = false;
  };
  struct Link {
    Peer peer = 0;  // 0: closed
    std::deque<support::WorkerAction> up;
    std::deque<support::ShardAction> down;
  };

  auto link(Rank rank, std::uint32_t shard) -> Link& { return links_[rank * shards_.size() + shard]; }
  [[nodiscard]] auto all_done() const -> bool {
    for (const WorkerState& worker : workers_)
      if (!worker.done) return false;
    for (const Link& of : links_)
      if (!of.up.empty()) return false;
    return true;
  }

  void start_shard(std::uint32_t shard) {
    const distrib::JobUpdaters sgd{distrib::Sgd{.learning_rate = 1.0F}};
    ShardState& state = shards_[shard];
    if (state.disk) state.core.emplace(job_, shard, sgd, *state.disk);
    else state.core.emplace(job_, shard, sgd);
    state.saving.reset();
    for (Rank rank = 0; rank < workers_.size(); ++rank) link(rank, shard) = {};
  }
  void start_worker(Rank rank) {
    WorkerState& worker = workers_[rank];
    worker.core.emplace(Way::make(job_, rank, budget_));
    worker.computing.reset();
    worker.awaits = 0;
    worker.wants = worker.finishing = false;
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) hang_up(rank, shard);
  }
  void hang_up(Rank rank, std::uint32_t shard) {
    Link& of = link(rank, shard);
    if (const Peer peer = std::exchange(of, Link{}).peer)
      tell(shard, [&](auto& core, auto& out) { core.disconnect(peer, out); });
  }

  void fault() {
    --faults_;
    const auto rank = static_cast<Rank>(dice_.below(workers_.size()));
    const auto shard = static_cast<std::uint32_t>(dice_.below(shards_.size()));
    if (dice_.below(2) == 0) hang_up(rank, shard);
    else if (what_ == Killed::shards) start_shard(shard);
    else if (what_ == Killed::workers && !workers_[rank].done) start_worker(rank);
  }

  void event() {
    const auto rank = static_cast<Rank>(dice_.below(workers_.size()));
    const auto shard = static_cast<std::uint32_t>(dice_.below(shards_.size()));
    switch (dice_.below(5)) {
      case 0: return read_up(rank, shard);
      case 1: return read_down(rank, shard);
      case 2: return save(shard);
      case 3: return act(rank);
      default:
        if (link(rank, shard).peer != 0 || workers_[rank].done) return;
        link(rank, shard).peer = ++peers_;
        tell(rank, workers_[rank], [&](auto& core, auto& out) { core.reconnected(shard, out); });
    }
  }
  void read_up(Rank rank, std::uint32_t shard) {
    Link& of = link(rank, shard);
    if (of.up.empty()) return;
    const auto message = std::move(of.up.front());
    of.up.pop_front();
    const Peer peer = of.peer;
    tell(shard, [&](auto& core, auto& out) {
      if (std::get_if<distrib::SendJoin>(&message)) core.join(peer, rank, out);
      if (const auto* pull = std::get_if<distrib::SendPull>(&message)) core.pull(peer, pull->step, out);
      if (const auto* push = std::get_if<distrib::SendPush>(&message)) core.push(peer, push->contribution, out);
      if (std::get_if<distrib::SendSave>(&message)) core.save(peer, out);
      if (std::get_if<distrib::SendGoodbye>(&message)) core.goodbye(peer, out);
    });
  }
  void read_down(Rank rank, std::uint32_t shard) {
    Link& of = link(rank, shard);
    if (of.down.empty() || workers_[rank].done) return;
    const auto message = std::move(of.down.front());
    of.down.pop_front();
    tell(rank, workers_[rank], [&](auto& core, auto& out) {
      if (const auto* joined = std::get_if<distrib::JoinedReply>(&message)) core.joined(shard, joined->progress, out);
      if (const auto* notice = std::get_if<distrib::NoticeReply>(&message)) core.notice(shard, notice->progress, out);
      if (const auto* pushed = std::get_if<distrib::PushedReply>(&message)) core.pushed(shard, pushed->progress, out);
      if (const auto* values = std::get_if<distrib::ValuesReply>(&message))
        core.values(shard, values->step, values->block, values->progress, out);
    });
  }
  void save(std::uint32_t shard) {
    if (const auto cut = std::exchange(shards_[shard].saving, std::nullopt)) {
      shards_[shard].disk = cut;
      tell(shard, [&](auto& core, auto& out) { core.cut_saved(cut->step, out); });
    }
  }
  auto save_one() -> bool {
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard)
      if (shards_[shard].saving) return save(shard), true;
    return false;
  }
  /// The function of a worker: wants values, contributes, waits until that counts; in the end it finishes.
  void act(Rank rank) {
    WorkerState& worker = workers_[rank];
    if (worker.done || worker.finishing) return;
    if (worker.computing) {
      const std::uint64_t ticket = std::exchange(worker.computing, std::nullopt)->ticket;
      ++worker.made;
      tell(rank, worker, [&](auto& core, auto& out) {
        core.computed(ticket, std::vector<distrib::SharedBuffer>(shards_.size(), story::block(1)), out);
      });
      worker.awaits = worker.core->step();
      worker.wants = false;
    } else if (worker.awaits != 0) {
      if (!Way::is_counted(*worker.core, worker.awaits)) return;
      worker.awaits = 0;
      ++worker.settled;
    } else if (worker.settled >= wanted_) {
      worker.finishing = true;
      tell(rank, worker, [&](auto& core, auto& out) { core.finish(out); });
    } else if (!worker.wants || dice_.below(10) == 0) {
      worker.wants = true;
      tell(rank, worker, [&](auto& core, auto& out) { core.want(out); });
    }
  }

  void tell(std::uint32_t shard, auto what) {
    support::ShardActions out;
    what(*shards_[shard].core, out);
    for (std::size_t i = 0; i < out.size(); ++i) {  // a copied cut adds actions
      auto action = std::move(out[i]);
      if (std::get_if<distrib::CopyCut>(&action)) shards_[shard].core->copy_cut(1 << 20, out);
      if (std::get_if<distrib::RefusedReply>(&action)) wrong_ = "a shard refuses something";
      if (auto* cut = std::get_if<distrib::SaveCut>(&action)) shards_[shard].saving = std::move(cut->cut);
      const Peer peer = support::peer_of(action);
      for (Link& of : links_)
        if (peer != 0 && of.peer == peer) of.down.push_back(std::move(action));  // no two have the same
    }
  }
  void tell(Rank rank, WorkerState& worker, auto what) {
    support::WorkerActions out;
    what(*worker.core, out);
    for (auto& action : out) {
      if (auto* compute = std::get_if<distrib::Compute>(&action)) worker.computing = std::move(*compute);
      else if (std::get_if<distrib::WorkerDone>(&action)) worker.done = true;
      else if (Link& of = link(rank, support::shard_of(action)); of.peer != 0) of.up.push_back(std::move(action));
    }
  }

  distrib::sim::Dice dice_;
  Killed what_;
  distrib::Job job_;
  std::deque<ShardState> shards_;  // queues: what they hold cannot be copied
  std::deque<WorkerState> workers_;
  std::deque<Link> links_;
  std::size_t budget_ = 0;
  Step wanted_ = 0;  // contributions of each worker
  std::uint64_t faults_ = 0;
  Peer peers_ = 0;
  std::string wrong_;
};

template <class Way> auto first_wrong(Killed what, std::uint64_t seeds) -> std::string {
  for (std::uint64_t seed = 0; seed < seeds; ++seed)
    if (const std::string wrong = Run<Way>{seed, what}.run(); !wrong.empty())
      return "seed " + std::to_string(seed) + ": " + wrong;
  return {};
}

TEST_CASE("workers on demand: random runs with lost connections and killed shards; each contribution counts once",
          "[simulation]") {
  CHECK(first_wrong<Right>(Killed::none, 300) == "");
  CHECK(first_wrong<Right>(Killed::shards, 700) == "");
}

TEST_CASE("workers on demand: random runs with killed workers; what a worker saw counted is counted", "[simulation]") {
  CHECK(first_wrong<Right>(Killed::workers, 700) == "");
}

TEST_CASE("workers on demand: a worker that does not wait until its contribution counts is found", "[simulation]") {
  CHECK(first_wrong<Hasty>(Killed::workers, 2000).ends_with("a contribution that was counted is lost"));
}

}  // namespace on_demand
