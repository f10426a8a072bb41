// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/messages.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// A worker's own contributions that a shard might ask for again: for each step one block a shard. A value; threads:
/// one at a time.
class ReplayBuffer {
 public:
  explicit ReplayBuffer(std::size_t budget_bytes) : budget_bytes_{budget_bytes} {}

  /// Keeps the contribution of `step`, which takes the place of one made before; with a budget of 0 only this one.
  template <class = void> void keep(Step step, std::vector<SharedBuffer> blocks) {
    if (budget_bytes_ == 0) clear();
    last_bytes_ = 0;
    for (const SharedBuffer& block : blocks) last_bytes_ += block->size();
    bytes_ += last_bytes_;
    shards_ = blocks.size();
    const auto at = steps_.begin() + (find(step) - steps_.begin());
    const auto first = blocks_.begin() + blocks_before(at);
    if (at != steps_.end() && at->step == step) {
      bytes_ -= std::exchange(at->bytes, last_bytes_);
      std::move(blocks.begin(), blocks.end(), first);
      return;
    }
    blocks_.insert(first, std::make_move_iterator(blocks.begin()), std::make_move_iterator(blocks.end()));
    steps_.insert(at, {step, last_bytes_});
  }

  /// Forgets everything up to and with `step`: every shard has it in a cut.
  void drop_through(Step step) {
    while (!steps_.empty() && steps_.front().step <= step) {
      bytes_ -= steps_.front().bytes;
      steps_.pop_front();
      for (std::size_t shard = 0; shard < shards_; ++shard) blocks_.pop_front();
    }
  }

  /// Forgets the oldest until another one has room: whoever asks for them has everybody make them again.
  void make_room() {
    while (full()) drop_through(steps_.front().step);
  }

  /// Forgets everything after `step`: it will be made again.
  void drop_after(Step step) {
    while (!steps_.empty() && steps_.back().step > step) {
      bytes_ -= steps_.back().bytes;
      steps_.pop_back();
      for (std::size_t shard = 0; shard < shards_; ++shard) blocks_.pop_back();
    }
  }

  void clear() {
    steps_.clear();
    blocks_.clear();
    bytes_ = 0;
  }

  /// How many steps it keeps.
  [[nodiscard]] auto steps() const noexcept -> std::size_t { return steps_.size(); }
  [[nodiscard]] auto has(Step step) const -> bool {
    const auto at = find(step);
    return at != steps_.end() && at->step == step;
  }
  /// Of a step that it has.
  [[nodiscard]] auto block(Step step, std::uint32_t shard) const -> const SharedBuffer& {
    assert(has(step));
    return blocks_.begin()[blocks_before(find(step)) + shard];
  }

  /// Whether another contribution of the size of the last one would exceed the budget. An empty buffer is never full:
  /// one step may exceed the budget.
  [[nodiscard]] auto full() const noexcept -> bool {
    return budget_bytes_ != 0 && !steps_.empty() && bytes_ + last_bytes_ > budget_bytes_;
  }

  /// Whether three quarters of the budget are used, or half of it once `waited`: time to ask for a cut.
  [[nodiscard]] auto filling() const noexcept -> bool {
    return budget_bytes_ != 0 && !steps_.empty() && bytes_ + last_bytes_ > budget_bytes_ / 4 * (has_waited_ ? 2 : 3);
  }

  /// It was full before a cut had made room: cuts take longer than a quarter of it lasts.
  void waited() noexcept { has_waited_ = true; }

 private:
  struct Kept {
    Step step;
    std::size_t bytes;
  };

  // The first one that is not before `step`; most often all behind it are there.
  [[nodiscard]] auto find(Step step) const -> std::deque<Kept>::const_iterator {
    if (steps_.empty() || steps_.back().step < step) return steps_.end();
    const Step behind = steps_.back().step - step;
    if (behind < steps_.size() && (steps_.end() - 1 - static_cast<std::ptrdiff_t>(behind))->step == step)
      return steps_.end() - 1 - static_cast<std::ptrdiff_t>(behind);
    return std::ranges::lower_bound(steps_, step, {}, &Kept::step);
  }
  [[nodiscard]] auto blocks_before(std::deque<Kept>::const_iterator at) const -> std::ptrdiff_t {
    return (at - steps_.begin()) * static_cast<std::ptrdiff_t>(shards_);
  }

  std::size_t budget_bytes_;
  std::size_t bytes_ = 0;
  std::size_t last_bytes_ = 0;
  bool has_waited_ = false;
  // Nodes of a map, freed all at once by a cut, cost small contributions a twentieth of their speed.
  std::deque<Kept> steps_;           // ascending; some may be missing
  std::deque<SharedBuffer> blocks_;  // of each step, one a shard
  std::size_t shards_ = 0;
};

}  // namespace distrib::inline v0
