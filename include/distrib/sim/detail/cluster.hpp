// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/finished_job.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/sim/detail/hosted_shard.hpp>
#include <distrib/sim/detail/link.hpp>
#include <distrib/sim/detail/program.hpp>
#include <distrib/sim/detail/ps_process.hpp>
#include <distrib/sim/detail/shard_host.hpp>
#include <distrib/sim/detail/worker_host.hpp>
#include <distrib/sim/detail/world.hpp>
#include <distrib/sim/options.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace sim::detail {

/// A whole cluster in simulated time: the services and nodes of production over the connection cores of production, the
/// cuts of production on a simulated disk, and all that can go wrong. One `run()`. What a Program throws comes out of it.
/// Threads: one at a time. `WorkerCore` is `SyncWorkerCore` or `AsyncWorkerCore`, as the job's consistency wants it.
template <class WorkerCore>
class Cluster {
  using Process = WorkerProcess<WorkerCore>;

 public:
  /// Of `cuts` the directory is the simulation's own. Throws when it cannot be made. `make_shard`: another one gives
  /// shards cores that have a mistake.
  Cluster(const Job& job, ShardKinds kinds, const CutSettings& cuts, StartProgram program, const Options& options,
          MakeShard make_shard = detail::make_shard<ShardCores>)
      : program_{std::move(program)}, world_{job, std::move(kinds), cuts, options}, ranks_(job.ranks) {
    world_.shards.resize(job.num_replicas());
    for (std::uint32_t task = 0; task < job.tasks; ++task) {
      tasks_.push_back(std::make_unique<PsProcess>(world_, task, make_shard));
      for (const auto& shard : tasks_.back()->shards()) world_.shards[shard->number()] = shard.get();
    }
    world_.contributed = [this] { contributed(); };
    draw_faults();
    for (const auto& task : tasks_) task->start();
    for (Rank rank = 0; rank < job.ranks; ++rank) start_later(rank, world_.pause());
    contributed_ = 0;
    fall_due();
  }

  /// Runs to the end: every worker was done once, and every parameter server; where a shard refused what is not finite,
  /// the workers only.
  auto run() -> Outcome {
    Outcome outcome;
    for (; world_.wrong.empty() && !is_over(); ++outcome.events) {
      if (outcome.events >= world_.options.most_events) world_.fail("it goes round in circles" + state());
      else if (!world_.scheduler.step()) world_.fail("nothing is left to happen" + state());
    }
    if (world_.wrong.empty() && refusals().empty()) look_for_the_last_checkpoint();
    if (world_.wrong.empty() && refusals().empty()) outcome.steps = world_.job.total_steps;
    outcome.contributions = count_contributions();
    outcome.computed = contributed_;
    outcome.wrong = world_.wrong;
    if (!outcome.wrong.empty()) outcome.wrong = "seed " + std::to_string(world_.options.seed) + ": " + outcome.wrong;
    outcome.deaths = world_.deaths;
    outcome.resets = world_.resets;
    outcome.refused_cuts = world_.refused_cuts;
    outcome.seconds = std::chrono::duration<double>{world_.now() - world_.begun}.count();
    return outcome;
  }

  /// With what workers ended to whom a shard refused something that is not finite.
  [[nodiscard]] auto refusals() const noexcept -> const std::vector<std::string>& { return world_.refusals; }

 private:
  struct RankState {
    std::vector<std::shared_ptr<Process>> processes;  // the last is the one that is not a zombie
    unsigned started = 0;
    bool done = false;
  };

  // --- processes ---

