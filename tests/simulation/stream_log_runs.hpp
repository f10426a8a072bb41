// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sim/dice.hpp>
#include <distrib/stream_log/error.hpp>
#include <distrib/stream_log/seen_source.hpp>
#include <distrib/stream_log/stream_file.hpp>
#include <distrib/stream_log/stream_log.hpp>
#include <distrib/stream_log/stream_shard_core.hpp>
#include <distrib/stream_log/stream_worker_core.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

/// Random runs of the cores of a stream log and of its real file format, in a synchronous job whose sources grow,
/// vanish, are replaced and drop their oldest records while shards and workers are killed, lose their disks, and go on
/// as zombies, and while the ranks change. Steps, cuts and Restore are a small model of the protocol; what they ask
/// about the log, the cores answer. Values are hashes of all that was pulled, read and counted, in order, so an oracle
/// computes them again from the log.
namespace simulation::streams {

/// A mistake that is planted around a core: in what it is told, in what is made of its answers, or by a switch of it.
enum class Mistake {
  none,
  told_before_durable,
  order_of_listing,
  two_not_settled,
  log_only_in_cuts,
  horizon_not_durable,
  no_horizon,
  restore_forgets,
  let_go_too_early,
  grown_tail,
  bytes_not_compared,
  tail_of_another,
  eaten_is_left_out,
  any_start,
  count_before_copy,
  starts_by_itself,
  no_seal,
  seal_not_durable,
  any_copy,
  any_id,
  other_history_kept,
  end_by_listing,
};

using distrib::SharedStreamLog;
using distrib::StreamLabel;
using distrib::StreamLog;
using distrib::StreamLogId;
using distrib::StreamProposal;
using distrib::StreamSum;
using Step = std::uint64_t;
using Value = std::uint64_t;

constexpr Step never = 1'000'000'000;

inline auto mix(std::uint64_t hash, std::uint64_t with) noexcept -> std::uint64_t {
  hash = ((hash ^ with) * 1099511628211U + 0x9e3779b97f4a7c15U);
  return hash ^ hash >> 29;
}
inline auto mix(std::initializer_list<std::uint64_t> numbers) noexcept -> std::uint64_t {
  std::uint64_t hash = 1469598103934665603U;
  for (const std::uint64_t number : numbers) hash = mix(hash, number);
  return hash;
}

/// The job ends, and says why. That is right when a source was spoilt, or when a disk was lost.
struct Named {
  std::error_code code;  ///< Empty: there is no cut to go back to.
};

/// What was observed over all runs.
struct Counts {
  std::uint64_t kills = 0, lost_disks = 0, ranges = 0, logs_sent = 0, lives = 0, dropped = 0, dry = 0, let_go = 0,
                ranks = 0, restores = 0, spoilt = 0, steps = 0;
};

class Run {
 public:
  /// `harsh`: with more shards, kills and lost disks, and without spoilt sources.
  Run(std::uint64_t seed, Mistake mistake, bool harsh = false) : dice_{seed}, mistake_{mistake} {
    shard_count_ = static_cast<std::uint32_t>(dice_.between(1, 4));
    most_ranks_ = static_cast<std::uint32_t>(dice_.between(1, 4));
    cut_every_ = dice_.between(1, 5);
    horizon_ = dice_.pick<std::uint64_t>({1, 1, 2, 4});
    batch_size_ = dice_.between(1, 3);
    const std::uint64_t steps = dice_.between(3, 16);
    stop_ = chance(600) ? steps : never;
    ahead_ = dice_.pick<std::uint64_t>({0, 2, 10, 60});
    lag_ = dice_.pick<std::uint64_t>({0, 10, 40, 120});
    trims_ = chance(500);
    lossy_ = chance(400);
    spoils_ = stop_ < never && chance(200);
    const std::vector<std::uint32_t> base = some_ranks();
    first_ = std::make_shared<const StreamLog>(batch_size_, base);
    kills_ = dice_.pick<std::uint64_t>({0, 1, 2, 3, 6, 10});
    resets_ = dice_.pick<std::uint64_t>({0, 0, 2, 6});
    scales_ = dice_.pick<std::uint64_t>({0, 0, 1, 2, 4});
    stalls_ = dice_.pick<std::uint64_t>({0, 0, 3, 10});
    window_ = dice_.pick<std::uint64_t>({1, 2, 100});
    evil_ = dice_.pick<std::uint64_t>({0, 1, 2});
    if (harsh) {
      shard_count_ = std::max<std::uint32_t>(shard_count_, 2);
      lossy_ = true;
      spoils_ = false;
      kills_ = 10;
      evil_ = 2;
    }
    span_ = 40 * steps * base.size();
    dry_ = span_ * dice_.pick<std::uint64_t>({1, 5, 10, 20}) / 10;
    const std::uint64_t sources = dice_.between(1, 7);
    for (std::uint64_t i = 0; i < sources; ++i)
      if (chance(300)) partitions_.insert(i);
    make_world(dice_.between(1, steps) * base.size() * batch_size_ + dice_.between(0, batch_size_), sources);
    for (std::uint32_t i = 0; i < shard_count_; ++i) {
      shards_.push_back(std::make_unique<Shard>(*this, i));
      shards_.back()->start();
    }
    processes_ = dice_.between(1, most_ranks_);
    for (std::size_t i = 0; i < base.size(); ++i) add_worker(base[i], i % processes_);
  }

  /// Returns what was wrong; empty: nothing. `named` says whether the job ended with a reason.
  auto run() -> std::string {
    try {
      return perform();
    } catch (const Named& why) {
      named = true;
      const bool is_spoilt = spoils_ && (why.code == distrib::stream_errc::source_gone ||
                                         why.code == distrib::stream_errc::source_replaced ||
                                         why.code == distrib::stream_errc::records_expired);
      if (!is_spoilt && !(trims_ && counts.lost_disks != 0))
        return "ended without a reason: " + (why.code ? why.code.message() : std::string{"nothing to go back to"});
      const Shard& keeper = *shards_[0];
      return keeper.core && keeper.core->is_open() ? verdict(*keeper.core->told(), false) : std::string{};
    } catch (const std::logic_error& wrong) {
      return wrong.what();
    }
  }

  bool named = false;
  Counts counts;

 private:
  // --- what lies outside: sources, and when they grow

  struct State {
    bool is_there = false;
    std::uint64_t low = 0, records = 0, version = 0;
  };
  struct Line {
    std::vector<std::pair<std::uint64_t, State>> states;  // since when
    std::deque<std::pair<std::uint64_t, std::uint64_t>> plan;  // when, how many records then
  };

  static auto record(std::uint64_t source, std::uint64_t version, std::uint64_t number) -> std::uint64_t {
    return mix({11, source, version, number});
  }
  auto total(std::uint64_t version, std::uint64_t source, std::uint64_t records) -> StreamSum {
    std::vector<std::uint64_t>& sums = sums_[{source, version}];
    if (sums.empty()) sums.push_back(mix({13, source}));
    while (sums.size() <= records) sums.push_back(mix({sums.back(), record(source, version, sums.size() - 1)}));
    return {sums[records], ~sums[records]};
  }
  static auto name_of(std::uint64_t source) -> std::string { return "events-" + std::to_string(source); }
  static auto number_of(const std::string& name) -> std::uint64_t { return std::stoull(name.substr(7)); }

