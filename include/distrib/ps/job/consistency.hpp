// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace distrib {
inline namespace v0 {

/// Every step waits for the contribution of every rank and applies their mean, added in rank order: the same bits at
/// any timing.
///
/// With `replicas_to_aggregate` below the number of ranks, the other ranks are backup workers: each shard completes a
/// step with the first `replicas_to_aggregate` contributions that it gets, still added in rank order; it drops and
/// counts later ones. Then bits depend on timing. A number above the number of ranks is an error when the job is made.
struct BulkSynchronousParallel {
  /// Number of contributions that complete a step. 0: all ranks must contribute.
  std::uint32_t replicas_to_aggregate = 0;
  [[nodiscard]] auto operator==(const BulkSynchronousParallel&) const -> bool = default;
};

/// Every contribution is applied as it arrives. A rank waits only while it is more than `staleness` contributions ahead
/// of the slowest other rank.
struct StaleSynchronousParallel {
  std::uint64_t staleness = 3;  ///< 0: ranks stay together, at most one contribution apart.
  [[nodiscard]] auto operator==(const StaleSynchronousParallel&) const -> bool = default;
};

/// Every contribution is applied as it arrives. No rank waits for another, except at barriers.
struct AsynchronousParallel {
  /// After this many contributions of its own a rank waits until all other ranks have made as many; then all continue
  /// with the same values. 0: no barriers.
  std::uint64_t barrier_every = 0;
  [[nodiscard]] auto operator==(const AsynchronousParallel&) const -> bool = default;
};

/// When contributions count: `BulkSynchronousParallel`, `StaleSynchronousParallel` or `AsynchronousParallel`, and no
/// other. Part of a job (`Job::consistency`). A value.
///
/// The library asks about the mode only through the functions of this class. Code that is compiled for one mode, such
/// as the cores of shards and workers, names its mode by a constant with the name of the function:
/// `SyncShardCore::is_synchronous`.
class Consistency {
 public:
  /// `BulkSynchronousParallel{}`: every rank counts.
  constexpr Consistency() noexcept = default;
  constexpr Consistency(BulkSynchronousParallel choice) noexcept : choice_{choice} {}
  constexpr Consistency(StaleSynchronousParallel choice) noexcept : choice_{choice} {}
  constexpr Consistency(AsynchronousParallel choice) noexcept : choice_{choice} {}

  /// True if a step consists of the contributions of several ranks, which the shards apply together; steps, cuts and
  /// restores then belong to the whole job. False if each contribution is applied by itself and counts as a step.
  [[nodiscard]] constexpr auto is_synchronous() const noexcept -> bool {
    return std::holds_alternative<BulkSynchronousParallel>(choice_);
  }

  /// Number of contributions that complete a step of a job with `ranks` ranks. Synchronous: `replicas_to_aggregate`, or
  /// `ranks` if that is 0; a result above `ranks` means that the job cannot be made. Otherwise 1.
  [[nodiscard]] constexpr auto replicas_to_aggregate(std::uint32_t ranks) const noexcept -> std::uint32_t {
    const auto* bulk = std::get_if<BulkSynchronousParallel>(&choice_);
    if (bulk == nullptr) return 1;
    return bulk->replicas_to_aggregate == 0 ? ranks : bulk->replicas_to_aggregate;
  }

  /// Returns how many of `ranks` ranks the steps of a synchronous job can do without: the number of backup workers.
  /// Otherwise 0.
  [[nodiscard]] constexpr auto backup_workers(std::uint32_t ranks) const noexcept -> std::uint32_t {
    const std::uint32_t needed = replicas_to_aggregate(ranks);
    return is_synchronous() && needed < ranks ? ranks - needed : 0;
  }

  /// Returns how many contributions a rank that has made `contributions` contributions may be ahead of the slowest
  /// other rank before it waits: the staleness; 0 at a barrier; 2^64 - 1 (no limit) elsewhere in an asynchronous job.
  /// Synchronous: 0.
  [[nodiscard]] constexpr auto bound_after(std::uint64_t contributions) const noexcept -> std::uint64_t {
    if (const auto* stale = std::get_if<StaleSynchronousParallel>(&choice_)) return stale->staleness;
    const auto* free = std::get_if<AsynchronousParallel>(&choice_);
    if (free == nullptr) return 0;
    const bool at_barrier = free->barrier_every != 0 && contributions % free->barrier_every == 0;
    return at_barrier ? 0 : std::numeric_limits<std::uint64_t>::max();
  }

  /// True if a step of a job with `ranks` ranks waits for the contributions of all of them: for
  /// `BulkSynchronousParallel` without backup workers (`replicas_to_aggregate` is 0 or `ranks`). False for every other
  /// mode. Where it is true, values do not depend on timing, so two replicas of a shard always have the same values;
  /// where it is false, a job cannot have replicas.
  [[nodiscard]] constexpr auto can_have_replicas(std::uint32_t ranks) const noexcept -> bool {
    return is_synchronous() && replicas_to_aggregate(ranks) == ranks;
  }

  /// Returns the short name: "sync", "ssp" or "async".
  [[nodiscard]] constexpr auto mode() const noexcept -> std::string_view {
    if (is_synchronous()) return "sync";
    return std::holds_alternative<StaleSynchronousParallel>(choice_) ? "ssp" : "async";
  }

  /// Returns the canonical text, a line of the job's description: "bulk_synchronous_parallel",
  /// "bulk_synchronous_parallel replicas_to_aggregate=2", "stale_synchronous_parallel staleness=3",
  /// "asynchronous_parallel", "asynchronous_parallel barrier_every=100".
  [[nodiscard]] DISTRIB_DECL auto describe() const -> std::string;

  [[nodiscard]] constexpr auto operator==(const Consistency&) const -> bool = default;

 private:
  std::variant<BulkSynchronousParallel, StaleSynchronousParallel, AsynchronousParallel> choice_;
};

namespace detail {

/// Returns the consistency with this `describe()`; empty for any other text.
[[nodiscard]] DISTRIB_DECL auto parse_consistency(std::string_view text) -> std::optional<Consistency>;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/consistency.ipp>
#endif
