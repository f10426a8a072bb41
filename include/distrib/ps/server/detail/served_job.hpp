// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/lineage.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/ps/server/shard_identity.hpp>
#include <distrib/ps/server/shard_options.hpp>
#include <distrib/ps/wire/messages.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The job of a shard's service, and what is needed to serve it. Empty until the job is known. Members that need the
/// job may be called only then.
class ServedJob {
 public:
  ServedJob(const ShardIdentity& identity, ShardKinds kinds, const ShardOptions& options)
      : identity_{identity}, kinds_{std::move(kinds)}, options_{options} {}

  [[nodiscard]] explicit operator bool() const noexcept { return job_.has_value(); }
  [[nodiscard]] auto operator->() const noexcept -> const Job* { return &*job_; }
  [[nodiscard]] auto get() const noexcept -> const std::optional<Job>& { return job_; }
  [[nodiscard]] auto hash() const noexcept -> const std::string& { return hash_; }
  [[nodiscard]] auto kind() const noexcept -> const ShardKind& { return kind_; }
  [[nodiscard]] auto identity() const noexcept -> const ShardIdentity& { return identity_; }
  /// Returns the shard in words, for errors and reports.
  [[nodiscard]] auto place() const -> std::string {
    return "/job:ps/task:" + std::to_string(identity_.task) + ", shard " + std::to_string(identity_.shard);
  }
  /// True if the job is known and this is the hash of its text.
  [[nodiscard]] auto is(std::string_view hash) const noexcept -> bool { return job_ && hash == hash_; }
  /// Returns the number of the replica that is served.
  [[nodiscard]] auto replica() const -> std::uint32_t { return job_->replica_at(identity_.task, identity_.shard); }

  /// Learns the job, as `adopt_job`. On failure nothing changes.
  [[nodiscard]] DISTRIB_DECL auto adopt(const JoinRequest& request) -> Error;
  void forget() { job_.reset(); }

  /// Returns how the arithmetic of a worker differs from that of the worker that brought the job, as a sentence for a
  /// message; empty if it does not differ.
  [[nodiscard]] DISTRIB_DECL auto unlike_arithmetic(const JoinRequest& request) const -> std::string;

  /// As the functions of these names.
  [[nodiscard]] auto make_shard(std::vector<DurableCut> cuts, const Cut* newest) const -> std::unique_ptr<AnyShard> {
    return v0::make_shard(*job_, replica() % job_->shards(), kind_, std::move(cuts), newest);
  }
  [[nodiscard]] auto has_last_cut(const AnyShard& shard) const -> bool { return v0::has_last_cut(shard, *job_); }

 private:
  ShardIdentity identity_;
  ShardKinds kinds_;
  ShardOptions options_;
  std::optional<Job> job_;
  std::string hash_;
  ShardKind kind_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/server/detail/impl/served_job.ipp>
#endif
