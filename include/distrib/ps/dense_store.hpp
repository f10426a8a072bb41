// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/optimizer/updater.hpp>
#include <distrib/ps/block_pool.hpp>
#include <distrib/ps/shard_action.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// Values and optimizer slots of one shard's dense variables. Each update is applied out of place and published by
/// pointer, so whoever holds an older block never sees it change. Blocks nobody holds any more are used again: no
/// allocation in steady state. Threads: one at a time; published blocks may be read from any.
template <Updater U>
class DenseStore {
 public:
  /// Starts with `values`, slots at the updater's initial values.
  DenseStore(U updater, AlignedBuffer values)
      : updater_{std::move(updater)}, blocks_{values.size()},
        current_{std::make_shared<const AlignedBuffer>(std::move(values))} {
    for (const auto& slot : U::slots) {
      const auto elements = slots_.emplace_back(current_->size()).template as<float>();
      std::fill(elements.begin(), elements.end(), slot.initial);
    }
  }

  /// Goes to the state of a cut of the same layout.
  void load(const Cut& cut) {
    current_ = cut.values;
    for (std::size_t i = 0; i < slots_.size(); ++i) copy(*cut.slots[i], slots_[i]);
  }

  /// The values as they are now; the block never changes.
  [[nodiscard]] auto values() const noexcept -> const SharedBuffer& { return current_; }
  [[nodiscard]] auto block_bytes() const noexcept -> std::size_t { return current_->size(); }
  [[nodiscard]] auto updater() const noexcept -> const U& { return updater_; }

  /// Applies the `count`-th update (from 1) and publishes the result.
  void apply(std::uint64_t count, std::span<const float> gradient) {
    const std::shared_ptr<AlignedBuffer> next = blocks_.take();
    std::array<std::span<float>, U::slots.size()> slots;
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = slots_[i].template as<float>();
    updater_.apply(UpdateStep{count}, gradient, current_->as<float>(), next->as<float>(), slots);
    current_ = next;
  }

  /// A cut of this moment. Values are shared, slots are copied, because the next update changes them in place.
  [[nodiscard]] auto cut(Step step, std::vector<Step> applied = {}) const -> Cut {
    Cut made{step, current_, {}, std::move(applied)};
    for (const AlignedBuffer& slot : slots_) {
      auto kept = std::make_shared<AlignedBuffer>(slot.size());
      copy(slot, *kept);
      made.slots.push_back(std::move(kept));
    }
    return made;
  }

 private:
  static void copy(const AlignedBuffer& from, AlignedBuffer& to) {
    std::copy(from.bytes().begin(), from.bytes().end(), to.bytes().begin());
  }

  U updater_;
  BlockPool blocks_;
  SharedBuffer current_;
  std::vector<AlignedBuffer> slots_;
};

}  // namespace distrib::inline v0