  void make_world(std::uint64_t records, std::uint64_t sources) {
    count_ = records;
    big_ = sources;
    std::uint64_t left = records;
    for (std::uint64_t source = 0; source < sources; ++source) {
      const std::uint64_t share = std::max<std::uint64_t>(1, 2 * left / (sources - source));
      const std::uint64_t n = source == sources - 1 ? left : std::min(left, dice_.between(0, share));
      left -= n;
      if (n == 0) continue;
      std::set<std::uint64_t> ends{n};
      const std::uint64_t parts =
          partitions_.contains(source) ? dice_.between(0, 8) : dice_.pick<std::uint64_t>({0, 0, 2, 5});
      for (std::uint64_t i = 0; i < parts; ++i) ends.insert(dice_.between(1, n));
      std::multiset<std::uint64_t> times;
      for (std::size_t i = 0; i < ends.size(); ++i) times.insert(dice_.between(0, dry_));
      auto time = times.begin();
      for (const std::uint64_t end : ends) lines_[source].plan.emplace_back(*time++, end);
    }
    if (stop_ < never) {  // a job that stops at a step has enough
      lines_[sources].plan.emplace_back(dry_, stop_ * most_ranks_ * batch_size_);
    } else {
      ended_ = 1;
      for (const auto& [source, line] : lines_) ended_ = std::max(*ended_, line.plan.back().first + 1);
    }
  }
  void grow() {
    for (auto& [source, line] : lines_)
      while (!line.plan.empty() && line.plan.front().first <= now_) {
        State state = line.states.empty() ? State{} : line.states.back().second;
        state.is_there = true;
        state.records = line.plan.front().second;
        line.plan.pop_front();
        line.states.emplace_back(now_, state);
      }
  }
  [[nodiscard]] auto seen(std::uint64_t source, std::uint64_t lag) const -> State {
    State state;
    for (const auto& [since, what] : lines_.at(source).states)
      if (since + lag <= now_) state = what;
    return state;
  }
  [[nodiscard]] auto grown_sources() const -> std::vector<std::uint64_t> {
    std::vector<std::uint64_t> list;
    for (const auto& [source, line] : lines_)
      if (!line.states.empty()) list.push_back(source);
    return list;
  }
  void put(std::uint64_t source, State state) { lines_[source].states.emplace_back(now_, state); }

  // What no job can need goes.
  void retain(const StreamLog& log) {
    const std::vector<std::uint64_t> list = grown_sources();
    if (list.empty()) return;
    const std::uint64_t source = list[dice_.below(list.size())];
    const distrib::SourceEnd* const end = log.end_of(name_of(source));
    std::uint64_t done = end == nullptr ? 0 : end->records;
    for (const distrib::StreamItem& item : log.kept_items())
      if (const auto* const range = std::get_if<distrib::StreamRange>(&item);
          range && range->source == name_of(source)) {
        done = range->first;
        break;
      }
    State state = lines_[source].states.back().second;
    if (!state.is_there) return;
    if (partitions_.contains(source) && done > state.low) {
      state.low = done;
    } else if (!partitions_.contains(source) && done == state.records && lines_[source].plan.empty()) {
      state = {false, 0, 0, state.version};
    } else {
      return;
    }
    put(source, state);
  }

  // Records that a batch may still need vanish, or are replaced.
  void spoil() {
    std::vector<std::uint64_t> list;
    for (const std::uint64_t source : grown_sources())
      if (!lines_[source].plan.empty()) list.push_back(source);
    if (list.empty()) list = grown_sources();
    if (list.empty()) return;
    const std::uint64_t source = list[dice_.below(list.size())];
    if (source == big_) return;  // else there may not be enough
    Line& line = lines_[source];
    State state = line.states.back().second;
    if (!state.is_there || state.records == 0) return;
    ++counts.spoilt;
    if (partitions_.contains(source) && !line.plan.empty()) {
      const std::uint64_t end = line.plan.front().second;
      line.plan.pop_front();
      put(source, {true, dice_.between(state.records + 1, end), end, state.version});
    } else if (partitions_.contains(source)) {
      if (state.low < state.records)
        put(source, {true, dice_.between(state.low + 1, state.records), state.records, state.version});
    } else if (chance(500)) {
      put(source, {false, 0, 0, state.version});
      line.plan.clear();
    } else {
      ++state.version;
      put(source, state);
    }
  }

  // --- messages

  struct Shard;
  struct Worker;
  using End = std::uint64_t;  // a shard's number; 99 the operator; 100 and up: workers

  struct Message {
    std::function<void()> deliver;
    std::optional<std::uint64_t> rests_on = {};  // of a contribution: how many items
  };
  void send(End from, End to, std::function<void()> deliver, std::optional<std::uint64_t> rests_on = {}) {
    if (is_alive(to)) queues_[{from, to}].push_back({std::move(deliver), rests_on});
  }
  [[nodiscard]] auto is_alive(End end) const -> bool {
    if (end < 99) return shards_[end]->alive;
    return end == 99 || all_workers_[end - 100]->alive;
  }
  void cut_off(Worker& worker, Shard& shard) {
    queues_.erase({worker.end, shard.i});
    queues_.erase({shard.i, worker.end});
    std::erase_if(shard.parked, [&](const auto& pull) { return pull.first == worker.end; });
    if (shard.core) shard.core->lost(worker.end);
  }
  void drop(Worker& worker) {
    worker.alive = false;
    for (auto& shard : shards_) cut_off(worker, *shard);
  }
  [[nodiscard]] auto everybody() const -> std::vector<Worker*> {
    std::vector<Worker*> list = workers_;
    for (const auto& [zombie, left] : zombies_) list.push_back(zombie);
    return list;
  }

  // --- a shard: the core of its log, and a small model of what else it does

  struct Cut {
    Value value = 0;
    std::optional<StreamLabel> label;
    SharedStreamLog log;
  };
  struct Contribution {
    Value value = 0;
    std::vector<std::uint32_t> ranks;  // of the step
    StreamLabel label;
  };
  struct Saved {
    Step step = 0;
    Value value = 0;
    std::optional<StreamLabel> label;
  };
  using Disk = std::map<Step, Cut>;
  using Bytes = std::vector<std::byte>;

  struct Shard {
    Shard(Run& all, std::uint32_t number) : run{all}, i{number} { wipe(); }

    void wipe() {
      disk = {{0, Cut{mix({77, i}), {}, nullptr}}};
      file.clear();
      lowest.clear();
      life = ++run.lives_so_far_;
    }
    // The disk is lost; perhaps an older cut was kept elsewhere, or an older disk comes back.
    void lose() {
      std::pair<Disk, Bytes> old{disk, file};
      is_other_disk = true;
      if (attic && run.chance(300)) {
        std::tie(disk, file) = *std::exchange(attic, std::nullopt);
        lowest.clear();
        life = ++run.lives_so_far_;
        return;
      }
      if (run.chance(500)) attic = std::move(old);
      wipe();
      if (away && run.chance(600)) disk[away->first] = away->second;
    }

    void start() {
      alive = true;
      is_other_disk = false;
      pending.reset();
      early = nullptr;
      common = most_heard = 0;
      parked.clear();
      contributions.clear();
      std::error_code code;
      std::optional<distrib::StreamFile> read;
      if (!file.empty()) {
        read = distrib::parse_stream_file(file, code);
        if (!read) throw std::logic_error{"the file of a log cannot be read"};
      }
      std::vector<SharedStreamLog> copies;
      for (const auto& one : disk) copies.push_back(one.second.log);
      if (i == 0 && run.mistake_ == Mistake::log_only_in_cuts && read) read->log = nullptr;
      if (i == 0 && run.mistake_ == Mistake::horizon_not_durable && read && read->log != nullptr)
        if (const auto low = lowest.find(read->log->label_with(read->log->items())->sum); low != lowest.end()) {
          auto log = std::make_shared<StreamLog>(*low->second);
          log->set_id(read->log->id());
          read->log = log;
        }
      core.emplace(distrib::StreamShardRules{i == 0, run.horizon_, !run.takes_any()});
      go_to_newest();
      distrib::StreamShardActions out;
      core->start(std::move(read), copies, {run.now_ + 1, run.dice_.next()}, out);
      perform(out);
      if (i == 0 && run.mistake_ == Mistake::starts_by_itself) {
        core->found(core->id(), core->told() == nullptr ? run.first_ : core->told(), out);
        perform(out);
        written();
      }
      has_started();
    }
    void go_to_newest() {
      const auto newest = std::prev(disk.end());
      step = newest->first;
      values = {{step, newest->second.value}};
      labels = {{step, newest->second.label}};
      contributions.clear();
      parked.clear();
      saving.reset();
      due.reset();
    }
    void has_started() {
      tell_step();
      tell_floor();
    }
    void tell_step() {
      if (run.mistake_ == Mistake::no_horizon) return;
      distrib::StreamShardActions out;
      core->completed(step, out);
      perform(out);
    }
    void tell_floor() {
      if (i != 0 || !run.trims_) return;
      Step floor = 0;
      for (const auto& [at, cut] : disk)
        if (at > 0 && at < common) floor = at;
      if (run.mistake_ == Mistake::let_go_too_early) floor = disk.rbegin()->first;
      distrib::StreamShardActions out;
      core->keep_from(floor, out);
      perform(out);
    }