  void start_later(Rank rank, std::chrono::microseconds pause) {
    world_.scheduler.after(pause, [this, rank] { start(rank); });
  }
  void start(Rank rank) {
    RankState& of = ranks_[rank];
    if (of.done) return;
    std::string name = "rank " + std::to_string(rank);
    if (of.started > 0) name += "." + std::to_string(of.started);
    ++of.started;
    of.processes.push_back(std::make_shared<Process>(world_, world_.shards, rank, std::move(name), program_(rank)));
    of.processes.back()->start();
  }
  void kill_worker() {
    const auto rank = static_cast<Rank>(world_.dice.below(ranks_.size()));
    RankState& of = ranks_[rank];
    if (of.done || of.processes.empty() || !of.processes.back()->is_alive()) return;
    ++world_.deaths;
    of.processes.back()->die();
    start_later(rank, 10 * world_.pause());
  }
  void double_worker() {
    const auto rank = static_cast<Rank>(world_.dice.below(ranks_.size()));
    if (ranks_[rank].done || ranks_[rank].processes.empty() || !ranks_[rank].processes.back()->is_alive()) return;
    world_.tell("simulation", "leaves a zombie of " + ranks_[rank].processes.back()->name());
    start(rank);
  }
  void kill_ps(std::uint32_t task) {
    PsProcess& process = *tasks_[task];
    if (!process.is_up() || process.is_fragile()) return;
    process.die();
    ++world_.deaths;
    if (world_.disk) world_.flips_due += std::exchange(flips_, 0U);
    world_.scheduler.after(10 * world_.pause(), [&process] { process.start(); });
  }
  void lose_power() {
    if (!world_.disk || std::ranges::any_of(tasks_, [](const auto& task) { return task->is_fragile(); })) return;
    world_.tell("simulation", "power is lost");
    for (std::uint32_t task = 0; task < world_.job.tasks; ++task) kill_ps(task);
    world_.disk->lose_power();
  }

  // --- faults ---

