// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/file_names.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/connection_core.hpp>
#include <distrib/ps/cut/shard_files.hpp>
#include <distrib/ps/cut/state_fetch_core.hpp>
#include <distrib/ps/cut/stored_cuts.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/ps/server/shard_service.hpp>
#include <distrib/ps/server/shard_shell.hpp>
#include <distrib/ps/server/task_end_core.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/sim/detail/link.hpp>
#include <distrib/sim/detail/state_fetch.hpp>
#include <distrib/sim/detail/world.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace sim::detail {

/// What `StoredCuts` performs plans with; without a disk it has none.
struct DiskFiles {
  std::optional<Disk::Files> files;
  void operator()(std::span<const FileAction> plan) const { (*files)(plan); }
  [[nodiscard]] auto now() const noexcept -> double { return files ? files->now() : 0; }
};

/// What a shard's host tells its process.
class HostOwner {
 public:
  virtual ~HostOwner() = default;
  virtual void changed() = 0;                          ///< A connection has ended, or its files have nothing to do.
  virtual void ended(int code, const Error& why) = 0;  ///< See `ShardShell::ended`.
  [[nodiscard]] virtual auto is_done() const noexcept -> bool = 0;
};

/// One shard of a ps process, or a replica of one: the service of production and its files. What a thread of files does
/// in production takes simulated time here, in the same order.
class ShardHost final : public ShardShell {
 public:
  static constexpr std::chrono::minutes linger{5};  ///< Longer than anybody is away here.

  ShardHost(World& world, std::uint32_t replica, HostOwner& owner)
      : world_{world},
        owner_{owner},
        number_{replica},
        task_{world.job.task_of(replica)},
        name_{"shard " + std::to_string(replica % world.job.shards())} {
    if (replica >= world.job.shards()) name_ += " replica 1";
    options_.linger = linger;
  }

  /// `finished`: the directory has the checkpoint of the job's last step.
  void start(bool finished) {
    ++incarnation_;
    alarm_ = {};
    files_ = ShardFiles{world_.cuts.directory};
    if (world_.disk || !stored_) stored_.emplace(files());  // what is in memory stands for a disk
    const Job& job = world_.job;
    service_.emplace(ShardIdentity{task_, job.service_of(number_), job.tasks, job.ranks, finished}, options_,
                     world_.kinds, *this, world_.now());
    tell("starts");
    set_alarm();
  }

  /// Its process is killed, wherever it was: a file that it was at is left half done.
  void die() {
    tell("dies");
    note_contributions();
    if (!queue_.empty() && world_.dice.percent(70)) leave_half_done();
    leave();
  }
  /// Its process has ended.
  void leave() {
    for (const LinkPointer& link : std::exchange(links_, {})) {
      link->server_open = false;
      link->session->flush = nullptr;
      link->wire->detach_b();
    }
    fetch_.reset();
    queue_.clear();
    ++incarnation_;
    service_.reset();
  }

  // --- what its process wants at the end ---

  void found_finished(Step step) {
    service_->found_finished(step, world_.now());
    set_alarm();
  }
  void finish_files() { files_.finish(*this); }
  [[nodiscard]] auto has_idle_files() const noexcept -> bool { return queue_.empty(); }
  void drain(Instant until) {
    for (const LinkPointer& link : std::vector{links_}) {
      link->session->core.drain(until);
      link->session->answered();
    }
  }
  void count(ShardTally& tally) const {
    ++tally.shards;
    tally.connections += links_.size();
    if (!service_) return;
    if (service_->over()) ++tally.over;
    if (const auto& job = service_->job()) tally.shards_of_job = job->shards_per_task * job->replicas;
  }

  [[nodiscard]] auto is_up() const -> bool { return service_.has_value() && !service_->over(); }
  [[nodiscard]] auto is_done() const noexcept -> bool { return owner_.is_done(); }
  /// A bit of its newest cut flipped, and there is no newer one yet. When it dies now it may have to go back to cut 0 and
  /// die again, with nothing but the damaged one on the disk: then production refuses to begin anew.
  [[nodiscard]] auto is_fragile() const noexcept -> bool { return fragile_; }
  /// The newest cut that is kept in memory; 0 where there is a disk.
  [[nodiscard]] auto in_memory() const noexcept -> Step { return in_memory_; }
  [[nodiscard]] auto name() const noexcept -> const std::string& { return name_; }
  [[nodiscard]] auto number() const noexcept -> std::uint32_t { return number_; }
  [[nodiscard]] auto task() const noexcept -> std::uint32_t { return task_; }
  /// Contributions that its values are made of, once it is done; of a process that was not joined any more, those of the
  /// one before.
  [[nodiscard]] auto contributions() const noexcept -> std::uint64_t { return contributions_; }
  [[nodiscard]] auto state() const -> std::string {
    if (!is_up()) return " " + name_ + (is_done() ? " done" : " down");
    const ShardStatus status = service_->status(world_.now());
    std::string text = " " + name_ + " at " + std::to_string(status.step) + " newest cut " +
                       std::to_string(status.newest_cut) + " parked " + std::to_string(status.parked);
    for (const RankStatus& rank : status.of_ranks) text += (rank.here ? " +" : " -") + std::to_string(rank.last);
    return text;
  }