    void perform(distrib::StreamShardActions& out) {
      for (distrib::StreamShardAction& action : std::exchange(out, {}))
        std::visit([this](auto& what) { on(what); }, action);
    }
    void on(distrib::stream_action::WriteFile& write) {
      pending = std::move(write.file);
      if (run.mistake_ != Mistake::told_before_durable || i != 0 || !core->is_open()) return;
      early = pending->log;
      for (Worker* const worker : run.everybody()) send_log(worker->end);
    }
    void on(distrib::stream_action::SendHello& hello) {
      if (hello.peer) return send_hello(*hello.peer);
      for (Worker* const worker : run.everybody()) send_hello(worker->end);
    }
    void on(distrib::stream_action::SendSealed& sealed) {
      run.send(i, sealed.peer, [worker = run.all_workers_[sealed.peer - 100].get(), sealed, shard = i] {
        worker->sealed(shard, sealed.id, sealed.copy, sealed.is_given);
      });
    }
    void on(distrib::stream_action::SendLog& send) {
      ++run.counts.logs_sent;
      send_log(send.peer);
    }
    void on(distrib::stream_action::DropStored&) {
      contributions.clear();
      parked.clear();
    }
    void on(distrib::stream_action::DropOthers&) {
      if (run.mistake_ == Mistake::other_history_kept) return;
      const bool is_other = !core->agrees(step, labels.at(step));
      std::erase_if(disk, [this](const auto& cut) { return !core->agrees(cut.first, cut.second.label); });
      if (!is_other) return;
      ++run.counts.dropped;
      go_to_newest();
      tell_step();
    }
    void on(distrib::stream_action::Moved&) {
      for (const auto& [peer, at] : std::exchange(parked, {})) pull(peer, at);
      advance();
      finish(false);
    }
    void on(distrib::stream_action::Fail& fail) { throw Named{fail.error.code}; }

    void written() {
      const StreamLogId id = pending->promised;
      if (i == 0 && pending->log != nullptr) run.remember(*pending->log);
      file = distrib::to_bytes(*pending);
      if (i == 0 && pending->log != nullptr)
        lowest.try_emplace(pending->log->label_with(pending->log->items())->sum, pending->log);
      pending.reset();
      early = nullptr;
      const bool was_open = core->is_open();
      if (i == 0 && !was_open && id == core->id()) {
        run.life_of_[id] = life;
        run.begun_with_[id] = run.lives_so_far_;
        ++run.counts.lives;
      }
      distrib::StreamShardActions out;
      core->written(out);
      perform(out);
    }

    [[nodiscard]] auto told() const -> SharedStreamLog { return early != nullptr ? early : core->told(); }
    [[nodiscard]] auto last() const -> Step { return run.last_step(core->told()); }
    [[nodiscard]] auto cuts() const -> std::set<Step> {
      std::set<Step> list;
      for (const auto& [at, cut] : disk)
        if (core->told() == nullptr || core->told()->reaches(at)) list.insert(at);
      return list;
    }
    void send_hello(End peer) {
      distrib::StreamHello hello = core->hello();
      if (hello.log != nullptr && hello.is_open) hello.log = told();
      run.send(i, peer, [worker = run.all_workers_[peer - 100].get(), shard = i, at = step, list = cuts(), hello] {
        worker->joined(shard, at, list, hello);
      });
    }
    void send_log(End peer) {
      run.send(i, peer, [worker = run.all_workers_[peer - 100].get(), log = told()] { worker->hears(log); });
    }

    // --- what workers send

    [[nodiscard]] auto accepts(End peer, StreamLogId id, const SharedStreamLog& log) -> bool {
      if (log != nullptr && id == core->id()) most_heard = std::max(most_heard, log->items());
      distrib::StreamShardActions out;
      const bool goes_on = core->accept(peer, id, log, out);
      perform(out);
      return goes_on || (run.mistake_ == Mistake::any_id && core->is_open());
    }
    void append(End peer, std::vector<StreamProposal> proposals) {
      if (core->told() != nullptr) run.spoil_proposals(*core->told(), proposals);
      for (const StreamProposal& one : proposals)
        run.counts.ranges += std::holds_alternative<distrib::ProposedRange>(one);
      distrib::StreamShardActions out;
      core->append(peer, std::move(proposals), out);
      perform(out);
    }
    void seal(End peer, StreamLogId id) {
      distrib::StreamShardActions out;
      core->seal(peer, id, out);
      if (run.mistake_ == Mistake::seal_not_durable && core->id() == id)
        out.emplace_back(distrib::stream_action::SendSealed{peer, id, core->told(), true});
      perform(out);
    }
    void push(End peer, Step at, std::uint32_t rank, const Contribution& contribution, Step newest_common) {
      common = std::max(common, newest_common);
      std::vector<Step> old;
      for (const auto& [cut, what] : disk)
        if (cut > 0 && cut < common) old.push_back(cut);
      if (!old.empty()) old.pop_back();
      for (const Step cut : old) disk.erase(cut);
      tell_floor();
      if (at > step + run.window_) return send_hello(peer);
      if (at <= step) return;
      std::map<std::uint32_t, Contribution>& there = contributions[at];
      if (const auto other = there.find(rank); other != there.end() && other->second.value != contribution.value)
        throw std::logic_error{"a repeat differs"};
      for (const auto& [of, other] : there)
        if (other.ranks != contribution.ranks) throw std::logic_error{"the ranks of a step differ"};
      there[rank] = contribution;
      advance();
    }
    void advance() {
      for (auto next = contributions.find(step + 1); next != contributions.end(); next = contributions.find(step + 1)) {
        const Contribution first = next->second.begin()->second;
        if (next->second.size() < first.ranks.size()) return;
        const bool counts_all = run.mistake_ == Mistake::count_before_copy || run.mistake_ == Mistake::no_horizon;
        if (!core->may_count(step + 1, first.label.items) && !counts_all) return;
        Value value = values.at(step);
        for (const auto& [rank, one] : next->second) value = mix({value, one.value});
        contributions.erase(next);
        ++step;
        ++run.counts.steps;
        values[step] = value;
        labels[step] = first.label;
        run.counted(step, first.label.sum, *this);
        std::erase_if(values, [this](const auto& one) { return one.first + 1 < step; });
        std::erase_if(labels, [this](const auto& one) { return one.first + 1 < step; });
        finish(step % run.cut_every_ == 0);
        tell_step();
        for (const auto& [peer, at] : std::exchange(parked, {})) pull(peer, at);
      }
    }
    void finish(bool is_due) {
      const bool has = disk.contains(step) || (saving && saving->step == step) || (due && due->step == step);
      if (!is_due && (step != last() || has)) return;
      (saving ? due : saving) = Saved{step, values.at(step), labels.at(step)};
    }
    void pull(End peer, Step at) {
      const bool waits_for_horizon = run.mistake_ != Mistake::no_horizon && !core->may_tell(at);
      if (at > step || !core->is_open() || (i == 0 && values.contains(at) && waits_for_horizon)) {
        parked.emplace_back(peer, at);
        return;
      }
      const auto value = values.find(at);
      const std::optional<Value> has = value == values.end() ? std::nullopt : std::optional{value->second};
      run.send(
          i, peer,
          [worker = run.all_workers_[peer - 100].get(), shard = i, id = core->id(), log = i == 0 ? told() : nullptr, at,
           has, now = step, list = cuts()] { worker->answered(shard, id, log, at, has, now, list); });
    }
    void restore(End peer, Step to) {
      if (!cuts().contains(to) || values.contains(to)) return send_hello(peer);
      if (to < step) contributions.clear();
      step = to;
      values = {{to, disk.at(to).value}};
      labels = {{to, disk.at(to).label}};
      saving.reset();
      due.reset();
      std::erase_if(contributions, [&](const auto& one) { return one.first <= to; });
      const auto pulls = std::exchange(parked, {});
      if (run.mistake_ == Mistake::restore_forgets && i == 0) forget(disk.at(to).log);
      tell_step();
      for (Worker* const worker : run.everybody()) send_hello(worker->end);
      for (const auto& [who, at] : pulls) pull(who, at);
      advance();
    }
    // The planted mistake: the log is that of the cut again.
    void forget(const SharedStreamLog& log) {
      const StreamLogId id = core->id();
      core.emplace(distrib::StreamShardRules{true, run.horizon_, true});
      pending.reset();
      distrib::StreamShardActions out;
      core->start(std::nullopt, {}, id, out);
      core->found(core->id(), log == nullptr ? run.first_ : log, out);
      perform(out);
      written();
    }

