// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/core/variable_info.hpp>
#include <distrib/optimizer/gradient_clipping.hpp>
#include <distrib/ps/job/consistency.hpp>
#include <distrib/ps/job/initial_name.hpp>
#include <distrib/ps/job/reduction_order.hpp>
#include <distrib/ps/job/row_mean.hpp>
#include <distrib/ps/job/wire_format.hpp>

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
  std::size_t variable = 0;  ///< Index in `Job::variables`.
  Slice slice;  ///< Which piece of the variable.
  std::uint32_t shard = 0;  ///< 0 .. `Job::shards()` - 1. Shard s is on ps task s / shards_per_task.

  [[nodiscard]] auto operator==(const Part&) const -> bool = default;
};

/// The updater of all variables and tables whose names begin with `prefix`.
struct UpdaterOf {
  std::string prefix;  ///< Not empty.
  std::string updater;  ///< In the form of `Job::updater`.

  [[nodiscard]] auto operator==(const UpdaterOf&) const -> bool = default;
};

/// `Job::total_steps` of an asynchronous job without a last step: what a rank has made when it says goodbye is all of
/// it.
inline constexpr std::uint64_t open_end = std::uint64_t{1} << 62;

/// Everything that decides what a job computes. Two processes work together only if their descriptions (`to_text`) are
/// equal. The contribution of (step, rank) is a pure function of this value and of the values that it is computed from.
/// A value.
struct Job {
  /// Seed of initial values, and of whatever else is random in the job.
  std::uint64_t seed = 0;
  /// Variables and tables begin with the values of this checkpoint. Empty: as their initializers say.
  std::string initial_checkpoint;
  /// True: what the initial checkpoint lacks begins as its initializer says. False: that is an error.
  bool initial_allow_missing = false;
  /// Under which names the initial checkpoint has variables and tables. No `of_job` twice.
  std::vector<InitialName> initial_names;
  std::vector<VariableInfo> variables;
  std::vector<TableInfo> tables;  ///< Their rows lie on all shards, see `ShardLayout::tables`.
  std::vector<Part> parts;  ///< In the order of the variables; the parts of a variable in order.
  std::uint32_t tasks = 1;  ///< Parameter server tasks; local mode counts as one task.
  std::uint32_t shards_per_task = 1;
  /// Replicas of each shard, each on another task: 1, or 2 in a synchronous job without backup workers.
  std::uint32_t replicas = 1;
  /// For each shard the SHA-256 of its contribution 0, see `set_initial_values`. Empty: no variable has a
  /// `CustomInitializer`.
  std::vector<Sha256Digest> initial_blocks;
  std::string updater;  ///< The updater's name and hyper-parameters: "momentum learning_rate=0.05 ...".
  /// Other updaters for some variables and tables. If several prefixes fit, the longest one counts.
  std::vector<UpdaterOf> updaters_of;
  RowMean row_mean = RowMean::of_those_with_key;
  std::uint32_t gradient_accumulation = 1;  ///< Number of batches that one gradient is the mean of.
  /// Steps that a worker makes on its own copy of the values for one contribution, which is then what they have
  /// changed. 0: a contribution is a gradient. A job with tables has none.
  std::uint32_t local_steps = 0;
  std::string local_updater;  ///< Makes the local steps; in the form of `updater`. Empty without local steps.
  GradientClipping gradient_clipping;  ///< Of each gradient, by the worker that computes it.
  /// In which order contributions are added. A job that continues from values that were made in rank order, with the
  /// same other settings, stays in rank order.
  ReductionOrder reduction = ReductionOrder::rank_order;
  bool check_numerics = false;  ///< True: a contribution that is not finite is refused, and the job ends.
  WireFormat wire_format;  ///< Of values and gradients in messages; the sender rounds them.
  Consistency consistency;  ///< When contributions count.
  std::string data;  ///< Description of the input pipeline, one line.
  /// False: the batches come from the program's own loop, and a contribution that is lost cannot be made again. Then
  /// the job ends when a worker is lost (`ps_errc::not_replayable`), and another start continues from the newest cut
  /// that all shards have. Such a job has one replica of each shard.
  bool replayable = true;
  /// Number of workers that contribute.
  std::uint32_t ranks = 1;
  /// Above 0: the ranks may change while the job runs (`RankLog`), and all are below this number; the job begins with
  /// the first `ranks` of them. Only if all ranks count in each step, with one replica of each shard, without tables,
  /// and if the job is replayable. 0: each step has the same ranks.
  std::uint32_t most_ranks = 0;
  /// True: keys of the tables may be erased while the job runs (`ErasedKeys`), and each shard keeps a log of that. Only
  /// if `can_erase_keys`.
  bool erases_keys = false;
  /// Steps of the whole job. Asynchronous: contributions of all ranks together, or `open_end`.
  std::uint64_t total_steps = 0;
  /// A cut is due at each multiple of this many steps, and after the last step. 0: only after the last step.
  std::uint64_t cut_interval = 0;
  /// What the workers compute with, as the model describes it: "libtorch 1.13.1 threads 1 deterministic". Empty: it
  /// says nothing. Not part of the description, because another machine may continue the job; part of the settings of a
  /// lineage (`settings_hash`). Every Join carries it.
  std::string arithmetic = {};

