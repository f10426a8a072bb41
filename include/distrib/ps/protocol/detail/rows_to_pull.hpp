// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/protocol/worker_action.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Which rows a worker wants with the values for its next contribution: of a job with tables nothing is pulled before
/// that is known, of one without there are none. A value.
class RowsToPull {
 public:
  explicit RowsToPull(const Job& job) : has_tables_{!job.tables.empty()}, rows_(job.shards()) {}

  /// Whether it is known what the contribution of `step` needs.
  [[nodiscard]] auto known_for(Step step) const noexcept -> bool { return !has_tables_ || step_ == step; }

  /// The contribution of `step` needs these, one a shard. Without tables nothing is kept.
  void know(Step step, std::vector<WantedRows> rows) {
    if (!has_tables_) return;
    step_ = step;
    rows_ = std::move(rows);
  }

  /// What is asked of a shard, for the step that was told last.
  [[nodiscard]] auto of(std::uint32_t shard) const -> const WantedRows& { return rows_[shard]; }

  /// Whether a shard's values are what that contribution needs, and not those of a pull that only asked when there is
  /// room. Without tables they always are.
  [[nodiscard]] auto fit(Step step, std::uint32_t shard, const SharedBuffer& block) const -> bool {
    return !has_tables_ || (step_ == step && block->size() == rows_[shard].answer_bytes);
  }

 private:
  bool has_tables_;
  Step step_ = 0;  // 0: nothing was told yet
  std::vector<WantedRows> rows_;  // one a shard
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
