// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/server/task_end_core.hpp>
#include <distrib/sim/detail/shard_host.hpp>
#include <distrib/sim/detail/world.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace sim::detail {

/// A ps process of a simulated cluster: the hosts of its shards, and the core of production that decides when a task
/// ends.
class PsProcess final : public HostOwner {
 public:
  DISTRIB_DECL PsProcess(World& world, std::uint32_t task, MakeShard make_shard);
  PsProcess(const PsProcess&) = delete;
  auto operator=(const PsProcess&) -> PsProcess& = delete;

  /// Returns the hosts of its shards and replicas of shards, in the order of their numbers.
  [[nodiscard]] auto shards() const noexcept -> const std::vector<std::unique_ptr<ShardHost>>& { return shards_; }

  /// Starts the process, unless it is up or was done.
  void start() {
    if (end_ || is_done()) return;
    ++incarnation_;
    end_.emplace(1, ShardHost::linger);
    for (const auto& shard : shards_) shard->start(finished_step().has_value());
    end_->start(true, *this);
  }
  void die() {
    for (const auto& shard : shards_) shard->die();
    ++incarnation_;
    end_.reset();
  }

  [[nodiscard]] auto is_up() const noexcept -> bool { return end_.has_value(); }
  [[nodiscard]] auto is_done() const noexcept -> bool override { return code_ == exit_code::done; }
  /// True if one of its shards is fragile, see `ShardHost::is_fragile`.
  [[nodiscard]] auto is_fragile() const -> bool {
    return !is_done() && std::ranges::any_of(shards_, [](const auto& shard) { return shard->is_fragile(); });
  }

  // --- called by the shards ---

  void changed() override {
    if (end_) end_->counted(0, tally(), *this);
    end_files_if_idle();
  }
  void ended(int code, const Error& why) override { end_->ended(0, tally(), code, why, *this); }

  // --- actions of the core that decides when the task ends ---

  void operator()(LookForEnd look) {
    later(look.after, [this] { end_->looked(finished_step(), *this); });
  }
  void operator()(TellFinished finished) {
    for (const auto& shard : shards_) shard->found_finished(finished.step);
  }
  DISTRIB_DECL void operator()(EndFiles end);
  void operator()(HangUp hang_up) {
    later({}, [this, hang_up] {
      for (const auto& shard : shards_) shard->drain(world_.now() + hang_up.within);
      end_->counts_connections(*this);
    });
    later(hang_up.within, [this] { end_->hung_up(*this); });
  }
  DISTRIB_DECL void operator()(TaskOver over);

 private:
  // Runs `then` after this time, not inside the caller; not at all if this process is gone by then.
  void later(Instant::duration time, std::function<void()> then) {
    world_.scheduler.after(time, [this, mine = incarnation_, then = std::move(then)] {
      if (mine == incarnation_) then();
    });
  }

  void end_files_if_idle() {
    const bool idle = std::ranges::all_of(shards_, [](const auto& shard) { return shard->has_idle_files(); });
    if (idle && std::exchange(ends_files_, false)) end_->files_done(*this);
  }

  [[nodiscard]] auto tally() const -> ShardTally {
    ShardTally tally;
    for (const auto& shard : shards_) shard->count(tally);
    return tally;
  }

  // Returns the last step of the job if its checkpoint is on the disk; without a disk, if all shards of this process
  // have it in memory. Otherwise empty.
  [[nodiscard]] DISTRIB_DECL auto finished_step() const -> std::optional<Step>;

  World& world_;
  std::string name_;
  std::vector<std::unique_ptr<ShardHost>> shards_;
  std::uint64_t incarnation_ = 0;
  std::optional<TaskEndCore> end_;  // empty: the process is down
  bool ends_files_ = false;
  int code_ = -1;  // -1: it has not ended
};

}  // namespace sim::detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sim/detail/impl/ps_process.ipp>
#endif