  [[nodiscard]] auto shards() const noexcept -> std::uint32_t { return tasks * shards_per_task; }

  /// Number of replicas of all shards together. Replica number r * `shards()` + s is replica r of shard s. So the
  /// replicas with r = 0 have the numbers of their shards; with one replica of each shard there are no others.
  [[nodiscard]] auto num_replicas() const noexcept -> std::uint32_t { return shards() * replicas; }
  /// Returns the ps task of a replica: the task of its shard for r = 0, the task after that for r = 1.
  [[nodiscard]] auto task_of(std::uint32_t replica) const noexcept -> std::uint32_t {
    return (replica % shards() / shards_per_task + replica / shards()) % tasks;
  }
  /// Returns the other replica of the same shard. With one replica of each shard: itself.
  [[nodiscard]] auto sibling_of(std::uint32_t replica) const noexcept -> std::uint32_t {
    return (replica + shards()) % num_replicas();
  }
  /// Returns the number of a replica among the services of its task. The task's own shards (r = 0) come first.
  [[nodiscard]] auto service_of(std::uint32_t replica) const noexcept -> std::uint32_t {
    return replica / shards() * shards_per_task + replica % shards_per_task;
  }
  /// Returns the replica that is service number `service` of task `task`: the inverse of `task_of` and `service_of`.
  [[nodiscard]] auto replica_at(std::uint32_t task, std::uint32_t service) const noexcept -> std::uint32_t {
    const std::uint32_t round = service / shards_per_task;
    return round * shards() + (task + tasks - round % tasks) % tasks * shards_per_task + service % shards_per_task;
  }

  /// Returns the number of the updater of a variable or table: 0 is `updater`, i + 1 is `updaters_of[i]`.
  [[nodiscard]] DISTRIB_DECL auto updater_of(std::string_view variable) const noexcept -> std::size_t;

  /// True if `most_ranks` may be set.
  [[nodiscard]] auto can_change_ranks() const noexcept -> bool {
    return consistency.can_have_replicas(ranks) && replicas == 1 && tables.empty() && replayable;
  }

  /// True if `erases_keys` may be set: all ranks count in each step, with one replica of each shard, some table has any
  /// keys, the ranks never change, and the job is replayable.
  [[nodiscard]] DISTRIB_DECL auto can_erase_keys() const noexcept -> bool;
  /// True if each shard keeps a log beside its cuts (`RankFile`).
  [[nodiscard]] auto keeps_log() const noexcept -> bool { return most_ranks != 0 || erases_keys; }

  /// Returns how many ranks may have contributions: 0 to this number - 1.
  [[nodiscard]] auto rank_names() const noexcept -> std::uint32_t { return std::max(ranks, most_ranks); }

