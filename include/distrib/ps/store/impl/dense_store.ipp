// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/store/dense_store.hpp>

#include <distrib/optimizer/reduce.hpp>
#include <distrib/optimizer/updater.hpp>
#include <distrib/ps/store/sum_blocks.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL DenseStore::DenseStore(const ShardLayout& layout, const JobUpdaters& updaters, AlignedBuffer values)
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
  for (const ShardLayout::Entry& entry : layout.trained())
    if (const std::size_t gap = detail::aligned_size(entry.size_bytes) - entry.size_bytes; gap != 0)
      gaps_.push_back({entry.offset_bytes + entry.size_bytes, gap});
  auto slot = slots_.begin();
  for (Group& group : groups_)
    for (std::size_t i = 0; i < group.updater.slots().size(); ++i) group.slots.push_back((slot++)->as<float>());
  begin_slots();
}

DISTRIB_DECL void DenseStore::begin_slots() {
  for (const Group& group : groups_)
    for (std::size_t i = 0; i < group.slots.size(); ++i)
      if (group.updater.slots()[i].begins_as_value)
        std::ranges::copy(current_->as<float>().subspan(group.first, group.size), group.slots[i].begin());
}

DISTRIB_DECL auto DenseStore::averages() const -> SharedBuffer {
  auto block = std::make_shared<AlignedBuffer>(current_->size());
  copy(*current_, *block);
  for (const Group& group : groups_)
    std::ranges::copy(group.slots.back(), block->as<float>().subspan(group.first).begin());
  clear_gaps(block->bytes());
  return block;
}

DISTRIB_DECL void DenseStore::apply(std::uint64_t count, std::span<const ByteView> contributions, double rate_factor) {
  apply_number({.count = count, .rate_factor = rate_factor}, contributions, contributions.size());
}

DISTRIB_DECL void DenseStore::apply_sum(std::uint64_t count, ByteView summed, std::size_t number, double rate_factor) {
  apply_number({.count = count, .rate_factor = rate_factor}, std::span{&summed, 1}, number);
}

DISTRIB_DECL void DenseStore::apply_number(UpdateStep step, std::span<const ByteView> contributions,
                                           std::size_t number) {
  const std::shared_ptr<AlignedBuffer> next = next_block();
  for (const Group& group : groups_) update(group, step, contributions, number, next->as<float>());
  clear_gaps(next->bytes());
  for (const Counter& counter : counters_) {
    if (next != current_)
      std::copy_n(current_->data() + counter.offset_bytes, counter.size_bytes, next->data() + counter.offset_bytes);
    for (const ByteView contribution : contributions)
      detail::add_counter(counter.dtype, contribution.subspan(counter.offset_bytes, counter.size_bytes),
                          next->bytes().subspan(counter.offset_bytes));
  }
  current_ = next;
}

DISTRIB_DECL auto DenseStore::cut(Step step, std::vector<Step> applied) const -> Cut {
  Cut made{step, current_, {}, std::move(applied)};
  for (const AlignedBuffer& slot : slots_) {
    auto kept = std::make_shared<AlignedBuffer>(slot.size());
    copy(slot, *kept);
    made.slots.push_back(std::move(kept));
  }
  return made;
}

// Works in pieces, so that the mean is still in the cache when the updater reads it.
DISTRIB_DECL void DenseStore::update(const Group& group, UpdateStep step, std::span<const ByteView> contributions,
                                     std::size_t number, std::span<float> next) {
  const std::size_t piece = number == 1 ? group.size : mean_elements;
  for (std::size_t done = 0; done < group.size; done += piece) {
    const std::size_t first = group.first + done;
    const std::size_t size = std::min(piece, group.size - done);
    slots_at_.clear();
    for (const std::span<float> slot : group.slots) slots_at_.push_back(slot.subspan(done, size));
    group.updater.apply(step, mean_of(contributions, number, first, size), current_->as<float>().subspan(first, size),
                        next.subspan(first, size), slots_at_);
  }
}

DISTRIB_DECL auto DenseStore::mean_of(std::span<const ByteView> contributions, std::size_t number, std::size_t first,
                                      std::size_t size) -> std::span<const float> {
  of_each_.clear();
  for (const ByteView one : contributions)
    of_each_.push_back({reinterpret_cast<const float*>(one.data()) + first, size});
  if (number == 1) return of_each_.front();
  mean_.resize(mean_elements * sizeof(float));
  const std::span<float> mean = mean_.as<float>().first(size);
  if (number == of_each_.size()) reduce_mean(of_each_, mean);
  else mean_of_sum(of_each_.front(), number, mean);
  return mean;
}

}  // namespace v0
}  // namespace distrib
