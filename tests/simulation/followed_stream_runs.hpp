// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulation/followed_stream_home.hpp"
#include "simulation/followed_stream_world.hpp"
#include "simulation/turns.hpp"
#include "support/map_objects.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/data/followed_stream.hpp>
#include <distrib/data/stream_place.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/sim/dice.hpp>
#include <distrib/stream_log/error.hpp>
#include <distrib/stream_log/stream_log.hpp>
#include <distrib/stream_log/stream_log_files.hpp>
#include <distrib/train/kept_steps.hpp>
#include <distrib/train/save_checkpoint.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

/// Random runs of what jobs use to follow a stream: `FollowedStream` and `StreamLogFiles`, over `DirectoryHomeOn` or
/// `StoreHome`, with `FilePlace` or `TopicPlace`, and `KeptSteps`. Each process is a thread; one runs at a time, and may
/// be interrupted, stalled or killed at each request to the log or to the place. Steps, cuts and Restore around them are
/// a small model of a synchronous job: one parameter server, which the simulator kills, too.
namespace simulation::followed {

using distrib::Error;
using distrib::StreamLog;
using Step = std::uint64_t;

/// What was observed over all runs.
struct Counts {
  std::uint64_t kills = 0, zombies = 0, losses_of_power = 0, restores = 0, starts_of_all = 0, versions = 0, let_go = 0,
                removed = 0, spoilt = 0, late_requests = 0, stalls = 0, ends = 0, steps = 0;

  auto operator+=(const Counts& other) -> Counts& {
    for (const auto& [name, member] : members()) this->*member += other.*member;
    return *this;
  }
  [[nodiscard]] auto text() const -> std::string {
    std::string all;
    for (const auto& [name, member] : members())
      all += (all.empty() ? "" : ", ") + std::string{name} + " " + std::to_string(this->*member);
    return all;
  }

 private:
  using Member = std::pair<const char*, std::uint64_t Counts::*>;

  static auto members() -> std::vector<Member> {
    return {{"kills", &Counts::kills},
            {"zombies", &Counts::zombies},
            {"losses of power", &Counts::losses_of_power},
            {"lost cuts", &Counts::restores},
            {"starts of all", &Counts::starts_of_all},
            {"versions in directories", &Counts::versions},
            {"times let go", &Counts::let_go},
            {"sources removed", &Counts::removed},
            {"sources spoilt", &Counts::spoilt},
            {"late requests", &Counts::late_requests},
            {"stalls", &Counts::stalls},
            {"processes ended", &Counts::ends},
            {"steps", &Counts::steps}};
  }
};

/// Which ranks make which step, and so which batches. A value.
class RankPlan {
 public:
  /// From this step on, so many ranks make the steps.
  void set_ranks(Step from, std::uint64_t ranks) {
    const std::uint64_t before = batches_before(from);
    std::erase_if(epochs_, [from](const Epoch& epoch) { return epoch.from >= from; });
    epochs_.push_back({from, before, ranks});
  }
  [[nodiscard]] auto ranks_of(Step step) const -> std::uint64_t { return epoch_of(step).ranks; }
  /// Number of the first batch of the step.
  [[nodiscard]] auto batches_before(Step step) const -> std::uint64_t {
    if (epochs_.empty()) return 0;
    const Epoch& epoch = epoch_of(step);
    return epoch.batches + (step - epoch.from) * epoch.ranks;
  }

 private:
  struct Epoch {
    Step from = 1;
    std::uint64_t batches = 0;  // of the steps before
    std::uint64_t ranks = 1;
  };
  [[nodiscard]] auto epoch_of(Step step) const -> const Epoch& {
    std::size_t at = epochs_.size() - 1;
    while (at > 0 && epochs_[at].from > step) --at;
    return epochs_[at];
  }