  /// By which it asks the other replica; null: it does not.
  [[nodiscard]] auto asking() const -> LinkPointer { return fetch_ ? fetch_->link() : nullptr; }

  void accept(const LinkPointer& link) { links_.push_back(link); }

  void on_activity(const LinkPointer& link) {
    if (!link->server_open) return;
    const Instant now = world_.now();
    link->session->active = true;
    for (ServerEvent event; link->session->core.next(now, event);)
      if (service_) service_->happened(link->session, event, now);
    link->session->active = false;
    if (!link->session->core.finished()) return link->session->answered();
    link->server_open = false;
    std::erase(links_, link);
    if (service_) service_->closed(link->session, now);
    set_alarm();
    owner_.changed();
  }

  // --- what the service wants ---

  void open(const Job& job, std::uint32_t replica, const CutSettings& cuts, const JobUpdaters& updaters) override {
    if (replica != number_) world_.fail("a job is opened for another shard");
    updaters_ = updaters;
    files_.open(job, replica, cuts, updaters, *this);
  }
  void copy() override {
    world_.scheduler.after(world_.pause(), [this, mine = incarnation_] {
      if (mine == incarnation_ && service_) service_->copy_cut(world_.now());
    });
  }
  void save(SaveCut action) override { files_.save(std::move(action), *this); }
  void load(Step step) override { files_.load(step, *this); }
  void drop(DropCut action) override { files_.drop(action, *this); }
  void send(SendState action) override { files_.send(action, *this); }
  void ask_sibling(const std::string& job_hash, Step have) override {
    StateFetchCore core{world_.job, number_, updaters_, job_hash, have, options_.memory_budget_bytes, options_.lease};
    fetch_ = std::make_shared<StateFetch>(
        world_, [this](auto happened) { return open_to_sibling(std::move(happened)); }, std::move(core),
        [this](const std::optional<Cut>& cut) {
          fetch_.reset();
          if (!cut) tell("hears of no newer state");
          files_.state_came(cut, *service_, world_.now(), *this);
          for (const LinkPointer& link : std::vector{links_}) link->session->answered();
          set_alarm();
        });
    fetch_->start();
  }
  void joined_twice(Rank) override {}
  void ended(int code, const Error& why) override {
    // In memory it cannot know that the other replica was at the end, when it was not.
    const bool ends_without =
        !world_.disk && world_.job.replicas > 1 && world_.shards[world_.job.sibling_of(number_)]->is_done();
    tell("is over with code " + std::to_string(code));
    note_contributions();
    owner_.ended(ends_without ? exit_code::done : code, why);
  }

  // --- what its files want ---

  /// One thing after the other.
  void operator()(CutWork work) {
    queue_.push_back(std::move(work));
    if (queue_.size() == 1) next_on_disk();
  }
  void operator()(const Event& event) const { tell(event.text); }
  void operator()(const EndTask& end) { ended(end.code, end.why); }

 private:
  auto open_to_sibling(std::function<void()> happened) -> LinkPointer;

  void tell(const std::string& what) const { world_.tell(name_, what); }

  auto files() -> DiskFiles { return world_.disk ? DiskFiles{world_.disk->files()} : DiskFiles{}; }

  void note_contributions() {
    const std::uint64_t counted = service_->status(world_.now()).contributions;
    if (counted != 0) contributions_ = counted;
  }

  void next_on_disk() {
    world_.scheduler.after(world_.disk_time(), [this, mine = incarnation_] {
      if (mine != incarnation_ || !service_) return;
      perform(queue_.front());
      CutWork work = std::move(queue_.front());
      note(work);
      files_.performed(std::move(work), *service_, world_.now(), *this);
      if (mine != incarnation_) return;
      queue_.pop_front();
      if (!queue_.empty()) next_on_disk();
      for (const LinkPointer& link : std::vector{links_}) link->session->answered();
      set_alarm();
      if (queue_.empty()) owner_.changed();
    });
  }
  // The plan that is under way comes as far as chance wants.
  void leave_half_done() {
    if (world_.disk) world_.disk->stop_after(world_.dice.below(14));
    try {
      perform(queue_.front());
    } catch (const Disk::Stopped&) {
      tell("was at a file");
    }
    if (world_.disk) world_.disk->go_on();
  }

