// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/ps/cut/shard_files.hpp>
#include <distrib/ps/cut/stored_cuts.hpp>
#include <distrib/ps/job/lineage.hpp>
#include <distrib/ps/job/rank_file.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/server/shard_service.hpp>
#include <distrib/ps/server/shard_shell.hpp>
#include <distrib/ps/server/task_end_core.hpp>
#include <distrib/sim/detail/link.hpp>
#include <distrib/sim/detail/world.hpp>

#include <algorithm>
#include <chrono>
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

/// Performs the plans of `StoredCuts` on the simulated disk. Without a disk there are no plans.
struct DiskFiles {
  std::optional<Disk::Files> files;
  void operator()(std::span<const FileAction> plan) const { (*files)(plan); }
  [[nodiscard]] auto now() const noexcept -> double { return files ? files->now() : 0; }
};

/// What a shard's host calls of its process.
class HostOwner {
 public:
  virtual ~HostOwner() = default;
  virtual void changed() = 0;  ///< A connection has ended, or its queue of file work is empty.
  virtual void ended(int code, const Error& why) = 0;  ///< See `ShardShell::ended`.
  [[nodiscard]] virtual auto is_done() const noexcept -> bool = 0;
};

/// One shard of a ps process, or a replica of a shard, with the service of production. Work that a thread for files
/// does in production takes simulated time here, and is done in the same order. `HostedShard` has the decisions about
/// files.
class ShardHost : public ShardShell {
 public:
  static constexpr std::chrono::minutes linger{5};  ///< Longer than any worker is away in a simulation.

  ShardHost(const ShardHost&) = delete;
  auto operator=(const ShardHost&) -> ShardHost& = delete;

  /// Starts the shard. `finished`: the directory has the checkpoint of the job's last step.
  DISTRIB_DECL void start(bool finished);

  /// Kills the process at any moment: work on a file may be left half done.
  DISTRIB_DECL void die();
  /// Ends the shard because its process has ended.
  DISTRIB_DECL void leave();

  // --- actions of its process at the end ---

  void found_finished(Step step) {
    service_->found_finished(step, world_.now());
    set_alarm();
  }
  virtual void finish_files() = 0;
  [[nodiscard]] auto has_idle_files() const noexcept -> bool { return queue_.empty(); }
  void drain(Instant until) {
    for (const LinkPointer& link : std::vector{links_}) {
      link->session->core.drain(until);
      link->session->answered();
    }
  }
  DISTRIB_DECL void count(ShardTally& tally) const;

  [[nodiscard]] auto is_up() const -> bool { return service_.has_value() && !service_->over(); }
  [[nodiscard]] auto is_done() const noexcept -> bool { return owner_.is_done(); }
  /// True if a bit of its newest cut was flipped, and it has no newer cut yet. Such a shard must not die. It might have
  /// to go back to cut 0; if it died again then, only the damaged cut would be on the disk, and production refuses to
  /// start from the initial values while there is a damaged cut.
  [[nodiscard]] auto is_fragile() const noexcept -> bool { return fragile_; }
  /// Returns the step of the newest cut that is kept in memory, also if the process died just when it was kept; 0 if
  /// there is a disk.
  [[nodiscard]] auto in_memory() const noexcept -> Step { return in_memory_; }
  /// Returns the lineage of the cut that it saved last.
  [[nodiscard]] auto last_lineage() const noexcept -> const Lineage& { return last_lineage_; }
  [[nodiscard]] auto name() const noexcept -> const std::string& { return name_; }
  [[nodiscard]] auto number() const noexcept -> std::uint32_t { return number_; }
  [[nodiscard]] auto task() const noexcept -> std::uint32_t { return task_; }
  /// Returns how many contributions are in its values, once it is done. If no worker has joined its last process, the
  /// number is that of the process before.
  [[nodiscard]] auto contributions() const noexcept -> std::uint64_t { return contributions_; }
  [[nodiscard]] DISTRIB_DECL auto state() const -> std::string;

  /// Returns the connection by which it asks the other replica; null if it does not ask.
  [[nodiscard]] virtual auto asking() const -> LinkPointer = 0;

  void accept(const LinkPointer& link) { links_.push_back(link); }

  /// An operator asks for other ranks. Returns nothing; the process may be down.
  void propose(const RankEntry& entry) {
    if (is_up() && service_->rank_log() != nullptr) service_->propose(entry);
  }
  /// A user asks to erase keys. Returns nothing; the process may be down.
  void erase(const std::string& table, const std::vector<std::uint64_t>& keys) {
    if (is_up() && service_->can_erase()) service_->erase(table, keys);
  }
  /// Returns its horizon; 0: the process is down, or knows no job.
  [[nodiscard]] auto horizon() -> Step {
    return is_up() && service_->rank_log() != nullptr ? service_->rank_log()->horizon() : 0;
  }