  std::vector<Epoch> epochs_;
};

class Run {
 public:
  Run(std::uint64_t seed, Mistake mistake) : dice_{seed}, mistake_{mistake} {
    const std::uint64_t ranks = dice_.between(1, most_ranks);
    plan_.set_ranks(1, ranks);
    cut_every_ = dice_.between(1, 5);
    batch_size_ = dice_.between(1, 3);
    stop_ = dice_.between(3, 20);
    is_in_store_ = dice_.percent(40);
    const bool has_partitions = dice_.percent(30);
    lag_ = dice_.pick<std::uint64_t>({0, 10, 100, 400});
    look_every_ = dice_.pick<std::int64_t>({1, 5, 20});
    removes_ = dice_.percent(60);
    spoils_ = dice_.percent(has_partitions ? 40 : 20);
    away_permille_ = dice_.pick<std::uint64_t>({0, 0, 5, 30});
    switch_percent_ = dice_.pick<unsigned>({5, 20, 50});
    stall_permille_ = dice_.pick<std::uint64_t>({0, 1, 5});
    longest_stall_ = dice_.pick<std::uint64_t>({50, 400, 2000});
    attacks_ = dice_.pick<std::uint64_t>({0, 1, 2});
    // Many versions of the log, and processes that sleep for so long that old versions were removed.
    const bool is_busy = dice_.percent(15);
    if (is_busy) {
      stop_ = 20;
      batch_size_ = 1;
      stall_permille_ = 5;
      longest_stall_ = 2000;
    }
    const std::uint64_t span = 60 * stop_ * ranks + 200;
    const std::uint64_t dry = span * (is_busy ? 20 : dice_.pick<std::uint64_t>({1, 5, 10, 20})) / 10;
    const std::uint64_t most = stop_ * most_ranks * batch_size_;
    const std::uint64_t records = is_busy ? most : dice_.between(1, most);
    world_.emplace(dice_, has_partitions, is_busy ? 60 : dice_.pick<std::uint64_t>({1, 3, 7, 30}), records, most, dry);
    const std::uint64_t within = std::max(span, dry);
    kill_at_ = times(dice_.pick<std::uint64_t>({0, 1, 3, 6, 10}), within);
    server_at_ = times(dice_.pick<std::uint64_t>({0, 0, 1, 3}), within);
    restore_at_ = times(dice_.pick<std::uint64_t>({0, 0, 1, 3}), within);
    start_at_ = times(dice_.pick<std::uint64_t>({0, 0, 1, 2}), within);
    power_at_ = times(is_in_store_ ? 0 : dice_.pick<std::uint64_t>({0, 0, 1, 3}), within);
    spoil_at_ = times(spoils_ ? dice_.between(1, 4) : 0, dry + 1);
    cuts_[0] = {first_value, 0};
  }

  /// Returns what was wrong; empty: nothing.
  auto run() -> std::string {
    while (!is_over()) {
      const std::optional<Turns::Task> task = next();
      if (!task) break;
      turns_.give(*task);
    }
    if (wrong_.empty() && named) check_reason();
    else if (wrong_.empty() && step_ < stop_) wrong_ = "the job stands still";
    if (wrong_.empty()) check_records();
    return wrong_;
  }

  std::optional<Error> named;  ///< Why the job has ended before its last step.
  Counts counts;

 private:
  static constexpr std::uint64_t most_ranks = 4;
  static constexpr std::uint64_t first_value = 77;
  static constexpr std::uint64_t longest = 100'000;  // time of a job
  static constexpr const char* directory = "log";

  struct Process {
    std::size_t number = 0;
    Turns::Task task = 0;
    std::vector<std::uint64_t> ranks;
    std::uint64_t job = 0;  // which start of all processes it belongs to
    RankPlan plan;
    Step step = 0;  // the last one that it has heard of
    bool is_zombie = false;  // the job believes that it is dead
    bool is_dead = false;
    std::uint64_t sleeps_until = 0;
    std::uint64_t dies_at = UINT64_MAX;
    std::vector<Step> saved;  // cuts that it was told and has not heeded
    std::shared_ptr<const StreamLog> log;  // the last one that was examined
  };
  struct Cut {
    std::uint64_t value = 0;
    std::uint64_t version = 0;  // of the log at that time
  };

  // --- time, and whose turn it is

