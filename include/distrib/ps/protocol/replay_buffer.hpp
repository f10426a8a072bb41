// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/ps/job/step.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The contributions of a worker that a shard may need again: for each step one block per shard. Contribution 0, the
/// custom initial values, stays permanently and does not count against the budget. Movable.
///
/// Threads: one at a time.
class ReplayBuffer {
 public:
  /// `initial`: contribution 0; empty: there is none. `budget_bytes` 0: only the newest contribution is kept.
  explicit ReplayBuffer(std::size_t budget_bytes, std::vector<SharedBuffer> initial = {})
      : budget_bytes_{budget_bytes}, initial_{std::move(initial)} {}

  /// Keeps the contribution of `step`, in place of an earlier one of the same step. With a budget of 0 drops all
  /// others.
  DISTRIB_DECL void keep(Step step, std::vector<SharedBuffer> blocks);

  /// Drops all contributions up to `step` inclusive, except contribution 0: every shard has them in a cut.
  void drop_through(Step step) {
    while (!steps_.empty() && steps_.begin()->first <= step) forget(steps_.begin());
  }

  /// Drops the oldest contributions until `full` is false. If a shard needs them later, all ranks must make them again.
  void make_room() {
    while (full()) drop_through(steps_.begin()->first);
  }

  /// Drops all contributions after `step`: they will be made again.
  void drop_after(Step step) {
    for (auto at = steps_.upper_bound(step); at != steps_.end();) forget(at++);
  }

  /// Drops all contributions except contribution 0.
  void clear() {
    while (!steps_.empty()) forget(steps_.begin());
  }

  /// Returns the bytes of the contributions that are kept, without contribution 0.
  [[nodiscard]] auto bytes() const noexcept -> std::size_t { return bytes_; }
  /// Returns how many contributions are kept, without contribution 0.
  [[nodiscard]] auto steps() const noexcept -> std::size_t { return steps_.size(); }
  /// True if the contribution of `step` is kept.
  [[nodiscard]] auto has(Step step) const -> bool { return step == 0 ? !initial_.empty() : steps_.contains(step); }
  /// Returns a shard's block of a contribution, which must be kept.
  [[nodiscard]] auto block(Step step, std::uint32_t shard) const -> const SharedBuffer& {
    return (step == 0 ? initial_ : steps_.at(step))[shard];
  }

  /// True if another contribution of the size of the last one would exceed the budget. Never true for an empty buffer,
  /// so one contribution may exceed the budget, and with a budget of 0.
  [[nodiscard]] auto full() const noexcept -> bool {
    return budget_bytes_ != 0 && !steps_.empty() && bytes_ + last_bytes_ > budget_bytes_;
  }

  /// True if another contribution of the size of the last one would exceed three quarters of the budget: time to ask
  /// for a cut.
  [[nodiscard]] auto filling() const noexcept -> bool {
    return budget_bytes_ != 0 && !steps_.empty() && bytes_ + last_bytes_ > budget_bytes_ / 4 * 3;
  }

 private:
  using Steps = std::map<Step, std::vector<SharedBuffer>>;

  // Reuses an idle entry and its vector: many small allocations that are freed at once keep the allocator busy.
  DISTRIB_DECL auto entry(Step step) -> std::vector<SharedBuffer>&;
  void forget(Steps::iterator at) {
    bytes_ -= size_bytes(at->second);
    at->second.clear();
    idle_.push_back(steps_.extract(at));
  }

  static auto size_bytes(const std::vector<SharedBuffer>& blocks) -> std::size_t {
    std::size_t bytes = 0;
    for (const SharedBuffer& block : blocks) bytes += block->size();
    return bytes;
  }

  std::size_t budget_bytes_;
  std::vector<SharedBuffer> initial_;
  std::size_t bytes_ = 0;
  std::size_t last_bytes_ = 0;
  Steps steps_;
  std::vector<Steps::node_type> idle_;  // unused entries
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/impl/replay_buffer.ipp>
#endif
