// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/core/variable_info.hpp>
#include <distrib/ps/job/consistency.hpp>
#include <distrib/ps/job/initial_name.hpp>
#include <distrib/ps/job/row_mean.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A piece of a variable and the shard that owns it.
struct Part {
  std::size_t variable = 0;  ///< Position in `Job::variables`.
  Slice slice;               ///< Which piece.
  std::uint32_t shard = 0;  ///< Which shard, 0 .. `Job::shards()` - 1; shard s lives on ps task s / shards_per_task.

  [[nodiscard]] auto operator==(const Part&) const -> bool = default;
};

/// Variables whose names begin with `prefix` have this updater.
struct UpdaterOf {
  std::string prefix;  ///< Not empty.
  std::string updater;  ///< As `Job::updater`.

  [[nodiscard]] auto operator==(const UpdaterOf&) const -> bool = default;
};

/// Everything that decides what a job computes. Two processes work together only when their texts are equal; the
/// contribution of (step, rank) is a pure function of this value. A value.
struct Job {
  std::uint64_t seed = 0;
  std::string initial_checkpoint;  ///< Variables and tables begin with its values; empty: as their initializers say.
  bool initial_allow_missing = false;  ///< What the initial checkpoint lacks begins as its initializer says.
  std::vector<InitialName> initial_names;  ///< By which names the initial checkpoint has them; none twice.
  std::vector<VariableInfo> variables;
  std::vector<TableInfo> tables;  ///< Their rows lie on all shards, see `ShardLayout::tables`.
  std::vector<Part> parts;  ///< Variables in order, each one's parts in order.
  std::uint32_t tasks = 1;  ///< Parameter server tasks; local mode counts as one.
  std::uint32_t shards_per_task = 1;
  std::uint32_t replicas = 1;  ///< Of each shard, on as many tasks; 1 or 2. Synchronous jobs only.
  /// SHA-256 of contribution 0 of each shard, see `set_initial_values`. Empty: no variable has a `CustomInitializer`.
  std::vector<Sha256Digest> initial_blocks;
  std::string updater;  ///< Name and hyper-parameters: "momentum learning_rate=0.05 ...".
  std::vector<UpdaterOf> updaters_of;  ///< Of some variables another one; the longest prefix counts.
  RowMean row_mean = RowMean::of_those_with_key;
  bool check_numerics = false;  ///< A contribution that is not finite is refused, and ends the job.
  FloatFormat wire_format = FloatFormat::float32;  ///< Of values and gradients on their way; who sends them rounds.
  Consistency consistency;  ///< When contributions count.
  std::string data;  ///< What the input pipeline says of itself.
  std::uint32_t ranks = 1;
  std::uint64_t total_steps = 0;  ///< Global steps; asynchronous: contributions of all ranks together.
  std::uint64_t cut_interval = 0;  ///< A cut is due every so many steps, and after the last one.

  [[nodiscard]] auto shards() const noexcept -> std::uint32_t { return tasks * shards_per_task; }

  /// Replicas of all shards. Number r * `shards()` + s is replica r of shard s; those of number r = 0 are the shards'
  /// own, and where there are no others the number is the shard's.
  [[nodiscard]] auto num_replicas() const noexcept -> std::uint32_t { return shards() * replicas; }
  /// The ps task of a replica: that of its shard, or the next one.
  [[nodiscard]] auto task_of(std::uint32_t replica) const noexcept -> std::uint32_t {
    return (replica % shards() / shards_per_task + replica / shards()) % tasks;
  }
  /// The other replica of the same shard.
  [[nodiscard]] auto sibling_of(std::uint32_t replica) const noexcept -> std::uint32_t {
    return (replica + shards()) % num_replicas();
  }
  /// Which service of its task a replica is: first come the task's own shards.
  [[nodiscard]] auto service_of(std::uint32_t replica) const noexcept -> std::uint32_t {
    return replica / shards() * shards_per_task + replica % shards_per_task;
  }
  /// The replica that is this service of this task.
  [[nodiscard]] auto replica_at(std::uint32_t task, std::uint32_t service) const noexcept -> std::uint32_t {
    const std::uint32_t round = service / shards_per_task;
    return round * shards() + (task + tasks - round % tasks) % tasks * shards_per_task + service % shards_per_task;
  }

  /// Which updater a variable or table has: 0 is `updater`, i + 1 is `updaters_of[i]`.
  [[nodiscard]] DISTRIB_DECL auto updater_of(std::string_view variable) const noexcept -> std::size_t;

  /// Contributions that `rank` makes. Synchronous: one for each step. Otherwise an equal share of all, the remainder to
  /// the lowest ranks.
  [[nodiscard]] auto steps_of(std::uint32_t rank) const noexcept -> std::uint64_t {
    if (consistency.is_synchronous()) return total_steps;
    return total_steps / ranks + (rank < total_steps % ranks ? 1 : 0);
  }
};

/// Steps beyond the one being completed whose contributions a synchronous shard stores (rule 3 of the protocol).
[[nodiscard]] inline auto contribution_window(const Job& job) noexcept -> std::uint64_t {
  constexpr std::uint64_t most = std::uint64_t{1} << 32;  // so that step + window never overflows
  return job.cut_interval > most / 2 ? most : std::max<std::uint64_t>(2, 2 * job.cut_interval);
}

/// The canonical description: one fact a line, in a fixed order. Saved with every cut and compared at Join.
[[nodiscard]] DISTRIB_DECL auto to_text(const Job& job) -> std::string;

/// SHA-256 of the canonical description.
[[nodiscard]] inline auto job_hash(const Job& job) { return sha256(as_bytes(to_text(job))); }

namespace detail {

DISTRIB_DECL auto lines_of(std::string_view text, bool only_identity) -> std::vector<std::string_view>;

DISTRIB_DECL auto first_difference(const std::vector<std::string_view>& theirs,
                                   const std::vector<std::string_view>& ours) -> std::string;
}  // namespace detail

/// The first line in which two descriptions differ in what a second run must have in common with the first: variables,
/// tables, initializers, initial checkpoint with its names, and seed (protocol, "A second run"). Empty: they are the same
/// job. The text is for people.
[[nodiscard]] inline auto identity_difference(std::string_view saved, std::string_view ours) -> std::string {
  return detail::first_difference(detail::lines_of(saved, true), detail::lines_of(ours, true));
}

/// The first line in which two whole descriptions differ, in the same words: why a worker and a parameter server do not
/// work together. Empty: all lines are equal.
[[nodiscard]] inline auto job_difference(std::string_view theirs, std::string_view ours) -> std::string {
  return detail::first_difference(detail::lines_of(theirs, false), detail::lines_of(ours, false));
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/job.ipp>
#endif