  [[nodiscard]] auto permille(std::uint64_t chance) -> bool { return dice_.below(1000) < chance; }
  [[nodiscard]] auto times(std::uint64_t count, std::uint64_t within) -> std::multiset<std::uint64_t> {
    std::multiset<std::uint64_t> list;
    for (std::uint64_t i = 0; i < count; ++i) list.insert(dice_.between(1, within));
    return list;
  }
  [[nodiscard]] auto is_due(std::multiset<std::uint64_t>& list) const -> bool {
    if (list.empty() || *list.begin() > now_) return false;
    list.erase(list.begin());
    return true;
  }
  [[nodiscard]] auto is_over() const -> bool { return !wrong_.empty() || named || step_ >= stop_ || now_ >= longest; }

  // Lets time pass until a process can run, and returns one; nothing: the run is over.
  auto next() -> std::optional<Turns::Task> {
    while (!is_over()) {
      std::vector<Turns::Task> awake;
      for (const auto& process : processes_)
        if (!process->is_dead && process->sleeps_until <= now_) awake.push_back(process->task);
      if (!awake.empty()) return awake[dice_.below(awake.size())];
      ++now_;
      happen();
    }
    return std::nullopt;
  }

  // Between two requests of a process: something happens, and others may act.
  void pause(Process& me) {
    ++now_;
    happen();
    if (permille(stall_permille_)) {
      ++counts.stalls;
      me.sleeps_until = now_ + dice_.between(10, longest_stall_);
    }
    if (is_over()) return turns_.pass(me.task, Turns::maker);
    if (!me.is_dead && me.sleeps_until <= now_ && !dice_.percent(switch_percent_)) return;
    turns_.pass(me.task, next().value_or(Turns::maker));
  }
  void sleep(Process& me, std::chrono::milliseconds time) {
    me.sleeps_until = std::max(me.sleeps_until, now_ + static_cast<std::uint64_t>(time.count()));
    pause(me);
  }

  // --- faults

  void happen() {
    world_->grow(now_);
    while (is_due(spoil_at_)) counts.spoilt += world_->spoil(dice_, now_);
    if (removes_ && told_ != nullptr && now_ % 8 == 0 && dice_.percent(30)) remove_source();
    while (is_due(kill_at_)) kill_one();
    while (is_due(server_at_)) stop_server();
    while (is_due(restore_at_)) lose_cut();
    while (is_due(start_at_)) start_all();
    while (is_due(power_at_)) lose_power();
    for (std::size_t i = 0; i < late_.size(); ++i)
      if (late_[i].first <= now_) {
        late_[i].second();
        late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(i--));
      }
    for (const auto& process : processes_)
      if (process->dies_at <= now_) process->is_dead = true;
    if (saving_ && saving_->first <= now_) save(std::exchange(saving_, std::nullopt)->second);
    if (now_ % 7 == 0 && dice_.percent(30)) adopt();
  }

  // The user removes a source, or a part of it, when all its records are used, and all kept cuts are newer than that.
  void remove_source() {
    StreamLog log = *told_;
    log.let_go(plan_.batches_before(cuts_.begin()->first + 1));
    counts.removed += world_->retain(log, dice_.below(world_->size()), now_);
  }