    void tick() {
      if (pending && run.chance(600)) written();
      if (!saving || !run.chance(500)) return;
      disk[saving->step] = {saving->value, saving->label, core->told()};
      const Step at = saving->step;
      saving = std::exchange(due, std::nullopt);
      if (run.chance(300)) away = {at, disk.at(at)};
      for (Worker* const worker : run.everybody()) send_hello(worker->end);
      tell_floor();
    }

    Run& run;
    std::uint32_t i;
    bool alive = false;
    bool is_other_disk = false;  // than that of the last process: the next one looks at it
    std::uint64_t life = 0;  // of its disk
    Disk disk;
    Bytes file;
    std::map<StreamSum, SharedStreamLog> lowest;  // the first file with these items, which has the lowest horizon
    std::optional<std::pair<Step, Cut>> away;
    std::optional<std::pair<Disk, Bytes>> attic;
    std::optional<distrib::StreamShardCore> core;
    std::optional<distrib::StreamFile> pending;
    SharedStreamLog early;
    std::uint64_t most_heard = 0;
    Step step = 0, common = 0;
    std::map<Step, Value> values;
    std::map<Step, std::optional<StreamLabel>> labels;
    std::map<Step, std::map<std::uint32_t, Contribution>> contributions;
    std::vector<std::pair<End, Step>> parked;
    std::optional<Saved> saving, due;
  };

  // --- a worker

  struct Made {
    std::vector<Value> values;  // of each shard
    std::vector<std::uint32_t> ranks;
    StreamLabel label;
  };

  struct Worker {
    Worker(Run& all, End number, std::uint32_t of_rank, std::uint64_t in_process)
        : run{all},
          end{number},
          rank{of_rank},
          process{in_process},
          core{all.shard_count_, *all.first_},
          salt{all.dice_.next()} {}

    void perform(distrib::StreamWorkerActions& out) {
      for (distrib::StreamWorkerAction& action : std::exchange(out, {}))
        std::visit([this](auto& what) { on(what); }, action);
    }
    void on(distrib::stream_action::Join& join) {
      run.send(end, join.shard, [shard = run.shards_[join.shard].get(), me = end] { shard->send_hello(me); });
    }
    void on(distrib::stream_action::Born& born) {
      run.send(end, 0, [shard = run.shards_[0].get(), number = born.number] {
        distrib::StreamShardActions out;
        shard->core->born(number, out);
        shard->perform(out);
      });
    }
    void on(distrib::stream_action::Seal& seal) {
      run.send(end, seal.shard,
               [shard = run.shards_[seal.shard].get(), me = end, id = seal.id] { shard->seal(me, id); });
      if (run.mistake_ != Mistake::no_seal || core.is_running()) return;
      distrib::StreamWorkerActions out;
      core.sealed(seal.shard, seal.id, nullptr, false, out);
      perform(out);
    }
    void on(distrib::stream_action::Found& found) {
      if (run.mistake_ == Mistake::any_copy && !copies.empty()) found.log = copies[run.dice_.below(copies.size())];
      copies.clear();
      run.send(end, 0, [shard = run.shards_[0].get(), found] {
        distrib::StreamShardActions out;
        shard->core->found(found.id, found.log, out);
        shard->perform(out);
      });
    }
    void on(distrib::stream_action::GiveLog& give) {
      run.send(end, give.shard, [shard = run.shards_[give.shard].get(), me = end, id = core.id(), log = core.log()] {
        (void)shard->accepts(me, id, log);
      });
    }
    void on(distrib::stream_action::Want& want) {
      ++run.counts.dry;
      run.send(end, 0, [shard = run.shards_[0].get(), me = end, records = want.records] {
        distrib::StreamShardActions out;
        shard->core->want(me, records, out);
        shard->perform(out);
      });
    }
    void on(distrib::stream_action::OtherLife&) {
      std::erase_if(buffer, [this](const auto& one) { return !core.log()->agrees(one.first, one.second.label); });
    }
    void on(distrib::stream_action::Ready&) { go(); }
    void on(distrib::stream_action::BeginAgain&) { begin(true); }
    void on(distrib::stream_action::Serve& serve_one) { serve(serve_one.shard, known.at(serve_one.shard).first); }

    void begin(bool asks) {
      at.reset();
      got.clear();
      copies.clear();
      distrib::StreamWorkerActions out;
      core.begin(out, asks);
      perform(out);
    }

    // --- what shards send

    void joined(std::uint32_t shard, Step step, const std::set<Step>& cuts, const distrib::StreamHello& hello) {
      known[shard] = {step, cuts};
      if (hello.log != nullptr && !hello.is_open) copies.push_back(hello.log);
      distrib::StreamWorkerActions out;
      core.joined(shard, hello, out);
      perform(out);
    }
    void sealed(std::uint32_t shard, StreamLogId id, const SharedStreamLog& copy, bool is_given) {
      if (copy != nullptr) copies.push_back(copy);
      distrib::StreamWorkerActions out;
      core.sealed(shard, id, copy, is_given, out);
      perform(out);
    }
    void hears(const SharedStreamLog& log) {
      if (log == nullptr || log->id() != core.id()) return;
      distrib::StreamWorkerActions out;
      core.hear(log, out);
      perform(out);
      make_step();
    }
    void answered(std::uint32_t shard, StreamLogId id, const SharedStreamLog& log, Step of, std::optional<Value> value,
                  Step step, const std::set<Step>& cuts) {
      if (!core.follows(id)) return;
      distrib::StreamWorkerActions out;
      core.hear(log, out);
      perform(out);
      known[shard] = {value ? std::max(step, known[shard].first) : step, cuts};
      if (at != of || got.contains(shard)) return;
      if (value) {
        got[shard] = *value;
        make_step();
      } else if (gone_at == of && core.log()->is_rank_of(of + 1, rank)) {
        stuck();  // a worker that only looks on sends nobody back
      } else {
        gone_at = of;
        begin(true);
      }
    }

    // --- steps

