// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/worker/worker_node.hpp>
#include <distrib/rpc/client_core.hpp>
#include <distrib/sim/detail/link.hpp>
#include <distrib/sim/detail/program.hpp>
#include <distrib/sim/detail/shard_host.hpp>
#include <distrib/sim/detail/world.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace sim::detail {

/// A worker process: the worker node of production with a Program.
class WorkerProcess final : public WorkerShell, public std::enable_shared_from_this<WorkerProcess> {
 public:
  WorkerProcess(World& world, std::span<ShardHost* const> shards, Rank rank, std::string name, Program program)
      : world_{world},
        shards_{shards},
        rank_{rank},
        name_{std::move(name)},
        program_{std::move(program)},
        links_(shards.size()),
        node_{world.job, rank,
              WorkerOptions{.replay_budget_bytes = world.options.replay_budget_bytes,
                            .initial_values = program_.initial_values,
                            .wants_result = rank == 0},
              world.cuts, *this} {}

  DISTRIB_DECL void start();
  DISTRIB_DECL void die();

  [[nodiscard]] auto is_done() const noexcept -> bool { return done_; }
  /// True if its rank makes no later step, see `WorkerDone::retired`.
  [[nodiscard]] auto is_retired() const noexcept -> bool { return retired_; }
  [[nodiscard]] auto is_alive() const noexcept -> bool { return alive_; }
  [[nodiscard]] auto name() const noexcept -> const std::string& { return name_; }
  [[nodiscard]] DISTRIB_DECL auto state() const -> std::string;

  /// Returns its open connections.
  [[nodiscard]] DISTRIB_DECL auto open() const -> std::vector<LinkPointer>;

  // --- actions of the node ---

  DISTRIB_DECL void prepare(Prepare work) override;
  DISTRIB_DECL void compute(Compute work) override;
  void sent(std::uint32_t shard) override { touched_.push_back(shard); }  // flushed at the end of each event
  void moved(Step) override {}
  void saved(Step) override {}
  DISTRIB_DECL void not_repeatable(Step step) override;
  DISTRIB_DECL void done(WorkerDone end) override;
  DISTRIB_DECL void failed(const Error& why) override;

 private:
  void tell(const std::string& what) const { world_.tell(name_, what); }

  // Runs `then` a little later, unless this process has died meanwhile.
  DISTRIB_DECL void later(std::function<void()> then);

  DISTRIB_DECL void connect(std::uint32_t shard);

  DISTRIB_DECL void on_activity(const LinkPointer& link, std::uint32_t shard);

  // Makes the wires carry what was said, and only those that were touched, in the order of the shards.
  DISTRIB_DECL void flush();

  World& world_;
  std::span<ShardHost* const> shards_;
  Rank rank_;
  std::string name_;
  Program program_;
  std::vector<LinkPointer> links_;
  std::vector<std::uint32_t> touched_;  // shards, perhaps repeated
  WorkerNode node_;
  bool alive_ = true;
  bool done_ = false;
  bool retired_ = false;
};

}  // namespace sim::detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sim/detail/impl/worker_process.ipp>
#endif