  void draw_faults() {
    const Faults& faults = world_.faults;
    const auto plan = [this](unsigned count, auto fault) {
      for (unsigned i = 0; i < count; ++i) due_.emplace(world_.dice.below(most_contributions()), fault);
    };
    const auto kill_some_ps = [this] { kill_ps(static_cast<std::uint32_t>(world_.dice.below(world_.job.tasks))); };
    const auto kill = [this, kill_some_ps](bool worker) {
      if (worker) kill_worker();
      else kill_some_ps();
      if (!world_.dice.percent(25)) return;
      if (world_.dice.percent(50)) kill_worker();
      else kill_some_ps();
    };
    plan(faults.resets, [this] { lose_one([](auto& wire, Dice&) { wire.reset(); }, "breaks"); });
    plan(faults.half_open, [this] {
      lose_one(
          [](auto& wire, Dice& dice) {
            const auto who = dice.below(3);
            wire.half_open(who == 0, who == 1);
          },
          "is half open");
    });
    plan(faults.partitions, [this] { part(); });
    plan(faults.worker_deaths, [kill] { kill(true); });
    plan(faults.ps_deaths, [kill] { kill(false); });
    plan(faults.zombies, [this] { double_worker(); });
    plan(faults.power_losses, [this] { lose_power(); });
    plan(faults.full_disks, [this] {
      if (!world_.disk) return;
      world_.tell("simulation", "the disk is full");
      world_.disk->fill(world_.now() + some_time(20'000));
    });
    plan(faults.slow_disks, [this] {
      world_.tell("simulation", "the disk is slow");
      world_.disk_slow_until = world_.now() + some_time(20'000);
    });
    if (world_.job.consistency.is_synchronous()) flips_ = faults.bit_flips;
    for (unsigned i = 0; i < faults.slow_processes; ++i) {
      const auto which = world_.dice.below(world_.job.ranks + world_.job.tasks);
      world_.slow.push_back(which < world_.job.ranks ? "rank " + std::to_string(which)
                                                     : "ps " + std::to_string(which - world_.job.ranks));
    }
  }

  auto some_time(std::uint64_t most_ms) -> std::chrono::microseconds {
    return std::chrono::microseconds{world_.dice.between(1, most_ms * 1000)};
  }
  [[nodiscard]] auto most_contributions() const -> std::uint64_t {
    const Job& job = world_.job;
    return job.consistency.is_synchronous() ? job.total_steps * job.ranks : job.total_steps;
  }

  void contributed() {
    ++contributed_;
    fall_due();
  }
  // Whatever is due after so many contributions happens at any moment until about the next one.
  void fall_due() {
    while (!due_.empty() && due_.begin()->first <= contributed_)
      world_.scheduler.after(20 * world_.pause(), std::move(due_.extract(due_.begin()).mapped()));
  }

  template <class Lose>
  void lose_one(Lose lose, const char* how) {
    std::vector<LinkPointer> open;
    for (const RankState& of : ranks_)
      for (const auto& process : of.processes)
        for (auto& link : process->open()) open.push_back(std::move(link));
    for (const ShardHost* shard : world_.shards)
      if (const LinkPointer link = shard->asking()) open.push_back(link);
    if (open.empty()) return;
    ++world_.resets;
    const LinkPointer& link = open[world_.dice.below(open.size())];
    if (world_.traces())
      world_.tell("simulation", "a connection of " + link->from + " to ps " + std::to_string(link->task) + " " + how);
    lose(*link->wire, world_.dice);
  }

  // A few do not reach a few; what was on its way comes later, or not at all.
  void part() {
    const Instant until = world_.now() + some_time(world_.dice.percent(50) ? 2'000 : 50'000);
    const auto some = [this](std::uint64_t count) { return world_.dice.between(1, (std::uint64_t{1} << count) - 1); };
    const std::uint64_t workers = some(std::min<std::uint64_t>(world_.job.ranks, 20));
    const std::uint64_t tasks = some(std::min<std::uint64_t>(world_.job.tasks, 20));
    const bool lost = world_.dice.percent(50);
    world_.tell("simulation", "a partition");
    const auto is_parted = [&](Rank rank, std::uint32_t task) {
      return rank < 20 && task < 20 && (workers >> rank & 1) != 0 && (tasks >> task & 1) != 0;
    };
    for (Rank rank = 0; rank < world_.job.ranks; ++rank)
      for (std::uint32_t task = 0; task < world_.job.tasks; ++task)
        if (is_parted(rank, task)) world_.parted[{rank, task}] = std::max(until, world_.parted_until(rank, task));
    for (const RankState& of : ranks_)
      for (const auto& process : of.processes)
        for (const auto& link : process->open()) {
          if (!is_parted(link->rank, link->task)) continue;
          ++world_.resets;
          link->wire->stall(until);
          if (lost) world_.scheduler.at(until, [wire = link->wire] { wire->reset(); });
        }
  }

  // --- the end ---

  auto is_over() -> bool {
    bool all = true;
    for (RankState& of : ranks_) {
      for (const auto& process : of.processes) of.done = of.done || process->is_done();
      if (of.done && of.processes.size() > 1) end_zombies(of);
      all = all && of.done;
    }
    for (const auto& task : tasks_) all = all && (task->is_done() || !refusals().empty());
    return all;
  }
  // Of a rank that is done the other processes have nothing more to say.
  static void end_zombies(RankState& of) {
    for (const auto& process : of.processes)
      if (!process->is_done()) process->die();
  }

  // Each worker was told that the last step is durable, so its checkpoint is whole also when power is lost now.
  void look_for_the_last_checkpoint() {
    if (!world_.disk) return;
    world_.disk->lose_power();
    if (finished_checkpoint(world_.cuts.directory).empty()) world_.fail("the checkpoint of the last step is not there");
  }

  // An asynchronous shard never goes back: what is not the same on all is wrong. A synchronous one may yet have been sent
  // back by a worker that came late, when its last cut was durable.
  auto count_contributions() -> std::uint64_t {
    std::uint64_t most = 0;
    for (const ShardHost* shard : world_.shards) most = std::max(most, shard->contributions());
    for (const ShardHost* shard : world_.shards)
      if (!world_.job.consistency.is_synchronous() && world_.wrong.empty() && refusals().empty() &&
          shard->contributions() != most)
        world_.fail("shards have counted " + std::to_string(most) + " and " + std::to_string(shard->contributions()) +
                    " contributions");
    return most;
  }

  // For people who look for the reason.
  [[nodiscard]] auto state() const -> std::string {
    const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(world_.now() - world_.begun);
    std::string text = " (after " + std::to_string(passed.count()) + " ms;";
    for (const RankState& of : ranks_)
      for (const auto& process : of.processes) text += process->state();
    for (const ShardHost* shard : world_.shards) text += shard->state();
    return text + ")";
  }

  StartProgram program_;
  World world_;
  std::vector<std::unique_ptr<PsProcess>> tasks_;
  std::vector<RankState> ranks_;
  std::multimap<std::uint64_t, std::function<void()>> due_;  // after so many contributions
  std::uint64_t contributed_ = 0;
  unsigned flips_ = 0;
};

}  // namespace sim::detail
}  // namespace v0
}  // namespace distrib