    [[nodiscard]] auto last() const -> Step { return run.last_step(core.log()); }
    [[nodiscard]] auto common() const -> std::optional<Step> {
      if (known.size() < run.shard_count_) return std::nullopt;
      std::set<Step> all = known.begin()->second.second;
      for (const auto& [shard, what] : known) std::erase_if(all, [&](Step cut) { return !what.second.contains(cut); });
      return all.empty() ? std::nullopt : std::optional{*all.rbegin()};
    }
    void go() {
      at = never;
      for (const auto& [shard, what] : known) at = std::min(*at, what.first);
      got.clear();
      if (!core.log()->reaches(*at)) return stuck();
      std::erase_if(buffer, [this](const auto& one) { return one.first > *at; });
      for (std::uint32_t shard = 0; shard < run.shard_count_; ++shard) {
        ask(shard);
        if (known[shard].first < *at) serve(shard, known[shard].first);
        if (!core.is_running()) return;
      }
    }
    void stuck() {
      const std::optional<Step> cut = common();
      gone_at.reset();
      if (!cut) {
        if (++lonely > 8) throw Named{};
        return begin(true);
      }
      lonely = 0;
      for (std::uint32_t shard = 0; shard < run.shard_count_; ++shard) {
        ++run.counts.restores;
        run.send(end, shard, [to = run.shards_[shard].get(), me = end, id = core.id(), log = core.log(), cut = *cut] {
          if (to->accepts(me, id, log)) to->restore(me, cut);
        });
      }
      begin(false);
    }
    void serve(std::uint32_t shard, Step from) {
      if (!core.log()->reaches(from)) return stuck();
      for (Step step = from + 1; step <= *at; ++step)
        if (core.log()->is_rank_of(step, rank) && !buffer.contains(step)) return stuck();
      for (Step step = from + 1; step <= *at; ++step)
        if (buffer.contains(step) && core.log()->is_rank_of(step, rank)) push(shard, step);
      if (!got.contains(shard)) ask(shard);
    }
    void ask(std::uint32_t shard) {
      run.send(end, shard, [to = run.shards_[shard].get(), me = end, id = core.id(), log = core.log(), of = *at] {
        if (to->accepts(me, id, log)) to->pull(me, of);
      });
    }
    void push(std::uint32_t shard, Step step) {
      const Made& made = buffer.at(step);
      const Contribution contribution{made.values[shard], made.ranks, made.label};
      run.send(
          end, shard,
          [to = run.shards_[shard].get(), me = end, id = core.id(), log = core.log(), step, of = rank, contribution,
           cut = common().value_or(0)] {
            if (to->accepts(me, id, log)) to->push(me, step, of, contribution, cut);
          },
          made.label.items);
    }
    void make_step() {
      if (!at || got.size() < run.shard_count_ || *at >= last()) return;
      const StreamLog& log = *core.log();
      const Step step = *at + 1;
      if (!log.reaches(*at)) return again_or_stuck(never);
      if (log.is_rank_of(step, rank)) {
        if (!log.covers(step)) {
          distrib::StreamWorkerActions out;
          core.want(log.records_for(step), out);
          return perform(out);
        }
        const std::uint64_t batch = log.batch_of(step, rank);
        const std::optional<std::uint64_t> bytes = read(batch);
        if (!bytes) return;
        run.made(core.id(), batch, *bytes);
        make(step, batch, *bytes);
        last_made = step;
      }
      at = step;
      gone_at.reset();
      got.clear();
      for (std::uint32_t shard = 0; shard < run.shard_count_; ++shard)
        if (buffer.contains(step)) push(shard, step);
      for (std::uint32_t shard = 0; shard < run.shard_count_; ++shard) ask(shard);
    }
    void make(Step step, std::uint64_t batch, std::uint64_t bytes) {
      const Step cut = common().value_or(0);
      std::erase_if(buffer, [&](const auto& one) { return one.first <= cut; });
      Made made;
      for (std::uint32_t shard = 0; shard < run.shard_count_; ++shard)
        made.values.push_back(run.contribution(rank, step, batch, bytes, shard, got));
      const auto ranks = core.log()->ranks_of(step);
      made.ranks.assign(ranks.begin(), ranks.end());
      made.label = core.log()->label_of(step);
      buffer[step] = std::move(made);
    }
    void finish() {
      if (done || !at) return;
      const Step cut = common().value_or(0);
      if (cut >= last()) done = true;
      else if (last_made != 0 && !core.log()->is_rank_after(*at, rank) && *at > last_made && cut >= last_made)
        done = true;
    }

    // --- what this process sees

