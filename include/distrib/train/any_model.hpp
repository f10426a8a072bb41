// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/runtime_variables.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/store/key_lists.hpp>
#include <distrib/ps/store/pull_rows.hpp>
#include <distrib/ps/store/table_digest.hpp>
#include <distrib/tensor/runtime_values.hpp>
#include <distrib/train/metrics.hpp>
#include <distrib/train/model_updaters.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Thrown by a contributor that was asked to end between two local steps: see `AnyContributor::ask_between`.
struct RoundLeft {};

/// A `Contributor` without the types of its model and data. `Contributor` describes the members.
class AnyContributor {
 public:
  virtual ~AnyContributor() = default;
  virtual auto prepare(Rank rank, Step step, const KeyLists& others = {}) -> std::vector<WantedRows> = 0;
  [[nodiscard]] virtual auto requests(Rank rank, Step step) const -> std::span<const PullRows> = 0;
  [[nodiscard]] virtual auto digests(Rank rank, Step step, std::span<const SharedBuffer> blocks) const
      -> std::vector<TableDigest> = 0;
  virtual auto operator()(Rank rank, Step step, std::span<const SharedBuffer> values,
                          std::span<const std::shared_ptr<AlignedBuffer>> gradients) -> float = 0;
  [[nodiscard]] virtual auto gradient_norm(Rank rank) const -> float = 0;
  [[nodiscard]] virtual auto reading() const noexcept -> std::chrono::nanoseconds = 0;
  virtual void ask_between(std::function<bool()> go_on) = 0;
  virtual auto take_others(Rank rank, Step step, std::span<const SharedBuffer> blocks, RuntimeValues& to) -> bool = 0;
  virtual void validate() = 0;
  [[nodiscard]] virtual auto validated(Rank rank) const -> Metrics = 0;
  [[nodiscard]] virtual auto is_ready(Rank rank, Step step) -> bool = 0;
  virtual void set_number(Rank rank, Step step, const RankEntry& entry, std::uint64_t number) = 0;
  virtual void continue_after(Step step) = 0;
  virtual void let_go(Step step) = 0;
};

/// An `Evaluation` without the types of its model and data. `Evaluation` describes the members.
class AnyEvaluation {
 public:
  virtual ~AnyEvaluation() = default;
  [[nodiscard]] virtual auto keys() const noexcept -> const KeyLists& = 0;
  [[nodiscard]] virtual auto operator()(RuntimeValues& values) const -> Metrics = 0;
};

/// A model whose training data are open. Threads: const members from any thread. Lifetime: the `AnyModel` must outlive
/// it.
class OpenModel {
 public:
  virtual ~OpenModel() = default;

  /// What the source of the data answers: see the members of the same names of `BatchSource`.
  [[nodiscard]] virtual auto describe() const -> std::string = 0;
  [[nodiscard]] virtual auto batches() const -> std::optional<std::uint64_t> = 0;
  [[nodiscard]] virtual auto batch_size() const -> std::uint64_t = 0;
  /// False if the data are `OwnBatches`: see `Job::replayable`.
  [[nodiscard]] virtual auto is_replayable() const noexcept -> bool = 0;
  /// True if a batch may have to be waited for: see `detail::WaitsForBatches`.
  [[nodiscard]] virtual auto waits() const noexcept -> bool = 0;

  /// Returns an object that computes the contributions of this job. The open model, `job` and `layouts` must outlive
  /// it.
  [[nodiscard]] virtual auto contributor(const Job& job, std::span<const ShardLayout> layouts) const
      -> std::unique_ptr<AnyContributor> = 0;
};

/// A model with its data, without their types: everything that a trainer knows about what it trains. The model is asked
/// when an answer is needed, and once in a process.
///
/// Threads: const members from any thread.
class AnyModel {
 public:
  virtual ~AnyModel() = default;

  /// Returns the variables and tables. Asks the model at the first call only. Throws what the model throws, and
  /// `train_errc::no_lookups` if there are tables but the model has no `lookups()`.
  [[nodiscard]] virtual auto variables() const -> const RuntimeVariables& = 0;

  /// Returns the updaters that the model brings; an empty list if it brings none. Asks the model at the first call
  /// only.
  [[nodiscard]] virtual auto updaters() const -> const ModelUpdaters& = 0;

  /// Returns the line that describes the arithmetic of the model, see `Model`; empty if it says nothing. Asks the model
  /// at the first call only.
  [[nodiscard]] virtual auto arithmetic() const -> const std::string& = 0;

  /// As `make_initial_values`: returns the model's own initial values, and writes their digests into the job.
  [[nodiscard]] virtual auto initial_values(Job& job) const -> std::vector<SharedBuffer> = 0;

  /// Opens the training data. Throws what the data throw.
  [[nodiscard]] virtual auto open() const -> std::unique_ptr<OpenModel> = 0;
  /// Opens the data of `Evaluate`. If the model has tables, reads all of these data once. Returns null if the trainer
  /// has no `Evaluate`.
  [[nodiscard]] virtual auto open_evaluation() const -> std::unique_ptr<AnyEvaluation> = 0;
};

}  // namespace v0
}  // namespace distrib
