// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sim/detail/ps_process.hpp>

#include <distrib/checkpoint/file_names.hpp>
#include <distrib/ps/cut/finished_job.hpp>
#include <distrib/ps/job/error.hpp>

namespace distrib {
inline namespace v0 {
namespace sim {
namespace detail {

DISTRIB_DECL PsProcess::PsProcess(World& world, std::uint32_t task, MakeShard make_shard)
    : world_{world}, name_{"ps " + std::to_string(task)} {
  for (std::uint32_t replica = 0; replica < world.job.num_replicas(); ++replica)
    if (world.job.task_of(replica) == task) shards_.push_back(make_shard(world, replica, *this));
}

DISTRIB_DECL void PsProcess::operator()(EndFiles end) {
  later({}, [this, end] {
    for (const auto& shard : shards_)
      if (end.done) shard->finish_files();
    ends_files_ = true;
    end_files_if_idle();
  });
}

DISTRIB_DECL void PsProcess::operator()(TaskOver over) {
  later({}, [this, over] {
    code_ = over.code;
    world_.one_ended = true;
    world_.tell(name_, "ends with code " + std::to_string(code_));
    const Error why = end_->why();
    if (!is_done() && why.code != ps_errc::not_finite)
      world_.fail(name_ + " ended: " + why.where + ": " + why.code.message());
    for (const auto& shard : shards_) shard->leave();
    ++incarnation_;
    end_.reset();
  });
}

DISTRIB_DECL auto PsProcess::finished_step() const -> std::optional<Step> {
  if (world_.disk) {
    const auto step = checkpoint_step(finished_checkpoint(world_.cuts.directory));
    return step ? std::optional{static_cast<Step>(*step)} : std::nullopt;
  }
  const Step last = world_.job.total_steps;
  const bool all = std::ranges::all_of(shards_, [last](const auto& shard) { return shard->in_memory() >= last; });
  return all ? std::optional{last} : std::nullopt;
}

}  // namespace detail
}  // namespace sim
}  // namespace v0
}  // namespace distrib