    [[nodiscard]] auto lag_of(std::uint64_t source) -> std::uint64_t {
      const auto there = lags.find(source);
      return there != lags.end() ? there->second : lags[source] = run.dice_.between(0, run.lag_);
    }
    [[nodiscard]] auto view(std::uint64_t source) -> State { return run.seen(source, lag_of(source)); }
    [[nodiscard]] auto listing() const -> std::vector<std::uint64_t> {
      std::vector<std::uint64_t> list = run.grown_sources();
      std::ranges::sort(list, {}, [this](std::uint64_t source) { return mix({source, salt}); });
      return list;
    }
    // The records of a batch, and what is wrong with them.
    [[nodiscard]] auto read_pieces(std::uint64_t batch, distrib::Error& error, bool& is_gone) -> std::uint64_t {
      std::uint64_t hash = mix({3});
      if (run.mistake_ == Mistake::order_of_listing) {
        std::uint64_t number = 0;
        for (const std::uint64_t source : listing()) {
          const State state = view(source);
          for (std::uint64_t i = state.low; i < state.records; ++i, ++number)
            if (number / run.batch_size_ == batch) hash = mix({hash, record(source, state.version, i)});
        }
        if (number < (batch + 1) * run.batch_size_) error.code = distrib::stream_errc::source_gone;
        return hash;
      }
      std::vector<distrib::StreamPiece> pieces = core.log()->pieces_of(batch);
      if (run.mistake_ == Mistake::grown_tail && core.log()->first_item() == 0) pieces = grown_pieces(batch, pieces);
      is_gone = pieces.empty();
      for (const distrib::StreamPiece& piece : pieces) {
        const std::uint64_t source = number_of(piece.range->source);
        const State state = view(source);
        const distrib::SeenSource seen{piece.range->source, state.low, state.records};
        std::optional<StreamSum> sum;
        if (state.is_there && state.records >= piece.range->end)
          sum = run.total(state.version, source, piece.range->end);
        if (run.mistake_ == Mistake::bytes_not_compared && sum) sum = piece.range->after;
        error = distrib::check_source(*piece.range, piece.first, state.is_there ? &seen : nullptr, sum);
        if (error) break;
        for (std::uint64_t i = piece.first; i < piece.end; ++i) hash = mix({hash, record(source, state.version, i)});
      }
      return hash;
    }
    // The planted mistake: what was added to a source comes behind what was logged of it, not where the log has it.
    [[nodiscard]] auto grown_pieces(std::uint64_t batch, std::vector<distrib::StreamPiece> right)
        -> std::vector<distrib::StreamPiece> {
      std::vector<distrib::StreamPiece> pieces;
      std::set<std::string> read_already;
      std::uint64_t number = 0;
      for (const distrib::StreamItem& item : core.log()->kept_items()) {
        const auto* const range = std::get_if<distrib::StreamRange>(&item);
        if (range == nullptr || !read_already.insert(range->source).second) continue;
        const std::uint64_t until = std::max(view(number_of(range->source)).records, range->first);
        for (std::uint64_t i = range->first; i < until; ++i, ++number)
          if (number / run.batch_size_ == batch) pieces.push_back({range, i, i + 1});
      }
      return pieces.size() < run.batch_size_ ? std::move(right) : pieces;
    }
    [[nodiscard]] auto read(std::uint64_t batch) -> std::optional<std::uint64_t> {
      distrib::Error error;
      bool is_gone = false;
      const std::uint64_t hash = read_pieces(batch, error, is_gone);
      if (is_gone) {
        again_or_stuck(batch);
        return std::nullopt;
      }
      if (!error) {
        since.reset();
        return hash;
      }
      if (!since || since->first != batch) since = {batch, run.now_};
      if (run.now_ - since->second <= 3 * run.lag_ + 50) return std::nullopt;
      since.reset();
      if (tried == std::pair{batch, *at}) throw Named{error.code};
      tried = {batch, *at};
      begin(true);  // perhaps nobody needs that batch any more
      return std::nullopt;
    }
    void again_or_stuck(std::uint64_t batch) {
      if (tried == std::pair{batch, *at}) return stuck();
      tried = {batch, *at};
      begin(true);
    }
    // Lists what there is, and proposes what the log does not have.
    void look() {
      if (!late.empty() && run.chance(300)) {
        propose(std::move(late.front()));
        late.pop_front();
        return;
      }
      const SharedStreamLog log = core.log();
      if (log == nullptr || log->is_closed() || log->records() > log->records_for(at.value_or(0) + 1) + run.ahead_)
        return;
      std::vector<StreamProposal> proposals;
      for (const std::uint64_t source : listing()) {
        const State state = view(source);
        if (!state.is_there) continue;
        const distrib::SeenSource seen{name_of(source), state.low, state.records};
        const std::uint64_t most =
            run.chance(500) ? run.dice_.between(1, std::max<std::uint64_t>(1, state.records)) : never;
        const auto sum_before = [&](std::uint64_t n) { return run.total(state.version, source, n); };
        const distrib::SourceStep next = look_at_source(*log, seen, sum_before, most);
        if (next.proposal) proposals.emplace_back(*next.proposal);
        if (next.news == distrib::SourceNews::expired) tell_expired(source, state, proposals);
        if (next.news == distrib::SourceNews::replaced && run.mistake_ == Mistake::tail_of_another)
          propose_tail(*log, source, state, proposals);
      }
      const bool sees_end = run.ended_ && run.now_ >= *run.ended_ + lag_of(never);
      if (sees_end && (proposals.empty() || run.mistake_ == Mistake::end_by_listing))
        proposals.emplace_back(distrib::ProposedEnd{run.count_});
      if (proposals.empty()) return;
      if (run.mistake_ != Mistake::end_by_listing)
        proposals.resize(std::min(proposals.size(), run.dice_.between(1, 3)));
      if (run.chance(400)) late.push_back(std::move(proposals));
      else propose(std::move(proposals));
    }
    void propose(std::vector<StreamProposal> proposals) {
      run.send(end, 0, [shard = run.shards_[0].get(), me = end, proposals] { shard->append(me, proposals); });
    }
    void tell_expired(std::uint64_t source, const State& state, std::vector<StreamProposal>& proposals) {
      if (run.mistake_ == Mistake::eaten_is_left_out && state.low < state.records) {
        proposals.emplace_back(distrib::ProposedRange{
            {name_of(source), state.low, state.records, run.total(state.version, source, state.low),
             run.total(state.version, source, state.records)},
            true});
        return;
      }
      run.send(end, 0, [shard = run.shards_[0].get(), name = name_of(source), low = state.low] {
        distrib::StreamShardActions out;
        shard->core->expired(name, low, out);
        shard->perform(out);
      });
    }
    void propose_tail(const StreamLog& log, std::uint64_t source, const State& state,
                      std::vector<StreamProposal>& proposals) {
      const distrib::SourceEnd& end_there = *log.end_of(name_of(source));
      if (state.records <= end_there.records) return;
      proposals.emplace_back(distrib::ProposedRange{
          {name_of(source), end_there.records, state.records, run.total(state.version, source, end_there.records),
           run.total(state.version, source, state.records)},
          true});
    }

    Run& run;
    End end;
    std::uint32_t rank;
    std::uint64_t process;
    distrib::StreamWorkerCore core;
    std::uint64_t salt;
    bool alive = true, done = false;
    std::map<std::uint32_t, std::pair<Step, std::set<Step>>> known;  // of each shard: step, cuts
    std::map<Step, Made> buffer;
    std::map<std::uint32_t, Value> got;
    std::vector<SharedStreamLog> copies;
    std::optional<Step> at, gone_at;
    Step last_made = 0;
    int lonely = 0;
    std::optional<std::pair<std::uint64_t, Step>> tried;  // batch, step
    std::optional<std::pair<std::uint64_t, std::uint64_t>> since;  // batch, time
    std::map<std::uint64_t, std::uint64_t> lags;
    std::deque<std::vector<StreamProposal>> late;
  };

  // --- planted mistakes of shard 0

  [[nodiscard]] auto takes_any() const -> bool {
    return mistake_ == Mistake::two_not_settled || mistake_ == Mistake::eaten_is_left_out;
  }
  void spoil_proposals(const StreamLog& log, std::vector<StreamProposal>& proposals) {
    if (mistake_ == Mistake::none) return;
    std::uint64_t records = log.records();
    std::erase_if(proposals, [&](StreamProposal& proposal) {
      if (auto* const end = std::get_if<distrib::ProposedEnd>(&proposal)) {
        if (mistake_ == Mistake::end_by_listing) end->records = records;
        return false;
      }
      auto* const one = std::get_if<distrib::ProposedRange>(&proposal);
      if (one == nullptr) return false;
      records += one->range.end - one->range.first;
      const distrib::SourceEnd* const known = log.end_of(one->range.source);
      if (mistake_ == Mistake::any_start && known == nullptr && partitions_.contains(number_of(one->range.source)))
        one->continues = false;
      if (mistake_ == Mistake::tail_of_another && known != nullptr && one->range.first == known->records)
        one->range.before = known->sum;
      if (mistake_ != Mistake::eaten_is_left_out) return false;
      const bool fits = one->continues ? known != nullptr && known->records <= one->range.first : known == nullptr;
      return !fits;
    });
  }

  // --- what must hold