  void die_or_go_on(Process& process, unsigned zombie_percent) {
    if (process.is_dead || process.is_zombie) return;
    ++counts.kills;
    process.is_zombie = true;
    if (dice_.percent(zombie_percent)) {
      ++counts.zombies;
      process.dies_at = now_ + dice_.between(20, 1000);
    } else {
      process.is_dead = true;
    }
  }
  void kill_one() {
    std::vector<Process*> list;
    for (const auto& process : processes_)
      if (!process->is_dead && !process->is_zombie) list.push_back(process.get());
    if (!list.empty()) die_or_go_on(*list[dice_.below(list.size())], 40);
  }
  // The parameter server is killed: it goes on with its newest cut.
  void stop_server() { go_to(std::prev(cuts_.end())->first); }
  void go_to(Step step) {
    step_ = step;
    value_ = cuts_.at(step).value;
    contributions_.clear();
    saving_.reset();
    ++generation_;
    if (mistake_ == Mistake::restore_takes_log_back) take_log_back(cuts_.at(step).version);
  }
  // The newest cut is lost, and a Restore goes to the one before.
  void lose_cut() {
    if (cuts_.size() < 2 || cuts_.begin()->first == 0) return;
    ++counts.restores;
    cuts_.erase(std::prev(cuts_.end()));
    go_to(std::prev(cuts_.end())->first);
  }
  // All processes are started again, perhaps with another number of ranks, perhaps from the older cut.
  void start_all() {
    ++counts.starts_of_all;
    for (const auto& process : processes_) die_or_go_on(*process, 30);
    if (cuts_.size() > 1 && dice_.percent(30)) cuts_.erase(std::prev(cuts_.end()));
    const Step from = std::prev(cuts_.end())->first;
    if (dice_.percent(60)) {
      plan_.set_ranks(from + 1, dice_.between(1, most_ranks));
      std::erase_if(made_at_, [from](const auto& one) { return one.first > from; });
    }
    go_to(from);
    ++job_;
    if (mistake_ == Mistake::log_only_in_cuts) take_log_back(cuts_.at(from).version);
  }
  // All workers die, and perhaps the parameter server.
  void lose_power() {
    ++counts.losses_of_power;
    for (const auto& process : processes_) process->is_dead = process->is_zombie = true;
    shared_.lose_power(dice_);
    if (dice_.percent(50)) stop_server();
  }
  // A process stalls just when it has given a version its name, and power is lost soon after.
  void linked(Process& process) {
    ++counts.versions;
    if (attacks_ == 0 || !dice_.percent(10)) return;
    --attacks_;
    process.sleeps_until = now_ + 1000;
    power_at_.insert(now_ + dice_.between(1, 200));
    pause(process);
  }

  [[nodiscard]] auto newest_version() -> std::uint64_t {
    std::uint64_t newest = 0;
    for (const std::string& name : names())
      newest = std::max(newest, distrib::detail::stream_log_version(name).value_or(0));
    return newest;
  }
  [[nodiscard]] auto names() const -> std::vector<std::string> {
    if (!is_in_store_) return shared_.names(directory);
    std::vector<std::string> found;
    for (const auto& object : bucket_->objects)
      if (object.first.starts_with("run/")) found.push_back(object.first.substr(4));
    return found;
  }
  void take_log_back(std::uint64_t version) {
    for (const std::string& name : names()) {
      if (distrib::detail::stream_log_version(name).value_or(0) <= version) continue;
      if (is_in_store_) bucket_->objects.erase("run/" + name);
      else shared_.forget(std::string{directory} + "/" + name);
    }
  }

  // --- the parameter server

  void push(Process& from, Step step, std::uint64_t rank, std::uint64_t value) {
    if (from.job != job_ || step <= step_) return;
    const auto [at, is_new] = contributions_[step].try_emplace(rank, value);
    if (!is_new && at->second != value) wrong_ = "a repeat differs";
    for (auto now = contributions_.find(step_ + 1); now != contributions_.end(); now = contributions_.find(step_ + 1)) {
      if (now->second.size() < plan_.ranks_of(step_ + 1)) return;
      for (const auto& entry : now->second) value_ = mixed(value_, entry.second);
      contributions_.erase(now);
      ++step_;
      ++counts.steps;
      const auto [before, is_first] = made_at_.try_emplace(step_, value_);
      if (!is_first && before->second != value_) wrong_ = "a step was made of other batches before";
      if (step_ % cut_every_ == 0 && !saving_) saving_ = {now_ + dice_.between(1, 60), {step_, value_}};
    }
  }
  void save(const std::pair<Step, std::uint64_t>& cut) {
    cuts_[cut.first] = {cut.second, newest_version()};
    while (cuts_.size() > 2) cuts_.erase(cuts_.begin());
    for (const auto& process : processes_)
      if (process->job == job_ && process->ranks.front() == 0) process->saved.push_back(cut.first);
  }