  DISTRIB_DECL void on_activity(const LinkPointer& link);

  // --- actions of the service ---

  void copy() override {
    world_.scheduler.after(world_.pause(), [this, mine = incarnation_] {
      if (mine == incarnation_ && service_) service_->copy_cut(world_.now());
    });
  }
  void joined_twice(Rank) override {}
  void goes_on_without(Rank rank) override { tell("goes on without rank " + std::to_string(rank)); }
  void joined_unlike(const std::string&) override {}
  void asked_for_ranks(const std::string& text) override { tell(text); }
  void asked_to_erase(const std::string& text) override { tell(text); }
  void last_export_missing() override {}
  DISTRIB_DECL void ended(int code, const Error& why) override;

  // --- actions of the core that decides about its files ---

  /// Queues work on files; it is done one piece after the other.
  void operator()(CutWork work) {
    queue_.push_back(std::move(work));
    if (queue_.size() == 1) next_on_disk();
  }
  void operator()(const Event& event) const { tell(event.text); }
  void operator()(const EndTask& end) { ended(end.code, end.why); }

 protected:
  DISTRIB_DECL ShardHost(World& world, std::uint32_t replica, HostOwner& owner);

  /// Called when a piece of work is done, with its result.
  virtual void performed(CutWork work) = 0;
  /// Called when the process has ended: forgets what it knew about files.
  virtual void forget() = 0;

  [[nodiscard]] auto world() noexcept -> World& { return world_; }
  [[nodiscard]] auto service() noexcept -> ShardService<SessionPointer>& { return *service_; }
  [[nodiscard]] auto options() const noexcept -> const ShardOptions& { return options_; }
  DISTRIB_DECL auto open_to_sibling(std::function<void()> happened) -> LinkPointer;
  void tell(const std::string& what) const { world_.tell(name_, what); }
  /// Sends what the service has to say, after an event that did not come from a connection.
  DISTRIB_DECL void send_answers();

 private:
  auto files() -> DiskFiles { return world_.disk ? DiskFiles{world_.disk->files()} : DiskFiles{}; }

  void note_contributions() {
    const std::uint64_t counted = service_->status(world_.now()).contributions;
    if (counted != 0) contributions_ = counted;
  }

  DISTRIB_DECL void next_on_disk();
  // Performs a random part of the plan that was under way when the process died.
  DISTRIB_DECL void leave_half_done();

  // Performs a piece of work. Before the cuts are opened, a bit may be flipped in the newest; if no good cut is left
  // then, the bit is flipped back.
  DISTRIB_DECL void perform(CutWork& work);

  // Notes the result of a save. Called also if the process died before the service learnt of the result: the next
  // process has that cut.
  DISTRIB_DECL void note_save(const CutWork& save);
  // Notes the entries of a file that is durable.
  void note_ranks(const std::optional<RankFile>& file) {
    if (file) world_.erased.insert(file->erased.begin(), file->erased.end());
    if (!file || !world_.ranks) return;
    for (const SharedRankEntry& entry : file->entries) world_.ranks->add(entry);
  }

  // What the shard has acknowledged must be durable.
  void check_erased() {
    if (!service_ || !service_->can_erase()) return;
    for (const ErasedKeys& entry : service_->erased())
      if (!world_.erased.contains(entry))
        world_.fail(name_ + " has acknowledged keys to erase that are not in its file");
  }

  // Flips a bit in a file of the shard's newest cut; returns the path of the file, or an empty text if nothing was
  // flipped. Never touches the last cut of the job: the workers may be gone, so that the steps before it could not be
  // computed again.
  DISTRIB_DECL auto flip_a_bit() -> std::string;

  DISTRIB_DECL void set_alarm();

  World& world_;
  HostOwner& owner_;
  std::uint32_t number_;
  std::uint32_t task_;
  std::string name_;
  ShardOptions options_;
  std::uint64_t incarnation_ = 0;
  std::optional<ShardService<SessionPointer>> service_;
  std::optional<StoredCuts<DiskFiles>> stored_;
  Step in_memory_ = 0;  // the newest cut in memory
  Lineage last_lineage_;
  std::deque<CutWork> queue_;  // the first piece is under way
  std::vector<LinkPointer> links_;
  Instant alarm_{};
  bool fragile_ = false;
  std::uint64_t contributions_ = 0;
};

/// Makes the host of a shard.
using MakeShard = auto (*)(World& world, std::uint32_t replica, HostOwner& owner) -> std::unique_ptr<ShardHost>;

/// Opens a connection from the process `from` to a shard. Both processes hold it. `happened` is called when there is
/// something for the client.
DISTRIB_DECL auto open_link(World& world, ShardHost& host, const std::string& from, Rank rank,
                            std::function<void(const LinkPointer&)> happened) -> LinkPointer;

}  // namespace sim::detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sim/detail/impl/shard_host.ipp>
#endif
