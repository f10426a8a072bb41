// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/coordinator/parameter_client.hpp>

#include <distrib/coordinator/error.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/run_on.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/ps/job/gradient_rounding.hpp>
#include <distrib/ps/store/gradient_block.hpp>
#include <distrib/ps/store/wire_block.hpp>

#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL ParameterClient::ParameterClient(IoPool& io, ParameterJob job, Rank rank, WorkerClientOptions options)
    : io_{io}, seed_{job.job.seed}, rank_{rank}, variables_{job.job.variables}, layouts_{shard_layouts(job.job)} {
  std::vector<Address> servers;
  for (const std::string& host : job.ps_hosts) servers.push_back(Address::parse(host));
  for (const ShardLayout& layout : layouts_) blocks_.emplace_back(layout.gradient_block_bytes());
  options.worker.on_demand = true;
  options.worker.replay_budget_bytes = job.replay_budget_bytes;
  WorkerOwner& owner = *this;
  client_ = std::make_shared<WorkerClient>(io_.executor(0), job.job, rank, std::move(servers), std::move(options),
                                           std::move(job.cuts), owner);
  on_io([](ParameterClient& self) { self.client_->start(); });
}

// The handlers of the client must not run any more: its pool was stopped and joined.
DISTRIB_DECL ParameterClient::~ParameterClient() = default;

template <class Event>
void ParameterClient::on_io(Event event) {
  asio::post(io_.executor(0), [this, event = std::move(event)]() mutable { event(*this); });
}

// --- on the I/O thread ---

DISTRIB_DECL void ParameterClient::compute(Compute work, Step) {
  std::vector<std::shared_ptr<AlignedBuffer>> gradients;
  for (BlockPool& pool : blocks_) gradients.push_back(pool.take());
  const std::scoped_lock lock{mutex_};
  work_ = Work{std::move(work), std::move(gradients)};
  got_ = asked_;
  changed_.notify_all();
}

DISTRIB_DECL void ParameterClient::counted(Step step) {
  const std::scoped_lock lock{mutex_};
  counted_ = step;
  changed_.notify_all();
}

DISTRIB_DECL void ParameterClient::ended(WorkerEnd end) {
  const std::scoped_lock lock{mutex_};
  end_ = std::move(end);
  changed_.notify_all();
}

// --- on the caller's thread ---

template <class Condition>
auto ParameterClient::wait(Instant by, const std::atomic<bool>& stopped, Condition is_there) -> ParameterError {
  std::unique_lock lock{mutex_};
  const bool in_time = changed_.wait_until(lock, by, [&] { return is_there() || end_ || stopped; });
  if (is_there()) return {};
  if (end_) {
    if (end_->why) return {end_->why};
    return {{coordinator_errc::ps_unreachable, "the parameter servers have ended the job"}};
  }
  lock.unlock();
  if (in_time) return {{coordinator_errc::cancelled, "the function was asked to stop"}};
  ParameterError late{{coordinator_errc::ps_unreachable, {}}};
  detail::run_on(io_, 0, [&] { late.unreachable_ps = client_->awaited_tasks(); });
  for (const std::uint32_t task : late.unreachable_ps)
    late.error.where += (late.error.where.empty() ? "" : ", ") + ("/job:ps/task:" + std::to_string(task));
  return late;
}

DISTRIB_DECL auto ParameterClient::want(Instant by, const std::atomic<bool>& stopped) -> ParameterError {
  const std::uint64_t number = ++wanted_;
  on_io([number](ParameterClient& self) {
    self.asked_ = number;
    self.client_->want();
  });
  return wait(by, stopped, [&] { return got_ == number; });
}

DISTRIB_DECL auto ParameterClient::pull(RuntimeValues& to, Instant by, const std::atomic<bool>& stopped)
    -> ParameterError {
  give_back();
  ParameterError failed = want(by, stopped);
  if (failed.error) return failed;
  std::vector<SharedBuffer> values;
  {
    const std::scoped_lock lock{mutex_};
    values = work_->compute.values;
  }
  for (std::size_t shard = 0; shard < layouts_.size(); ++shard)
    for (const auto& entry : layouts_[shard].entries())
      spread_received(layouts_[shard], entry, values[shard]->data(), to.data(entry.variable));
  return {};
}

DISTRIB_DECL auto ParameterClient::push(const RuntimeGradients& from, Instant by, const std::atomic<bool>& stopped)
    -> ParameterError {
  std::optional<Work> work = take_work();
  if (!work) {
    ParameterError failed = want(by, stopped);
    if (failed.error) return failed;
    work = take_work();
  }
  const GradientRounding rounding{seed_, work->compute.step, rank_};
  for (std::size_t shard = 0; shard < layouts_.size(); ++shard)
    for (const auto& entry : layouts_[shard].entries())
      gather_gradient(layouts_[shard], entry, rounding, from.data(entry.variable), work->gradients[shard]->data());
  pushed_ = work->compute.step;
  on_io([work = std::move(*work)](ParameterClient& self) mutable {
    std::vector<SharedBuffer> blocks{work.gradients.begin(), work.gradients.end()};
    work.gradients.clear();
    self.client_->computed(work.compute.ticket, std::move(blocks));
  });
  return {};
}

DISTRIB_DECL auto ParameterClient::settle(Instant by, const std::atomic<bool>& stopped) -> ParameterError {
  return wait(by, stopped, [&] { return counted_ >= pushed_; });
}

DISTRIB_DECL auto ParameterClient::finish(Instant by, const std::atomic<bool>& stopped) -> ParameterError {
  on_io([](ParameterClient& self) { self.client_->finish_job(); });
  return wait(by, stopped, [&] { return end_ && end_->code == exit_code::done; });
}

DISTRIB_DECL auto ParameterClient::take_work() -> std::optional<Work> {
  const std::scoped_lock lock{mutex_};
  return std::exchange(work_, std::nullopt);
}

// Lets the I/O thread destroy the blocks of a contribution that was not made.
DISTRIB_DECL void ParameterClient::give_back() {
  if (std::optional<Work> work = take_work()) on_io([work = std::move(*work)](ParameterClient&) {});
}

}  // namespace v0
}  // namespace distrib