  // Ranks that no process has get one; now and then also others.
  void adopt() {
    std::set<std::uint64_t> have;
    for (const auto& process : processes_)
      if (!process->is_dead && !process->is_zombie) have.insert(process->ranks.begin(), process->ranks.end());
    std::vector<std::uint64_t> wanted;
    for (std::uint64_t rank = 0; rank < plan_.ranks_of(step_ + 1); ++rank)
      if (!have.contains(rank) || permille(2)) wanted.push_back(rank);
    while (!wanted.empty()) {
      auto process = std::make_unique<Process>();
      process->number = processes_.size();
      process->job = job_;
      process->plan = plan_;
      do {
        process->ranks.push_back(wanted.front());
        wanted.erase(wanted.begin());
      } while (!wanted.empty() && dice_.percent(30));
      Process& me = *process;
      processes_.push_back(std::move(process));
      me.task = turns_.start([this, &me] {
        live(me);
        me.is_dead = me.is_zombie = true;
      });
    }
  }

  // --- a worker

  [[nodiscard]] auto log_of(Process& me) -> distrib::StreamLogFiles {
    const auto pauses = [this, &me] { pause(me); };
    if (!is_in_store_) {
      const std::string own = mistake_ == Mistake::order_of_listing ? std::to_string(me.number) : std::string{};
      SharedFiles files{shared_, me.number, pauses, [this, &me] { linked(me); }, mistake_};
      return {directory, distrib::detail::AnyLogHome{MistakenHome{
                             distrib::detail::DirectoryHomeOn<SharedFiles>{directory + own, files}, mistake_}}};
    }
    const std::string own = mistake_ == Mistake::order_of_listing ? "run" + std::to_string(me.number) : "run";
    const auto draw = [this] {
      if (!permille(away_permille_)) return RequestFate::done;
      return dice_.pick({RequestFate::lost, RequestFate::unanswered, RequestFate::late});
    };
    const auto postpone = [this](std::function<void()> perform) {
      ++counts.late_requests;
      late_.emplace_back(now_ + dice_.between(10, 3000), std::move(perform));
    };
    const auto open = [this, own, pauses, draw, postpone](const std::string& url, Error& error) {
      error = {};
      return distrib::ObjectDirectory{distrib::AnyObjectStore{LateClient{bucket_, pauses, draw, postpone, mistake_}},
                                      own, url};
    };
    return {"sim://log",
            distrib::detail::AnyLogHome{MistakenHome{distrib::detail::StoreHome{"sim://log", open}, mistake_}}};
  }
  [[nodiscard]] auto place_of(Process& me) -> std::unique_ptr<distrib::StreamPlace> {
    auto view = std::make_shared<View>();
    view->world = &*world_;
    for (std::uint64_t source = 0; source < world_->size(); ++source) view->late.push_back(dice_.between(0, lag_));
    view->now = [this] { return now_; };
    view->ask = [this, &me] {
      pause(me);
      return !permille(away_permille_);
    };
    return std::make_unique<MistakenPlace>(std::move(view), mistake_);
  }