  void made(StreamLogId id, std::uint64_t batch, std::uint64_t bytes) {
    const auto life = life_of_.find(id);
    const std::pair key{life == life_of_.end() ? 0 : life->second, batch};
    if (contents_.try_emplace(key, bytes).first->second != bytes) throw std::logic_error{"a batch has two contents"};
  }
  // What a shard counted stays while one of those that counted it has its disk. A disk that was lost after a life began
  // may take up an earlier life once more, with a worker that has heard of no other. That counts for nothing: the shard
  // drops it when it hears of the later life.
  void counted(Step step, const StreamSum& what, const Shard& shard) {
    const auto is_older = [&](const auto& later) { return later.second < shard.life; };
    if (std::any_of(begun_with_.upper_bound(shard.core->id()), begun_with_.end(), is_older)) return;
    std::map<StreamSum, std::set<std::pair<std::uint32_t, std::uint64_t>>>& histories = histories_[step];
    histories[what].emplace(shard.i, shard.life);
    for (const auto& [other, by] : histories)
      for (const auto& [number, life] : by)
        if (other != what && shards_[number]->life == life) throw std::logic_error{"two histories"};
  }
  [[nodiscard]] auto contribution(std::uint32_t rank, Step step, std::uint64_t batch, std::uint64_t bytes,
                                  std::uint32_t shard, const std::map<std::uint32_t, Value>& pulled) const -> Value {
    Value value = mix({rank, step, batch, bytes, shard});
    for (const auto& [of, what] : pulled) value = mix(value, what);
    return value;
  }
  [[nodiscard]] auto last_step(const SharedStreamLog& log) const -> Step {
    return std::min(stop_, log == nullptr ? stop_ : log->last_step().value_or(stop_));
  }
  // Every item that was ever durable, by its sum, with the sum before it.
  void remember(const StreamLog& log) {
    for (std::uint64_t i = log.first_item(); i < log.items(); ++i)
      items_.try_emplace(log.label_with(i + 1)->sum, log.label_with(i)->sum, log.kept_items()[i - log.first_item()]);
    if (log.first_item() != 0) ++counts.let_go;
  }
  // The log with all its items again.
  [[nodiscard]] auto whole(const StreamLog& log) const -> StreamLog {
    std::vector<const distrib::StreamItem*> list;
    StreamSum at = log.label_with(log.items())->sum;
    while (at != StreamSum{}) {
      const auto& [before, item] = items_.at(at);
      list.push_back(&item);
      at = before;
    }
    if (list.size() != log.items()) throw std::logic_error{"items are missing"};
    StreamLog all{*first_};
    for (std::size_t i = list.size() - 1; i-- > 0;) all.append(*list[i]);
    if (all.label_with(all.items())->sum != log.label_with(log.items())->sum) throw std::logic_error{"another sum"};
    return all;
  }
  // Each record of each source once, and in order, and each range of one version of its source.
  [[nodiscard]] auto records_are_right(const StreamLog& log) -> bool {
    std::map<std::string, distrib::SourceEnd> ends;
    const bool may_skip = spoils_ || (trims_ && counts.lost_disks != 0);
    for (const distrib::StreamItem& item : log.kept_items()) {
      const auto* const range = std::get_if<distrib::StreamRange>(&item);
      if (range == nullptr) continue;
      const std::uint64_t source = number_of(range->source);
      const auto there = ends.find(range->source);
      const bool fits = there != ends.end() ? there->second == distrib::SourceEnd{range->first, range->before}
                                            : range->first == 0 || (may_skip && partitions_.contains(source));
      bool is_one_version = false;
      for (std::uint64_t version = 0; version < 8; ++version)
        is_one_version = is_one_version || (total(version, source, range->first) == range->before &&
                                            total(version, source, range->end) == range->after);
      if (!fits || !is_one_version) return false;
      ends[range->source] = {range->end, range->after};
    }
    std::uint64_t sum = 0;
    for (const auto& [name, end] : ends) sum += end.records;
    return stop_ < never || sum == count_;
  }
  [[nodiscard]] auto bytes_of(const StreamLog& log, std::uint64_t batch) -> std::uint64_t {
    std::uint64_t hash = mix({3});
    for (const distrib::StreamPiece& piece : log.pieces_of(batch)) {
      const std::uint64_t source = number_of(piece.range->source);
      std::uint64_t version = 0;
      while (version < 8 && total(version, source, piece.range->end) != piece.range->after) ++version;
      for (std::uint64_t i = piece.first; i < piece.end; ++i) hash = mix({hash, record(source, version, i)});
    }
    return hash;
  }
  // All that a shard has is what the log says.
  [[nodiscard]] auto verdict(const StreamLog& told, bool has_ended) -> std::string {
    const StreamLog log = whole(told);
    if (has_ended && !records_are_right(log)) return "a record is in the log twice, out of order, or not at all";
    std::map<std::uint32_t, Value> values;
    for (std::uint32_t i = 0; i < shard_count_; ++i) values[i] = mix({77, i});
    const Step last = std::min(stop_, log.last_step().value_or(stop_));
    std::uint64_t next_batch = 0;
    for (Step step = 0;; ++step) {
      for (const auto& shard : shards_) {
        const bool is_open = shard->core && shard->core->is_open() && !shard->is_other_disk;
        if (!is_open || shard->core->told() == nullptr || shard->core->told()->id() != told.id()) continue;
        const auto cut = shard->disk.find(step);
        const auto value = shard->values.find(step);
        const Value right = values[shard->i];
        if (cut != shard->disk.end() && cut->second.value != right) return "a cut is not what the log says";
        if (shard->alive && value != shard->values.end() && value->second != right)
          return "values are not what the log says";
      }
      if (step + 1 > last || !log.covers(step + 1)) return {};
      const auto ranks = log.ranks_of(step + 1);
      std::map<std::uint32_t, std::uint64_t> bytes;
      for (const std::uint32_t rank : ranks) {
        if (log.batch_of(step + 1, rank) != next_batch++) return "a batch is left out";
        bytes[rank] = bytes_of(log, next_batch - 1);
      }
      std::map<std::uint32_t, Value> next;
      for (std::uint32_t i = 0; i < shard_count_; ++i) {
        Value value = values[i];
        for (const std::uint32_t rank : ranks)
          value = mix({value, contribution(rank, step + 1, log.batch_of(step + 1, rank), bytes[rank], i, values)});
        next[i] = value;
      }
      values = std::move(next);
    }
  }

  // --- faults, and the order of events

