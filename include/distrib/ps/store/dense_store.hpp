// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/optimizer/updater.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/store/block_pool.hpp>
#include <distrib/ps/store/cut.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The values of one shard's dense variables and counters, and their optimizer slots. An update is written into another
/// block and published by pointer, so a reader that holds an older block never sees it change. Only a block that no
/// reader holds is updated in place. Blocks that are no longer held are used again: no allocation in steady state.
///
/// The gaps of `ShardLayout` are zeros in each block that an update or `averages` publishes, whatever an updater makes
/// of the slots there. So stores with the same values publish the same bytes, which workers compare (`ReplicasDiffer`).
/// The slots in the gaps have no meaning: a cut that was read from files has other numbers there.
///
/// Threads: one at a time. Published blocks may be read on any thread; references to them must be passed back to the
/// store's thread, see `BlockPool`.
class DenseStore {
 public:
  /// Starts with `values`, a block of `layout`, and with slots at the updaters' initial values.
  DISTRIB_DECL DenseStore(const ShardLayout& layout, const JobUpdaters& updaters, AlignedBuffer values);

  /// Replaces the values and slots by the values and slots of a cut of the same layout.
  void load(const Cut& cut) {
    current_ = cut.values;
    for (std::size_t i = 0; i < slots_.size(); ++i) copy(*cut.slots[i], slots_[i]);
  }

  /// Replaces the values by `values`, a block of the layout. Slots stay, except those that begin as the values.
  void begin(SharedBuffer values) {
    current_ = std::move(values);
    begin_slots();
  }

  /// The current values. The block never changes: an update publishes another one.
  [[nodiscard]] auto values() const noexcept -> const SharedBuffer& { return current_; }
  /// Returns a new block with the moving average of each value in place of the value, and the counters as they are.
  /// Every updater must be `averaged`.
  [[nodiscard]] DISTRIB_DECL auto averages() const -> SharedBuffer;
  /// Size of a block of values, in bytes.
  [[nodiscard]] auto block_bytes() const noexcept -> std::size_t { return current_->size(); }

  /// Applies the `count`-th update (from 1) and publishes the result. Variables are updated by the mean of
  /// `contributions`, as `reduce_mean` computes it; to the counters each contribution is added, in order.
  /// `contributions` are whole blocks of the layout; at least one, unless the shard has no variables. `rate_factor`:
  /// see `UpdateStep`.
  DISTRIB_DECL void apply(std::uint64_t count, std::span<const ByteView> contributions, double rate_factor = 1);

  /// As `apply` of `number` contributions whose sum `sum_blocks` has computed.
  DISTRIB_DECL void apply_sum(std::uint64_t count, ByteView summed, std::size_t number, double rate_factor = 1);

  /// Returns a cut of the current state. The values are shared with the store; slots are copied, because the next
  /// update changes them in place.
  [[nodiscard]] DISTRIB_DECL auto cut(Step step, std::vector<Step> applied = {}) const -> Cut;

 private:
  /// A part of a counter.
  struct Counter {
    DType dtype;
    std::size_t offset_bytes;
    std::size_t size_bytes;
  };

  /// The elements that one updater updates, numbered as floats of the block.
  struct Group {
    AnyUpdater updater;
    std::size_t first;
    std::size_t size;
    std::vector<std::span<float>> slots;
  };

  /// Bytes of the block that belong to no part.
  struct Gap {
    std::size_t offset_bytes;
    std::size_t size_bytes;
  };

  static constexpr std::size_t mean_elements = 16'384;  // 64 KiB

  // Sets the gaps between trained parts to zero. An updater writes them too, because it works on a whole group.
  void clear_gaps(std::span<std::byte> block) const {
    for (const Gap& gap : gaps_) std::ranges::fill(block.subspan(gap.offset_bytes, gap.size_bytes), std::byte{0});
  }

  // Copies the values to the slots that begin as the values.
  DISTRIB_DECL void begin_slots();

  // `number`: how many contributions `contributions` are; more than there are blocks, if one block is their sum.
  DISTRIB_DECL void apply_number(UpdateStep step, std::span<const ByteView> contributions, std::size_t number);
  DISTRIB_DECL void update(const Group& group, UpdateStep step, std::span<const ByteView> contributions,
                           std::size_t number, std::span<float> next);

  /// Returns the mean of `size` elements from `first` on; with one contribution these elements themselves. Valid until
  /// the next call.
  DISTRIB_DECL auto mean_of(std::span<const ByteView> contributions, std::size_t number, std::size_t first,
                            std::size_t size) -> std::span<const float>;

  auto next_block() -> std::shared_ptr<AlignedBuffer> {
    // 3: held by the pool, `newest_` and `current_`, so by no reader
    const bool alone = newest_ == current_ && newest_.use_count() == 3;
    if (!alone) newest_ = blocks_.take();
    return newest_;
  }

  static void copy(const AlignedBuffer& from, AlignedBuffer& to) {
    std::copy(from.bytes().begin(), from.bytes().end(), to.bytes().begin());
  }

  BlockPool blocks_;
  std::shared_ptr<AlignedBuffer> newest_;  // the block that the last update wrote
  SharedBuffer current_;
  std::vector<AlignedBuffer> slots_;  // of all groups, one after the other
  std::vector<Group> groups_;
  std::vector<Counter> counters_;
  std::vector<Gap> gaps_;
  AlignedBuffer mean_;  // the mean of some elements
  std::vector<std::span<const float>> of_each_;  // this and `slots_at_` are members only to keep their capacity
  std::vector<std::span<float>> slots_at_;
};

/// Returns the bytes of memory that a store takes in steady state: three versions of the values, and the slots.
[[nodiscard]] inline auto store_bytes(const ShardLayout& layout, const JobUpdaters& updaters) -> std::uint64_t {
  std::uint64_t bytes = 3 * std::uint64_t{layout.block_bytes()};
  for (const ShardLayout::Group& group : layout.groups())
    bytes += std::uint64_t{group.size_bytes} * updaters[group.updater].slots().size();
  return bytes;
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/dense_store.ipp>
#endif