  void live(Process& me) {
    Error error;
    distrib::FollowedStreamOptions options;
    options.log = directory;
    options.batch_size = batch_size_;
    options.look_every = std::chrono::milliseconds{look_every_};
    options.believe_after = std::chrono::milliseconds{mistake_ == Mistake::believes_at_once ? 0 : 2 * lag_ + 100};
    const distrib::detail::StreamClock clock{[this] {
                                               return std::chrono::steady_clock::time_point{} + std::chrono::hours{1} +
                                                      std::chrono::milliseconds{now_};
                                             },
                                             [this, &me](std::chrono::milliseconds time) { sleep(me, time); }};
    me.step = step_;
    distrib::FollowedStream stream{place_of(me), options, log_of(me), clock, error};
    distrib::KeptSteps kept{distrib::SaveCheckpoint{.directory = "cuts", .max_to_keep = 2}};
    if (!error) {
      me.step = step_;
      stream.continue_after(me.plan.batches_before(me.step + 1), error);
    }
    if (error) return end(me, me.step + 1, error);
    examine(me, stream.log());
    std::set<std::pair<Step, std::uint64_t>> done;
    for (std::uint64_t generation = generation_;;) {
      if (std::exchange(generation, generation_) != generation_) done.clear();
      for (const Step step : std::exchange(me.saved, {})) {
        std::optional<Step> oldest = kept.saved(step);
        if (mistake_ == Mistake::let_go_too_early) oldest = step;
        if (!oldest) continue;
        Error ignored;
        ++counts.let_go;
        const std::uint64_t batches = me.plan.batches_before(*oldest + 1);
        if (mistake_ == Mistake::forgets_at_once) {
          options.believe_after = {};
          distrib::FollowedStream forgetful{place_of(me), options, log_of(me), clock, ignored};
          forgetful.let_go(batches, ignored);
          examine(me, forgetful.log());
          continue;
        }
        stream.let_go(batches, ignored);
        examine(me, stream.log());
      }
      if (me.job == job_) me.step = step_;
      bool has_made = false;
      for (const std::uint64_t rank : me.ranks) {
        const Step step = me.step + 1;
        if (step > stop_ || rank >= me.plan.ranks_of(step) || done.contains({step, rank})) continue;
        const std::uint64_t before = generation_;
        const std::optional<std::uint64_t> value = contribution(me, stream, step, rank, error);
        if (error) return end(me, step, error);
        if (!value) continue;
        has_made = true;
        pause(me);
        push(me, step, rank, *value);
        if (before == generation_) done.emplace(step, rank);
      }
      if (has_made) pause(me);
      else sleep(me, options.look_every);
    }
  }