  /// Returns how many batches one contribution is made of.
  [[nodiscard]] auto batches_per_contribution() const noexcept -> std::uint64_t {
    return std::uint64_t{gradient_accumulation} * std::max(1U, local_steps);
  }

  /// True if `ReductionOrder::tree` is possible: every rank counts in each step, and there are no tables.
  [[nodiscard]] auto can_reduce_in_tree() const noexcept -> bool {
    return consistency.can_have_replicas(ranks) && tables.empty();
  }

  /// Returns how many contributions `rank` makes. Synchronous: one for each step. Otherwise an equal share of all
  /// contributions; the lowest ranks make the remainder. In a job whose ranks change: the last step that it may make.
  [[nodiscard]] auto steps_of(std::uint32_t rank) const noexcept -> std::uint64_t {
    if (consistency.is_synchronous() || most_ranks != 0) return total_steps;
    return total_steps / ranks + (rank < total_steps % ranks ? 1 : 0);
  }
};

/// Most bytes of `Job::arithmetic`.
inline constexpr std::size_t max_arithmetic_bytes = 4096;

/// True if `text` may be the arithmetic of a job: at most `max_arithmetic_bytes`, without line ends or other control
/// characters.
[[nodiscard]] inline auto is_arithmetic(std::string_view text) noexcept -> bool {
  return text.size() <= max_arithmetic_bytes && std::ranges::none_of(text, [](char letter) {
           return static_cast<unsigned char>(letter) < ' ' || letter == '\x7f';
         });
}

/// Returns for how many steps after its last completed step a synchronous shard stores contributions (rule 3 of
/// docs/design/protocol.md): twice the cut interval, at least 2 and at most 2^32.
[[nodiscard]] inline auto contribution_window(const Job& job) noexcept -> std::uint64_t {
  constexpr std::uint64_t most = std::uint64_t{1} << 32;  // so that step + window never overflows
  return job.cut_interval > most / 2 ? most : std::max<std::uint64_t>(2, 2 * job.cut_interval);
}

/// Most bytes of a description.
inline constexpr std::size_t max_job_text = std::size_t{1} << 20;

/// Returns the canonical description of the job: one fact per line, in a fixed order. Saved with every cut, and
/// compared at Join.
///
/// Each part of a variable has a line, unless the description would be longer than `max_job_text` then. In that case
/// the parts of a variable are one line `parts` if `part_slices` has made them, and they lie on consecutive shards,
/// with shard 0 after the last one. So jobs that have fitted in the limit without such lines keep their text.
[[nodiscard]] DISTRIB_DECL auto to_text(const Job& job) -> std::string;

/// Returns the SHA-256 of the canonical description.
[[nodiscard]] inline auto job_hash(const Job& job) { return sha256(as_bytes(to_text(job))); }

namespace detail {

// Returns the lines of a description: all, or only the lines of the job's identity (see `identity_difference`).
DISTRIB_DECL auto lines_of(std::string_view text, bool only_identity) -> std::vector<std::string_view>;

// Returns the first line in which two lists differ, as a sentence; empty if they are equal.
DISTRIB_DECL auto first_difference(const std::vector<std::string_view>& theirs,
                                   const std::vector<std::string_view>& ours) -> std::string;
}  // namespace detail

/// Compares the lines of two descriptions that a second run must share with the first: variables, tables, initializers,
/// seed, and the initial checkpoint with its names. Returns the first difference as a sentence for a message: "it has
/// 'seed 1', this job has 'seed 2'". Empty: they describe the same job.
[[nodiscard]] inline auto identity_difference(std::string_view saved, std::string_view ours) -> std::string {
  return detail::first_difference(detail::lines_of(saved, true), detail::lines_of(ours, true));
}

/// Compares all lines of two descriptions. Returns the first difference in the same form: the reason why a worker and a
/// parameter server do not work together. Empty: all lines are equal.
[[nodiscard]] inline auto job_difference(std::string_view theirs, std::string_view ours) -> std::string {
  return detail::first_difference(detail::lines_of(theirs, false), detail::lines_of(ours, false));
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/job.ipp>
#endif
