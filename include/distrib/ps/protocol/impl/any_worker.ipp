// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/protocol/any_worker.hpp>

#include <distrib/ps/protocol/async_worker_core.hpp>
#include <distrib/ps/protocol/sync_worker_core.hpp>

#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

template <class Core>
class WorkerOf final : public AnyWorker {
 public:
  WorkerOf(const Job& job, Rank rank, WorkerOptions options) : core_{job, rank, std::move(options)} {}

  void start(WorkerSink& out) override { core_.start(out); }
  void reconnected(std::uint32_t replica, WorkerSink& out) override { core_.reconnected(replica, out); }
  void disconnected(std::uint32_t replica, WorkerSink& out) override {
    if constexpr (Core::is_synchronous) core_.disconnected(replica, out);
  }
  void joined(std::uint32_t replica, Progress progress, WorkerSink& out) override {
    core_.joined(replica, std::move(progress), out);
  }
  void notice(std::uint32_t replica, Progress progress, WorkerSink& out) override {
    core_.notice(replica, std::move(progress), out);
  }
  void pushed(std::uint32_t replica, Progress progress, WorkerSink& out) override {
    core_.pushed(replica, std::move(progress), out);
  }
  void values(std::uint32_t replica, Step step, SharedBuffer block, Progress progress, WorkerSink& out) override {
    core_.values(replica, step, std::move(block), std::move(progress), out);
  }
  void gone(std::uint32_t replica, Step step, Progress progress, WorkerSink& out) override {
    if constexpr (Core::is_synchronous) core_.gone(replica, step, std::move(progress), out);
  }
  void prepared(Step step, std::vector<WantedRows> rows, WorkerSink& out) override {
    core_.prepared(step, std::move(rows), out);
  }
  void computed(std::uint64_t ticket, std::vector<SharedBuffer> blocks, WorkerSink& out,
                std::vector<WantedRows> next) override {
    core_.computed(ticket, std::move(blocks), out, std::move(next));
  }
  void stop(WorkerSink& out) override { core_.stop(out); }
  void abandon(WorkerSink& out) override { core_.abandon(out); }
  void want(WorkerSink& out) override {
    if constexpr (!Core::is_synchronous) core_.want(out);
  }
  void finish(WorkerSink& out) override {
    if constexpr (!Core::is_synchronous) core_.finish(out);
  }

  [[nodiscard]] auto step() const -> Step override { return core_.step(); }
  [[nodiscard]] auto common_cut() const -> Step override {
    if constexpr (Core::is_synchronous) return core_.common_cut();
    else return 0;
  }
  [[nodiscard]] auto replay_bytes() const -> std::size_t override { return core_.replay_bytes(); }
  [[nodiscard]] auto everything_saved() const -> bool override { return core_.everything_saved(); }
  [[nodiscard]] auto counted() const -> Step override {
    if constexpr (!Core::is_synchronous) return core_.counted();
    else return 0;
  }
  [[nodiscard]] auto awaits(std::uint32_t shard) const -> bool override {
    if constexpr (!Core::is_synchronous) return core_.awaits(shard);
    else return false;
  }

 private:
  Core core_;
};

}  // namespace detail

DISTRIB_DECL auto make_worker(const Job& job, Rank rank, WorkerOptions options) -> std::unique_ptr<AnyWorker> {
  if (job.consistency.is_synchronous())
    return std::make_unique<detail::WorkerOf<SyncWorkerCore>>(job, rank, std::move(options));
  return std::make_unique<detail::WorkerOf<AsyncWorkerCore>>(job, rank, std::move(options));
}

}  // namespace v0
}  // namespace distrib