  // Returns nothing if the records are not there yet, or if there is an error.
  auto contribution(Process& me, distrib::FollowedStream& stream, Step step, std::uint64_t rank, Error& error)
      -> std::optional<std::uint64_t> {
    const std::uint64_t number = me.plan.batches_before(step) + rank;
    const bool is_there = stream.is_there(number, error);
    examine(me, stream.log());
    if (!is_there) return std::nullopt;
    const std::shared_ptr<const distrib::StreamBatch> batch = stream.wait_for(number, error);
    examine(me, stream.log());
    if (batch == nullptr) return std::nullopt;
    std::vector<std::string> records;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < batch->size(); ++i) {
      records.emplace_back(distrib::as_text(batch->at(i, error)));
      if (error) return std::nullopt;
      value = mixed(value, std::hash<std::string>{}(records.back()));
    }
    const auto [other, is_first] = batches_.try_emplace(number, records);
    if (!is_first && other->second != records) wrong_ = "a batch has two contents";
    return mixed(value, rank);
  }

  // The process ends. It is started again if a store was away at its start, or if the job goes on without it.
  void end(const Process& me, Step step, const Error& error) {
    ++counts.ends;
    const bool is_away = error.code == distrib::failure::unavailable || error.code == distrib::failure::timeout;
    if (is_away || me.is_zombie || me.job != job_ || step <= step_) return;
    named = error;
  }

  // --- what must be so

  [[nodiscard]] static auto mixed(std::uint64_t a, std::uint64_t b) noexcept -> std::uint64_t {
    return distrib::detail::mix_bits(a * 31 + b + 0x9e3779b97f4a7c15U);
  }

  // A log that a process knows: what was told once stays, and what a kept cut needs is there.
  void examine(Process& me, const std::shared_ptr<const StreamLog>& log) {
    if (log == nullptr || log == std::exchange(me.log, log)) return;
    std::uint64_t number = log->first_item();
    for (const distrib::StreamItem& item : log->kept_items()) {
      const auto [other, is_new] = items_.try_emplace(number++, item);
      if (!is_new && other->second != item) wrong_ = "an item has changed";
      if (const auto* const range = std::get_if<distrib::StreamRange>(&item); range != nullptr && is_new) {
        const auto [end, is_first] = ends_.try_emplace(range->source, range->first);
        if (range->first != (is_first ? 0 : end->second)) wrong_ = "records are in the log twice, or out of order";
        end->second = range->end;
      }
    }
    const Step oldest = cuts_.begin()->first;
    if (me.job == job_ && log->kept_step() > me.plan.batches_before(oldest + 1))
      wrong_ = "what a kept cut needs was let go";
    if (told_ == nullptr || std::pair{told_->items(), told_->kept_step()} < std::pair{log->items(), log->kept_step()})
      told_ = log;
  }

  void check_reason() {
    const std::error_code& code = named->code;
    const bool is_spoilt = code == distrib::stream_errc::source_gone || code == distrib::stream_errc::source_replaced ||
                           code == distrib::stream_errc::records_expired;
    if (counts.spoilt == 0 || !is_spoilt) wrong_ = "ended without a reason: " + code.message();
  }

  // Each record of each source is used once, in order, and is of one version.
  void check_records() {
    const std::uint64_t count = named ? batches_.size() : plan_.batches_before(stop_ + 1);
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> next;  // version and number
    for (std::uint64_t number = 0; number < count; ++number) {
      const auto batch = batches_.find(number);
      if (batch == batches_.end() && named) return;
      if (batch == batches_.end()) return void(wrong_ = "a batch was not made");
      if (batch->second.size() != batch_size_) return void(wrong_ = "a batch has another size");
      for (const std::string& record : batch->second) {
        const std::size_t version_at = record.find(' ');
        if (version_at == std::string::npos) return void(wrong_ = "a record was left out");
        const std::size_t number_at = record.find(' ', version_at + 1);
        const std::uint64_t version = std::stoull(record.substr(version_at));
        const std::uint64_t index = std::stoull(record.substr(number_at));
        // A partition may have dropped its first records before it was seen first.
        const bool may_begin_anywhere = world_->has_partitions() && counts.spoilt != 0;
        const auto [at, is_first] = next.try_emplace(record.substr(0, version_at), version, index);
        if (is_first && index != 0 && !may_begin_anywhere) return void(wrong_ = "the first records were left out");
        if (at->second != std::pair{version, index}) return void(wrong_ = "a record is used twice, or out of order");
        ++at->second.second;
      }
    }
  }

  distrib::sim::Dice dice_;
  Mistake mistake_;
  RankPlan plan_;
  std::uint64_t cut_every_ = 1, batch_size_ = 1, lag_ = 0, away_permille_ = 0, stall_permille_ = 0, longest_stall_ = 0,
                attacks_ = 0;
  std::int64_t look_every_ = 1;
  unsigned switch_percent_ = 0;
  Step stop_ = 1;
  bool is_in_store_ = false, removes_ = false, spoils_ = false;
  std::optional<World> world_;
  std::multiset<std::uint64_t> kill_at_, server_at_, restore_at_, start_at_, power_at_, spoil_at_;

  std::uint64_t now_ = 0;
  SharedDirectory shared_;
  std::shared_ptr<support::MapObjects> bucket_ = std::make_shared<support::MapObjects>();
  std::vector<std::pair<std::uint64_t, std::function<void()>>> late_;  // requests, and when they are performed

  // The parameter server.
  std::uint64_t job_ = 0;  // grows when all processes are started again
  std::uint64_t generation_ = 0;  // grows when it goes back
  Step step_ = 0;
  std::uint64_t value_ = first_value;
  std::map<Step, std::map<std::uint64_t, std::uint64_t>> contributions_;
  std::map<Step, Cut> cuts_;
  std::optional<std::pair<std::uint64_t, std::pair<Step, std::uint64_t>>> saving_;  // when it is durable

  // What was seen so far.
  std::string wrong_;
  std::map<std::uint64_t, std::vector<std::string>> batches_;
  std::map<std::uint64_t, distrib::StreamItem> items_;
  std::map<std::string, std::uint64_t, std::less<>> ends_;  // of sources, in the order of the log
  std::map<Step, std::uint64_t> made_at_;
  std::shared_ptr<const StreamLog> told_;  // the longest log

  std::vector<std::unique_ptr<Process>> processes_;
  Turns turns_;  // ends the threads before anything that they use
};

}  // namespace simulation::followed
