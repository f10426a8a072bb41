// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sim/detail/cluster.hpp>

#include <distrib/ps/job/lineage.hpp>
#include <distrib/ps/job/rank_log.hpp>

namespace distrib {
inline namespace v0 {
namespace sim::detail {

DISTRIB_DECL Cluster::Cluster(StartedJob started, const CutSettings& cuts, const Options& options, MakeShard make_shard)
    : program_{std::move(started.program)},
      world_{started.job, std::move(started.kinds), cuts, options},
      ranks_(started.job.rank_names()) {
  const Job& job = world_.job;
  world_.shards.resize(job.num_replicas());
  for (std::uint32_t task = 0; task < job.tasks; ++task) {
    tasks_.push_back(std::make_unique<PsProcess>(world_, task, make_shard));
    for (const auto& shard : tasks_.back()->shards()) world_.shards[shard->number()] = shard.get();
  }
  world_.contributed = [this] { contributed(); };
  draw_faults();
  for (const auto& task : tasks_) task->start();
  for (Rank rank = 0; rank < ranks_.size(); ++rank) start_later(rank, world_.pause());
  if (job.most_ranks != 0) world_.ranks.emplace(job.ranks);
  contributed_ = 0;
  fall_due();
}

DISTRIB_DECL void Cluster::change_to(StartedJob job) {
  due_.emplace(world_.dice.below(most_contributions()), [this, job = std::move(job)] { change(job); });
  fall_due();
}

DISTRIB_DECL auto Cluster::run() -> Outcome {
  Outcome outcome;
  for (; world_.wrong.empty() && !is_over(); ++outcome.events) {
    if (outcome.events >= world_.options.most_events)
      world_.fail("the job has not ended within Options::most_events events" + state());
    else if (!world_.scheduler.step()) world_.fail("the job has not ended, but no event is left" + state());
  }
  if (world_.wrong.empty() && refusals().empty()) look_for_the_last_checkpoint();
  if (world_.wrong.empty() && refusals().empty()) outcome.steps = world_.job.total_steps;
  outcome.contributions = count_contributions();
  if (outcome.steps != 0) outcome.changed_after = changed_after();
  outcome.computed = contributed_;
  if (world_.ranks) outcome.ranks = std::make_shared<const RankLog>(*world_.ranks);
  outcome.erased.assign(world_.erased.begin(), world_.erased.end());
  outcome.wrong = world_.wrong;
  if (!outcome.wrong.empty()) outcome.wrong = "seed " + std::to_string(world_.options.seed) + ": " + outcome.wrong;
  outcome.deaths = world_.deaths;
  outcome.resets = world_.resets;
  outcome.refused_cuts = world_.refused_cuts;
  outcome.seconds = std::chrono::duration<double>{world_.now() - world_.begun}.count();
  return outcome;
}

DISTRIB_DECL void Cluster::start_later(Rank rank, std::chrono::microseconds pause) {
  world_.scheduler.after(pause, [this, rank, changes = changes_] {
    if (changes == changes_ && !world_.lost.contains(rank)) start(rank);
  });
}

DISTRIB_DECL void Cluster::start(Rank rank) {
  RankState& of = ranks_[rank];
  if (of.done) return;
  std::string name = "rank " + std::to_string(rank);
  if (of.started > 0) name += "." + std::to_string(of.started);
  ++of.started;
  of.processes.push_back(std::make_shared<WorkerProcess>(world_, world_.shards, rank, std::move(name), program_(rank)));
  of.processes.back()->start();
}

DISTRIB_DECL void Cluster::kill_worker() {
  const auto rank = static_cast<Rank>(world_.dice.below(ranks_.size()));
  RankState& of = ranks_[rank];
  if (of.done || of.processes.empty() || !of.processes.back()->is_alive()) return;
  ++world_.deaths;
  of.processes.back()->die();
  start_later(rank, 10 * world_.pause());
}

DISTRIB_DECL void Cluster::double_worker() {
  const auto rank = static_cast<Rank>(world_.dice.below(ranks_.size()));
  if (ranks_[rank].done || ranks_[rank].processes.empty() || !ranks_[rank].processes.back()->is_alive()) return;
  world_.tell("simulation", "starts another process without ending " + ranks_[rank].processes.back()->name());
  start(rank);
}

DISTRIB_DECL void Cluster::lose_worker() {
  const auto rank = static_cast<Rank>(world_.dice.below(ranks_.size()));
  const bool comes_back = world_.dice.percent(30);
  RankState& of = ranks_[rank];
  const bool is_needed = rank == 0 || world_.lost.size() == world_.job.consistency.backup_workers(world_.job.ranks);
  if (is_needed || world_.lost.contains(rank) || of.done) return;
  world_.lost.insert(rank);
  ++world_.deaths;
  world_.tell("simulation", "loses rank " + std::to_string(rank));
  for (const auto& process : of.processes) process->die();
  if (!comes_back) return;
  world_.scheduler.after(2 * world_.options.lost_after, [this, rank] {
    if (one_task_is_done()) return;
    world_.tell("simulation", "starts a lost rank again: " + std::to_string(rank));
    start(rank);
  });
}

DISTRIB_DECL void Cluster::kill_ps(std::uint32_t task) {
  PsProcess& process = *tasks_[task];
  if (!process.is_up() || process.is_fragile()) return;
  process.die();
  ++world_.deaths;
  if (world_.disk) world_.flips_due += std::exchange(flips_, 0U);
  world_.scheduler.after(10 * world_.pause(), [&process] { process.start(); });
}

DISTRIB_DECL void Cluster::lose_power() {
  if (!world_.disk || std::ranges::any_of(tasks_, [](const auto& task) { return task->is_fragile(); })) return;
  world_.tell("simulation", "power is lost");
  for (std::uint32_t task = 0; task < world_.job.tasks; ++task) kill_ps(task);
  world_.disk->lose_power();
}

DISTRIB_DECL void Cluster::scale() {
  if (!world_.ranks) return;
  Dice& dice = world_.dice;
  RankEntry entry{0, ++newest_entry_, {}};
  for (Rank rank = 0; rank < ranks_.size(); ++rank)
    if (dice.percent(50) || rank == 0) entry.ranks.push_back(rank);
  if (world_.job.local_steps == 0 && dice.percent(50)) {  // a rate, in many runs in the middle of a warm-up
    const double factors[] = {0.25, 0.5, 1, 1.5, 2};
    entry.rate.from = factors[dice.below(5)];
    entry.rate.to = factors[dice.below(5)];
    entry.rate.steps = entry.rate.from == entry.rate.to ? 0 : Step{1} << dice.below(4);
  }
  for (ShardHost* const shard : world_.shards) entry.from = std::max(entry.from, shard->horizon());
  if (dice.percent(20)) entry.from = world_.shards[dice.below(world_.shards.size())]->horizon();  // knows one only
  entry.from += dice.between(1, 3);
  const bool to_all = dice.percent(60);
  const std::uint64_t always = dice.below(world_.shards.size());
  world_.tell("simulation", "an operator asks for " + std::to_string(entry.ranks.size()) + " ranks from step " +
                                std::to_string(entry.from));
  for (std::size_t shard = 0; shard < world_.shards.size(); ++shard)
    if (to_all || shard == always || dice.percent(50))
      world_.scheduler.after(20 * world_.pause(), [host = world_.shards[shard], entry] { host->propose(entry); });
}

DISTRIB_DECL void Cluster::erase() {
  const std::vector<std::uint64_t>& of = world_.faults.erasable;
  if (!world_.job.erases_keys || of.empty()) return;
  Dice& dice = world_.dice;
  std::vector<std::uint64_t> keys(dice.between(1, 8));
  for (std::uint64_t& key : keys) key = of[dice.below(of.size())];
  const std::string table = world_.job.tables[dice.below(world_.job.tables.size())].name;
  world_.tell("simulation", "a user asks to erase " + std::to_string(keys.size()) + " keys of " + table);
  const bool to_all = dice.percent(80);
  for (ShardHost* const shard : world_.shards)
    if (to_all || dice.percent(50))
      world_.scheduler.after(20 * world_.pause(), [shard, table, keys] { shard->erase(table, keys); });
}

DISTRIB_DECL void Cluster::change(const StartedJob& job) {
  const bool is_late = std::ranges::any_of(ranks_, &RankState::done) ||
                       std::ranges::any_of(tasks_, [](const auto& task) { return task->is_done(); });
  if (is_late || std::ranges::any_of(tasks_, [](const auto& task) { return task->is_fragile(); })) return;
  world_.tell("simulation", "ends all processes, and starts the job again with other settings");
  ++changes_;
  for (const RankState& of : ranks_)
    for (const auto& process : of.processes) process->die();
  for (const auto& task : tasks_)
    if (task->is_up()) task->die();
  world_.job = job.job;
  world_.kinds = job.kinds;
  program_ = job.program;
  for (const auto& task : tasks_) world_.scheduler.after(10 * world_.pause(), [&process = *task] { process.start(); });
  for (Rank rank = 0; rank < ranks_.size(); ++rank) start_later(rank, 10 * world_.pause());
}

DISTRIB_DECL void Cluster::draw_faults() {
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
  plan(faults.scalings, [this] { scale(); });
  plan(faults.erasures, [this] { erase(); });
  plan(faults.losses, [this] { lose_worker(); });
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

DISTRIB_DECL auto Cluster::some_time(std::uint64_t most_ms) -> std::chrono::microseconds {
  return std::chrono::microseconds{world_.dice.between(1, most_ms * 1000)};
}

DISTRIB_DECL auto Cluster::most_contributions() const -> std::uint64_t {
  const Job& job = world_.job;
  return job.consistency.is_synchronous() ? job.total_steps * job.ranks : job.total_steps;
}

DISTRIB_DECL void Cluster::contributed() {
  ++contributed_;
  fall_due();
}

DISTRIB_DECL void Cluster::fall_due() {
  while (!due_.empty() && due_.begin()->first <= contributed_)
    world_.scheduler.after(20 * world_.pause(), std::move(due_.extract(due_.begin()).mapped()));
}

template <class Lose> void Cluster::lose_one(Lose lose, const char* how) {
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

DISTRIB_DECL void Cluster::part() {
  const Instant until = world_.now() + some_time(world_.dice.percent(50) ? 2'000 : 50'000);
  const auto some = [this](std::uint64_t count) { return world_.dice.between(1, (std::uint64_t{1} << count) - 1); };
  const std::uint64_t workers = some(std::min<std::uint64_t>(world_.job.ranks, 20));
  const std::uint64_t tasks = some(std::min<std::uint64_t>(world_.job.tasks, 20));
  const bool lost = world_.dice.percent(50);
  world_.tell("simulation", "partitions the network");
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

DISTRIB_DECL auto Cluster::is_over() -> bool {
  if (!std::exchange(world_.one_ended, false)) return false;
  bool all = true;
  for (Rank rank = 0; rank < ranks_.size(); ++rank) replace_retired(rank);
  // A rank that was lost and comes back too late waits for a task that has ended, until it gives up; and tasks that are
  // left wait for it.
  if (one_task_is_done())
    for (const Rank rank : world_.lost)
      for (const auto& process : ranks_[rank].processes) process->die();
  for (Rank rank = 0; rank < ranks_.size(); ++rank) {
    RankState& of = ranks_[rank];
    for (const auto& process : of.processes) of.done = of.done || process->is_done();
    if (of.done && of.processes.size() > 1) end_zombies(of);
    // shards wait for the ranks of the last step; a process of another rank may come too late
    const bool is_awaited = !world_.ranks || world_.ranks->is_rank_of(world_.job.total_steps, rank);
    all = all && (of.done || !is_awaited || world_.lost.contains(rank));
  }
  for (const auto& task : tasks_) all = all && (task->is_done() || !refusals().empty());
  return all;
}

DISTRIB_DECL auto Cluster::one_task_is_done() const -> bool {
  return std::ranges::any_of(tasks_, [](const auto& task) { return task->is_done(); });
}

DISTRIB_DECL void Cluster::replace_retired(Rank rank) {
  RankState& of = ranks_[rank];
  if (of.done || of.processes.empty() || !of.processes.back()->is_retired()) return;
  of.processes.back()->die();
  of.processes.pop_back();
  start_later(rank, 10 * world_.pause());
}

DISTRIB_DECL void Cluster::end_zombies(RankState& of) {
  for (const auto& process : of.processes)
    if (!process->is_done()) process->die();
}

DISTRIB_DECL void Cluster::look_for_the_last_checkpoint() {
  if (!world_.disk) return;
  world_.disk->lose_power();
  if (finished_checkpoint(world_.cuts.directory).empty()) world_.fail("the checkpoint of the last step is missing");
}

DISTRIB_DECL auto Cluster::changed_after() -> std::optional<Step> {
  if (changes_ == 0 || !world_.job.consistency.is_synchronous()) return std::nullopt;
  const Lineage& lineage = world_.shards.front()->last_lineage();
  for (const ShardHost* shard : world_.shards)
    if (shard->last_lineage() != lineage && shard->number() < world_.job.shards())
      world_.fail("the shards end with different histories of the job's settings");
  const Sha256Digest settings = settings_hash(world_.job);
  for (const Lineage::Entry& entry : lineage.entries())
    if (entry.settings == settings) return entry.since;
  return std::nullopt;
}

DISTRIB_DECL auto Cluster::count_contributions() -> std::uint64_t {
  std::uint64_t most = 0;
  for (const ShardHost* shard : world_.shards) most = std::max(most, shard->contributions());
  for (const ShardHost* shard : world_.shards)
    if (!world_.job.consistency.is_synchronous() && world_.wrong.empty() && refusals().empty() &&
        shard->contributions() != most)
      world_.fail("shards have counted " + std::to_string(most) + " and " + std::to_string(shard->contributions()) +
                  " contributions");
  return most;
}

DISTRIB_DECL auto Cluster::state() const -> std::string {
  const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(world_.now() - world_.begun);
  std::string text = " (after " + std::to_string(passed.count()) + " ms;";
  for (const RankState& of : ranks_)
    for (const auto& process : of.processes) text += process->state();
  for (const ShardHost* shard : world_.shards) text += shard->state();
  return text + ")";
}

}  // namespace sim::detail
}  // namespace v0
}  // namespace distrib
