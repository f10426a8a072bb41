// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/rounded.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/optimizer/reduce.hpp>
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

/// Values of one shard's dense variables and counters, and optimizer slots. An update is applied out of place and
/// published by pointer, so whoever holds an older block never sees it change; a block that nobody else holds is updated
/// where it is. Blocks nobody holds any more are used again: no allocation in steady state.
///
/// Threads: one at a time; published blocks may be read from any, and come back as those of a `BlockPool`.
class DenseStore {
 public:
  /// Starts with `values`, a block of `layout`, slots at the updaters' initial values.
  template <class = void>
  DenseStore(const ShardLayout& layout, const JobUpdaters& updaters, AlignedBuffer values)
      : blocks_{values.size()}, current_{std::make_shared<const AlignedBuffer>(std::move(values))} {
    for (const ShardLayout::Group& group : layout.groups()) {
      const AnyUpdater& updater = updaters[group.updater];
      for (const Slot& slot : updater.slots()) {
        const auto elements = slots_.emplace_back(group.size_bytes).as<float>();
        std::fill(elements.begin(), elements.end(), slot.initial);
      }
      groups_.push_back({updater, group.offset_bytes / sizeof(float), group.size_bytes / sizeof(float), {}});
    }
    for (const ShardLayout::Entry& entry : layout.counters())
      counters_.push_back({entry.dtype, entry.offset_bytes, entry.size_bytes});
    auto slot = slots_.begin();
    for (Group& group : groups_)
      for (std::size_t i = 0; i < group.updater.slots().size(); ++i) group.slots.push_back((slot++)->as<float>());
  }

  /// Goes to the state of a cut of the same layout.
  template <class = void> void load(const Cut& cut) {
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
  template <class = void> void apply(std::uint64_t count, std::span<const ByteView> contributions) {
    const std::shared_ptr<AlignedBuffer> next = next_block();
    for (const Group& group : groups_) update(group, count, contributions, next->as<float>());
    for (const Counter& counter : counters_) {
      if (next != current_)
        std::copy_n(current_->data() + counter.offset_bytes, counter.size_bytes, next->data() + counter.offset_bytes);
      for (const ByteView contribution : contributions) counter.add(contribution, next->bytes());
    }
    current_ = next;
  }

  /// A cut of this moment. Values are shared, slots are copied, because the next update changes them in place.
  template <class = void> [[nodiscard]] auto cut(Step step, std::vector<Step> applied = {}) const -> Cut {
    Cut made{step, current_, {}, std::move(applied)};
    for (const AlignedBuffer& slot : slots_) {
      auto kept = std::make_shared<AlignedBuffer>(slot.size());
      copy(slot, *kept);
      made.slots.push_back(std::move(kept));
    }
    return made;
  }

 private:
  /// A part of a counter. Each addition is rounded by itself, so that bits follow from the order alone.
  struct Counter {
    using Double = detail::Rounded<double>;
    DType dtype;
    std::size_t offset_bytes;
    std::size_t size_bytes;

    template <class = void> void add(ByteView contribution, std::span<std::byte> to) const {
      const std::byte* const from = contribution.data() + offset_bytes;
      std::byte* const sums = to.data() + offset_bytes;
      for (std::size_t at = 0; at < size_bytes; at += sizeof(std::uint64_t))
        if (dtype == DType::int64)
          store_le(sums + at, load_le<std::uint64_t>(sums + at) + load_le<std::uint64_t>(from + at));
        else store_le(sums + at, (Double{load_le<double>(sums + at)} + Double{load_le<double>(from + at)}).value);
    }
  };

  /// The elements that one updater updates.
  struct Group {
    AnyUpdater updater;
    std::size_t first;
    std::size_t size;
    std::vector<std::span<float>> slots;
  };

  static constexpr std::size_t mean_elements = 16'384;  // 64 KiB

  // In pieces, so that the mean is still in the cache when the updater reads it.
  template <class = void>
  void update(const Group& group, std::uint64_t count, std::span<const ByteView> contributions, std::span<float> next) {
    const std::size_t piece = contributions.size() == 1 ? group.size : mean_elements;
    for (std::size_t done = 0; done < group.size; done += piece) {
      const std::size_t first = group.first + done;
      const std::size_t size = std::min(piece, group.size - done);
      slots_at_.clear();
      for (const std::span<float> slot : group.slots) slots_at_.push_back(slot.subspan(done, size));
      group.updater.apply(UpdateStep{count}, mean_of(contributions, first, size),
                          current_->as<float>().subspan(first, size), next.subspan(first, size), slots_at_);
    }
  }

  /// Of these elements; of one contribution they are what is asked for.
  template <class = void>
  auto mean_of(std::span<const ByteView> contributions, std::size_t first, std::size_t size) -> std::span<const float> {
    of_each_.clear();
    for (const ByteView one : contributions)
      of_each_.push_back({reinterpret_cast<const float*>(one.data()) + first, size});
    if (of_each_.size() == 1) return of_each_.front();
    mean_.resize(mean_elements * sizeof(float));
    const std::span<float> mean = mean_.as<float>().first(size);
    reduce_mean(of_each_, mean);
    return mean;
  }

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
template <class = void>
[[nodiscard]] inline auto store_bytes(const ShardLayout& layout, const JobUpdaters& updaters) -> std::uint64_t {
  std::uint64_t bytes = 3 * std::uint64_t{layout.block_bytes()};
  for (const ShardLayout::Group& group : layout.groups())
    bytes += std::uint64_t{group.size_bytes} * updaters[group.updater].slots().size();
  return bytes;
}

}  // namespace v0
}  // namespace distrib