  // Before its cuts are looked at a bit may flip in the newest, if that is not all there is to go on from.
  void perform(CutWork& work) {
    const bool flips = work.kind == CutWork::Kind::open && world_.flips_due > 0;
    const std::string flipped = flips ? flip_a_bit() : std::string{};
    (*stored_)(work);
    if (flipped.empty()) return;
    if (work.steps.empty()) {
      world_.disk->mend(flipped);
      work.refused.clear();
      work.failure = {};
      (*stored_)(work);
    } else {
      --world_.flips_due;
      fragile_ = true;
    }
  }

  // What came of it, for those who watch.
  void note(const CutWork& work) {
    if (work.kind == CutWork::Kind::open) world_.refused_cuts += static_cast<unsigned>(work.refused.size());
    if (work.kind != CutWork::Kind::save) return;
    if (world_.traces()) tell((work.failure ? "cannot save cut " : "has saved cut ") + std::to_string(work.step));
    if (work.failure) return;
    fragile_ = false;
    if (!world_.disk) in_memory_ = std::max(in_memory_, work.step);
  }

  // In its newest cut, but for the last one of the job: what follows that nobody could replay. Gives the file.
  auto flip_a_bit() -> std::string {
    if (number_ >= world_.job.shards()) return {};
    Error error;
    const std::uint32_t shards = world_.job.shards();
    const auto own = distrib::detail::find_cuts(world_.cuts.directory, "model.ckpt", number_, shards, error);
    if (own.empty() || own.back().step >= world_.job.total_steps) return {};
    const std::string& prefix = own.back().prefix;
    std::string file = data_file_name(prefix, number_, shards);
    if (world_.dice.percent(50)) file = part_file_name(prefix, number_, shards);
    if (!world_.disk->flip_bit(file)) return {};
    tell("has a bit flipped in " + file);
    return file;
  }

  void set_alarm() {
    const auto wake = service_ ? service_->wake() : std::nullopt;
    if (!wake || *wake == alarm_) return;
    alarm_ = *wake;
    world_.scheduler.at(*wake, [this, mine = incarnation_, when = *wake] {
      if (mine != incarnation_ || alarm_ != when) return;
      service_->woken(world_.now());
      set_alarm();
    });
  }

  World& world_;
  HostOwner& owner_;
  std::uint32_t number_;
  std::uint32_t task_;
  std::string name_;
  ShardOptions options_;
  std::uint64_t incarnation_ = 0;
  std::optional<ShardService<SessionPointer>> service_;
  ShardFiles files_;
  std::optional<StoredCuts<DiskFiles>> stored_;
  Step in_memory_ = 0;  // the newest cut there
  JobUpdaters updaters_;
  std::shared_ptr<StateFetch> fetch_;
  std::deque<CutWork> queue_;  // the first is under way
  std::vector<LinkPointer> links_;
  Instant alarm_{};
  bool fragile_ = false;
  std::uint64_t contributions_ = 0;
};

/// A connection that `from` opens to a shard. Both processes hold it; `happened` is called when there is something for
/// the client.
inline auto open_link(World& world, ShardHost& host, const std::string& from, Rank rank,
                      std::function<void(const LinkPointer&)> happened) -> LinkPointer {
  RpcClientOptions options;
  options.categories = ps_categories();
  const auto link = std::make_shared<Link>(options, RpcServerOptions{}, world.now());
  link->from = from;
  link->rank = rank;
  link->task = host.task();
  host.accept(link);
  NetworkOptions network = world.network;
  network.latency *= std::max(world.factor(from), world.factor("ps " + std::to_string(host.task())));
  link->wire = std::make_shared<Wire<ClientCore, ServerCore>>(world.scheduler, world.dice, network);
  link->session->flush = [wire = link->wire.get()] { wire->flush(); };
  world.links.push_back(link);
  link->wire->attach(
      link->client, [at = link.get(), happened = std::move(happened)] { happened(at->shared_from_this()); },
      link->session->core, [&host, at = link.get()] { host.on_activity(at->shared_from_this()); });
  return link;
}

inline auto ShardHost::open_to_sibling(std::function<void()> happened) -> LinkPointer {
  ShardHost& sibling = *world_.shards[world_.job.sibling_of(number_)];
  if (!sibling.is_up()) return nullptr;
  return open_link(world_, sibling, name_, world_.job.ranks, [happened](const LinkPointer&) { happened(); });
}

}  // namespace sim::detail
}  // namespace v0
}  // namespace distrib
