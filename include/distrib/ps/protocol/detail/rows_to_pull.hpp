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

/// The rows that a worker wants with the values for its next contribution. In a job with tables nothing is pulled
/// before they are known; a job without tables has none. A value.
class RowsToPull {
 public:
  explicit RowsToPull(const Job& job) : has_tables_{!job.tables.empty()}, rows_(job.shards()) {}

  /// True if the rows for the contribution of `step` are known.
  [[nodiscard]] auto known_for(Step step) const noexcept -> bool { return !has_tables_ || step_ == step; }

  /// Sets the rows for the contribution of `step`, one entry per shard. Ignored in a job without tables.
  void know(Step step, std::vector<WantedRows> rows) {
    if (!has_tables_) return;
    step_ = step;
    rows_ = std::move(rows);
  }

  /// Returns the rows wanted from a shard, as set by the last `know`; no rows before that.
  [[nodiscard]] auto of(std::uint32_t shard) const -> const WantedRows& { return rows_[shard]; }

  /// True if `block` has the size of the values that the contribution of `step` needs. So it is false for the answer to
  /// a pull without rows, which only asks when the shard has room. Always true in a job without tables.
  [[nodiscard]] auto fit(Step step, std::uint32_t shard, const SharedBuffer& block) const -> bool {
    return !has_tables_ || (step_ == step && block->size() == rows_[shard].answer_bytes);
  }

 private:
  bool has_tables_;
  Step step_ = 0;  // 0: nothing is known yet
  std::vector<WantedRows> rows_;  // one entry per shard
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