  [[nodiscard]] auto chance(unsigned of_thousand) -> bool { return dice_.below(1000) < of_thousand; }
  [[nodiscard]] auto some_ranks() -> std::vector<std::uint32_t> {
    std::vector<std::uint32_t> ranks;
    while (ranks.empty())
      for (std::uint32_t rank = 0; rank < most_ranks_; ++rank)
        if (chance(500)) ranks.push_back(rank);
    return ranks;
  }
  void add_worker(std::uint32_t rank, std::uint64_t process) {
    all_workers_.push_back(std::make_unique<Worker>(*this, 100 + all_workers_.size(), rank, process));
    workers_.push_back(all_workers_.back().get());
    workers_.back()->begin(true);
  }
  [[nodiscard]] auto wanted() const -> std::set<std::uint32_t> {
    const SharedStreamLog told = shards_[0]->core ? shards_[0]->core->told() : nullptr;
    const StreamLog& log = told == nullptr ? *first_ : *told;
    std::set<std::uint32_t> ranks;
    for (const auto& shard : shards_)
      for (std::uint32_t rank = 0; rank < most_ranks_; ++rank)
        if (log.is_rank_after(shard->step, rank)) ranks.insert(rank);
    return ranks;
  }
  [[nodiscard]] auto is_over() const -> bool {
    const Shard& keeper = *shards_[0];
    if (!keeper.alive || !keeper.core->is_open() || keeper.core->told() == nullptr) return false;
    const Step last = last_step(keeper.core->told());
    return std::ranges::all_of(shards_, [&](const auto& shard) { return shard->disk.contains(last); });
  }
  void kill(Shard& shard, bool loses_disk) {
    shard.alive = false;
    down_[shard.i] = dice_.between(1, 60);
    ++counts.kills;
    for (Worker* const worker : everybody()) cut_off(*worker, shard);
    queues_.erase({99, shard.i});
    if (!loses_disk) return;
    shard.lose();
    ++counts.lost_disks;
  }
  void scale(std::optional<Step> told = {}) {  // by an operator with old knowledge
    const Shard& keeper = *shards_[0];
    const Step near = (keeper.core && keeper.core->told() ? keeper.core->told()->horizon() : 0) + dice_.below(3);
    const Step from = told ? *told : chance(600) ? std::max<Step>(near, 1) : keeper.step + dice_.between(1, 7);
    ++counts.ranks;
    send(99, 0, [shard = shards_[0].get(), from, ranks = some_ranks()] {
      shard->append(100, {distrib::StreamRanks{from, ranks}});
    });
  }
  void disaster() {
    for (const auto& shard : shards_) kill(*shard, true);
    for (Worker* const worker : everybody()) drop(*worker);
    workers_.clear();
    zombies_.clear();
  }
  // Shard 0 dies, or loses its disk, when a contribution on its way rests on what no other shard has heard of.
  void adversary() {
    Shard& keeper = *shards_[0];
    std::uint64_t most = 0;
    for (const auto& shard : shards_)
      if (shard->i != 0 && shard->core)
        most = std::max({most, shard->most_heard, shard->core->told() ? shard->core->told()->items() : 0});
    if (!keeper.alive) return;
    for (const auto& [ends, queue] : queues_) {
      if (ends.second >= 99 || !shards_[ends.second]->alive) continue;
      const bool is_new =
          std::ranges::any_of(queue, [&](const Message& message) { return message.rests_on.value_or(0) > most; });
      if (!is_new) continue;
      --evil_;
      still_[ends] = now_ + dice_.between(30, 300);
      return kill(keeper, lossy_ && chance(600));
    }
  }
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
  void kill_some() {
    std::vector<std::uint64_t> victims;  // shards, and 1000 + a process
    std::set<std::uint64_t> processes;
    for (const Worker* const worker : workers_)
      if (!worker->done) processes.insert(1000 + worker->process);
    for (const auto& shard : shards_)
      if (shard->alive) victims.push_back(shard->i);
    victims.insert(victims.end(), processes.begin(), processes.end());
    if (victims.empty()) return;
    if (lossy_ && chance(50)) return disaster();
    std::set<std::uint64_t> chosen{victims[dice_.below(victims.size())]};
    if (chance(200)) chosen.insert(victims[dice_.below(victims.size())]);
    const bool is_worst = lossy_ && shards_[0]->alive && chance(200);  // shard 0, and what it told last
    if (is_worst) {
      chosen.insert(0);
      for (Worker* const worker : everybody())
        still_[{worker->end, dice_.below(shard_count_)}] = now_ + dice_.pick<std::uint64_t>({0, 0, 20, 150, 300});
    }
    if (chance(100) || (is_worst && chance(300)))
      for (const auto& shard : shards_)
        if (shard->alive && (is_worst || chance(700))) chosen.insert(shard->i);
    for (const std::uint64_t victim : chosen) {
      if (victim < 1000) {
        kill(*shards_[victim], lossy_ && chance(400));
        continue;
      }
      ++counts.kills;
      std::vector<Worker*> gone;  // a process with all its ranks, or it goes on as a zombie
      for (Worker* const worker : workers_)
        if (1000 + worker->process == victim) gone.push_back(worker);
      for (Worker* const worker : gone) {
        std::erase(workers_, worker);
        if (chance(300)) zombies_.emplace_back(worker, dice_.between(20, 300));
        else drop(*worker);
      }
    }
  }
  void restart_some() {
    for (const auto& shard : shards_) {
      const auto left = down_.find(shard->i);
      if (left == down_.end() || --left->second > 0) continue;
      down_.erase(left);
      shard->start();
      if (shard->i == 0 && scales_ != 0 && chance(500)) scale(shard->step + dice_.between(1, 7));
      for (Worker* const worker : everybody())
        if (worker->alive) send(worker->end, shard->i, [to = shard.get(), me = worker->end] { to->send_hello(me); });
    }
    for (auto& [zombie, left] : zombies_)
      if (--left == 0) drop(*zombie);
    std::erase_if(zombies_, [](const auto& one) { return one.second == 0; });
  }
  void adopt_some() {  // vacant ranks are adopted, now and then twice
    std::set<std::uint32_t> have;
    std::vector<std::uint64_t> processes;
    for (const Worker* const worker : workers_) {
      if (!worker->done) have.insert(worker->rank);
      processes.push_back(worker->process);
    }
    for (const std::uint32_t rank : wanted())
      if (!have.contains(rank) || chance(2))
        add_worker(rank,
                   !processes.empty() && chance(500) ? processes[dice_.below(processes.size())] : dice_.below(1000));
  }
  void let_all_do_something() {
    for (const auto& shard : shards_)
      if (shard->alive) shard->tick();
    for (Worker* const worker : everybody()) {
      if (worker->alive && worker->at && chance(400)) worker->make_step();
      if (worker->alive && chance(200)) worker->look();
    }
    const Shard& keeper = *shards_[0];
    if (trims_ && stop_ < never && keeper.core->told() != nullptr && chance(300)) retain(*keeper.core->told());
    if (evil_ != 0) adversary();
  }
  void deliver_one() {
    std::vector<std::pair<End, End>> live;
    for (const auto& [ends, queue] : queues_) {
      const auto still = still_.find(ends);
      if (!queue.empty() && is_alive(ends.second) && (still == still_.end() || still->second <= now_))
        live.push_back(ends);
    }
    if (live.empty() || chance(80)) return let_all_do_something();
    const std::pair<End, End> ends = live[dice_.below(live.size())];
    const Message message = std::move(queues_[ends].front());
    queues_[ends].pop_front();
    message.deliver();
    if (ends.second < 100) return;
    Worker& worker = *all_workers_[ends.second - 100];
    worker.finish();
    if (worker.done && !is_over() && std::erase(workers_, &worker) != 0) drop(worker);
  }
  auto perform() -> std::string {
    auto kill_at = times(kills_, std::max(span_, dry_));
    auto reset_at = times(resets_, std::max(span_, dry_));
    auto scale_at = times(scales_, std::max(span_, dry_));
    auto stall_at = times(stalls_, std::max(span_, dry_));
    auto spoil_at = times(spoils_ ? dice_.between(1, 4) : 0, std::max<std::uint64_t>(dry_, 1));
    for (now_ = 0; now_ < 60'000; ++now_) {
      grow();
      while (is_due(spoil_at)) spoil();
      while (is_due(kill_at)) kill_some();
      while (is_due(reset_at)) {
        const std::vector<Worker*> all = everybody();
        if (all.empty()) continue;
        Worker& worker = *all[dice_.below(all.size())];
        Shard& shard = *shards_[dice_.below(shard_count_)];
        cut_off(worker, shard);
        if (worker.alive && shard.alive)
          send(worker.end, shard.i, [to = &shard, me = worker.end] { to->send_hello(me); });
      }
      while (is_due(scale_at)) scale();
      while (is_due(stall_at)) {
        const std::vector<Worker*> all = everybody();
        if (all.empty()) continue;
        const End worker = all[dice_.below(all.size())]->end;
        const End shard = dice_.below(shard_count_);
        still_[chance(500) ? std::pair{worker, shard} : std::pair{shard, worker}] = now_ + dice_.between(20, 400);
      }
      restart_some();
      if (now_ % 7 == 0 && chance(300)) adopt_some();
      deliver_one();
      if (is_over()) return verdict(*shards_[0]->core->told(), true);
    }
    return "the job stands still";
  }

  distrib::sim::Dice dice_;
  Mistake mistake_;
  std::uint32_t shard_count_ = 1, most_ranks_ = 1;
  std::uint64_t cut_every_ = 1, horizon_ = 1, batch_size_ = 1, ahead_ = 0, lag_ = 0, span_ = 1, dry_ = 1, count_ = 0;
  std::uint64_t kills_ = 0, resets_ = 0, scales_ = 0, stalls_ = 0, window_ = 1, evil_ = 0, processes_ = 1, big_ = 0;
  Step stop_ = never;
  bool trims_ = false, lossy_ = false, spoils_ = false;
  std::uint64_t now_ = 0, lives_so_far_ = 0;
  std::optional<std::uint64_t> ended_;  // when the sources grow no more
  std::map<std::uint64_t, Line> lines_;
  std::set<std::uint64_t> partitions_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::uint64_t>> sums_;
  SharedStreamLog first_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<std::unique_ptr<Worker>> all_workers_;
  std::vector<Worker*> workers_;
  std::vector<std::pair<Worker*, std::uint64_t>> zombies_;
  std::map<std::pair<End, End>, std::deque<Message>> queues_;
  std::map<std::pair<End, End>, std::uint64_t> still_;  // until when nothing arrives
  std::map<std::uint32_t, std::uint64_t> down_;
  std::map<StreamLogId, std::uint64_t> life_of_;
  std::map<StreamLogId, std::uint64_t> begun_with_;  // `lives_so_far_` when a life of the log began
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> contents_;
  std::map<Step, std::map<StreamSum, std::set<std::pair<std::uint32_t, std::uint64_t>>>> histories_;
  std::map<StreamSum, std::pair<StreamSum, distrib::StreamItem>> items_;
};

}  // namespace simulation::streams
