// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/cut/shard_files.hpp>
#include <distrib/ps/cut/state_fetch_core.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/rank_file.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/shard_action.hpp>
#include <distrib/sim/detail/link.hpp>
#include <distrib/sim/detail/shard_host.hpp>
#include <distrib/sim/detail/state_fetch.hpp>
#include <distrib/sim/detail/world.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace sim::detail {

/// The cores of production that a shard's host uses beside its service. A test that plants a mistake uses other ones.
struct ShardCores {
  using Files = ShardFiles;
  using Fetch = StateFetchCore;
};

/// A shard's host with the core that decides about its files, and the core that fetches the state of its other replica.
template <class Cores>
class HostedShard final : public ShardHost {
  using Files = typename Cores::Files;
  using Fetch = StateFetch<typename Cores::Fetch>;

 public:
  HostedShard(World& world, std::uint32_t replica, HostOwner& owner)
      : ShardHost{world, replica, owner}, files_{world.cuts.directory} {}

  void open(const Job& job, std::uint32_t replica, const CutSettings& cuts, const JobUpdaters& updaters) override {
    if (replica != number()) world().fail("a shard opens the job for another shard");
    updaters_ = updaters;
    files_.open(job, replica, cuts, updaters, *this);
  }
  void save(SaveCut action) override { files_.save(std::move(action), *this); }
  void save_ranks(RankFile file) override { files_.save_ranks(std::move(file), *this); }
  void load(Step step) override { files_.load(step, *this); }
  void drop(DropCut action) override { files_.drop(action, *this); }
  void send(SendState action) override { files_.send(action, *this); }
  void finish_files() override { files_.finish(*this); }

  void ask_sibling(const std::string& job_hash, Step have) override {
    typename Cores::Fetch core{world().job,    number(), updaters_, job_hash, have, options().memory_budget_bytes,
                               options().lease};
    fetch_ = std::make_shared<Fetch>(
        world(), [this](auto happened) { return open_to_sibling(std::move(happened)); }, std::move(core),
        [this](const std::optional<Cut>& cut) {
          fetch_.reset();
          if (!cut) tell("gets no newer state from the other replica");
          files_.state_came(cut, service(), world().now(), *this);
          send_answers();
        });
    fetch_->start();
  }
  [[nodiscard]] auto asking() const -> LinkPointer override { return fetch_ ? fetch_->link() : nullptr; }

 private:
  void performed(CutWork work) override { files_.performed(std::move(work), service(), world().now(), *this); }
  void forget() override {
    files_ = Files{world().cuts.directory};
    fetch_.reset();
  }

  Files files_;
  JobUpdaters updaters_;
  std::shared_ptr<Fetch> fetch_;
};

/// A function of type `MakeShard`.
template <class Cores>
auto make_shard(World& world, std::uint32_t replica, HostOwner& owner) -> std::unique_ptr<ShardHost> {
  return std::make_unique<HostedShard<Cores>>(world, replica, owner);
}

#ifndef DISTRIB_HEADER_ONLY  // in its .ipp
extern template auto make_shard<ShardCores>(World& world, std::uint32_t replica, HostOwner& owner)
    -> std::unique_ptr<ShardHost>;
#endif

}  // namespace sim::detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sim/detail/impl/hosted_shard.ipp>
#endif
