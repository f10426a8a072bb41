// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/rounded.hpp>
#include <distrib/optimizer/any_updater.hpp>
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

/// Values of one shard's dense variables and counters, and optimizer slots. An update is applied out of place and
/// published by pointer, so whoever holds an older block never sees it change; a block that nobody else holds is updated
/// where it is. Blocks nobody holds any more are used again: no allocation in steady state.
///
/// Threads: one at a time; published blocks may be read from any, and come back as those of a `BlockPool`.
class DenseStore {
 public:
  /// Starts with `values`, a block of `layout`, slots at the updaters' initial values.
  DISTRIB_DECL DenseStore(const ShardLayout& layout, const JobUpdaters& updaters, AlignedBuffer values);

  /// Goes to the state of a cut of the same layout.
  void load(const Cut& cut) {
    current_ = cut.values;
    for (std::size_t i = 0; i < slots_.size(); ++i) copy(*cut.slots[i], slots_[i]);
  }

  /// Begins with other values, a block of the layout; slots stay as they are.
  void begin(SharedBuffer values) noexcept { current_ = std::move(values); }

  /// The values as they are now; the block never changes.
  [[nodiscard]] auto values() const noexcept -> const SharedBuffer& { return current_; }
  [[nodiscard]] auto block_bytes() const noexcept -> std::size_t { return current_->size(); }

  /// Applies the `count`-th update (from 1) and publishes the result: by the mean of `contributions`, whole blocks of the
  /// layout, one at least, to all that is trained, as `reduce_mean` gives it. To the counters each is added, in order.
  DISTRIB_DECL void apply(std::uint64_t count, std::span<const ByteView> contributions);

  /// A cut of this moment. Values are shared, slots are copied, because the next update changes them in place.
  [[nodiscard]] DISTRIB_DECL auto cut(Step step, std::vector<Step> applied = {}) const -> Cut;

 private:
  /// A part of a counter. Each addition is rounded by itself, so that bits follow from the order alone.
  struct Counter {
    using Double = detail::Rounded<double>;
    DType dtype;
    std::size_t offset_bytes;
    std::size_t size_bytes;

    DISTRIB_DECL void add(ByteView contribution, std::span<std::byte> to) const;
  };

  /// The elements that one updater updates.
  struct Group {
    AnyUpdater updater;
    std::size_t first;
    std::size_t size;
    std::vector<std::span<float>> slots;
  };

  static constexpr std::size_t mean_elements = 16'384;  // 64 KiB

  DISTRIB_DECL void update(const Group& group, std::uint64_t count, std::span<const ByteView> contributions,
                           std::span<float> next);

  /// Of these elements; of one contribution they are what is asked for.
  DISTRIB_DECL auto mean_of(std::span<const ByteView> contributions, std::size_t first, std::size_t size)
      -> std::span<const float>;

  auto next_block() -> std::shared_ptr<AlignedBuffer> {
    const bool alone = newest_ == current_ && newest_.use_count() == 3;  // the pool has it, and we have it twice
    if (!alone) newest_ = blocks_.take();
    return newest_;
  }

  static void copy(const AlignedBuffer& from, AlignedBuffer& to) {
    std::copy(from.bytes().begin(), from.bytes().end(), to.bytes().begin());
  }

  BlockPool blocks_;
  std::shared_ptr<AlignedBuffer> newest_;  // that an update wrote
  SharedBuffer current_;
  std::vector<AlignedBuffer> slots_;  // group by group
  std::vector<Group> groups_;
  std::vector<Counter> counters_;
  AlignedBuffer mean_;  // of some elements
  std::vector<std::span<const float>> of_each_;  // these two are kept for their capacity
  std::vector<std::span<float>> slots_at_;
};

/// Memory that a store takes in steady state, in bytes: three versions of the values, and the slots.
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
