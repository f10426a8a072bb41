// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/data/order/error.hpp>
#include <distrib/data/order/order.hpp>
#include <distrib/data/order/permutation.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

// Each step is an Order over the order below it. "Errors" says what its `bind` reports, besides the errors of that
// order.

/// Every `count`-th element, beginning with element `index`: TensorFlow's shard.
///
/// Errors: `data_errc::bad_shard`.
template <Order Below> class ShardedOrder : public detail::StepsBelow<Below> {
 public:
  ShardedOrder(Below below, std::int64_t count, std::int64_t index)
      : below_{std::move(below)}, count_{count}, index_{index} {}

  template <class Data> void bind(Data& data, Error& error) {
    if (count_ <= 0 || index_ < 0 || index_ >= count_)
      error = {data_errc::bad_shard, "shard(" + std::to_string(count_) + ", " + std::to_string(index_) + ")"};
    else below_.bind(data, error);
  }
  [[nodiscard]] auto size() const noexcept -> std::uint64_t {
    const std::uint64_t all = below_.size();
    if (all == endless) return endless;
    return all <= index() ? 0 : (all - index() - 1) / count() + 1;
  }
  [[nodiscard]] auto at(std::uint64_t epoch, std::uint64_t position) -> std::uint64_t {
    return below_.at(epoch, position * count() + index());
  }
  [[nodiscard]] auto plain() const { return ShardedOrder<decltype(below_.plain())>{below_.plain(), count_, index_}; }
  [[nodiscard]] auto describe() const -> std::string {
    return below_.describe() + " shard=" + std::to_string(count_) + '/' + std::to_string(index_);
  }

 private:
  auto count() const noexcept -> std::uint64_t { return static_cast<std::uint64_t>(count_); }
  auto index() const noexcept -> std::uint64_t { return static_cast<std::uint64_t>(index_); }

  Below below_;
  std::int64_t count_;
  std::int64_t index_;
};

/// At most `count` elements, beginning with element `first`: take and skip.
template <Order Below> class PartOfOrder : public detail::StepsBelow<Below> {
 public:
  PartOfOrder(Below below, std::uint64_t first, std::uint64_t count)
      : below_{std::move(below)}, first_{first}, count_{count} {}

  template <class Data> void bind(Data& data, Error& error) { below_.bind(data, error); }
  [[nodiscard]] auto size() const noexcept -> std::uint64_t {
    const std::uint64_t all = below_.size();
    return std::min(count_, all == endless ? endless : all - std::min(all, first_));
  }
  [[nodiscard]] auto at(std::uint64_t epoch, std::uint64_t position) -> std::uint64_t {
    return below_.at(epoch, first_ + position);
  }
  [[nodiscard]] auto plain() const { return PartOfOrder<decltype(below_.plain())>{below_.plain(), first_, count_}; }
  [[nodiscard]] auto describe() const -> std::string {
    return below_.describe() + (first_ > 0 ? " skip=" + std::to_string(first_) : "") +
           (count_ < endless ? " take=" + std::to_string(count_) : "");
  }

 private:
  Below below_;
  std::uint64_t first_;
  std::uint64_t count_;
};

/// All elements, shuffled by a `Permutation` of (seed, epoch), so every epoch has another order.
///
/// Errors: `data_errc::no_end` if the elements never end.
template <Order Below> class ShuffledOrder : public detail::StepsBelow<Below> {
 public:
  static constexpr bool shuffles = true;

  ShuffledOrder(Below below, std::uint64_t seed) : below_{std::move(below)}, seed_{seed} {}

  template <class Data> void bind(Data& data, Error& error) {
    below_.bind(data, error);
    if (!error && below_.size() == endless) error = {data_errc::no_end, "shuffle(" + std::to_string(seed_) + ")"};
    permutation_ = Permutation{size(), seed_, epoch_ = 0};
  }
  [[nodiscard]] auto size() const noexcept -> std::uint64_t { return below_.size(); }
  [[nodiscard]] auto at(std::uint64_t epoch, std::uint64_t position) -> std::uint64_t {
    if (epoch != epoch_) permutation_ = Permutation{size(), seed_, epoch_ = epoch};
    return below_.at(epoch, permutation_(position));
  }
  [[nodiscard]] auto plain() const { return below_.plain(); }
  [[nodiscard]] auto describe() const -> std::string { return below_.describe() + " shuffle=" + std::to_string(seed_); }

 private:
  Below below_;
  std::uint64_t seed_;
  std::uint64_t epoch_ = 0;
  Permutation permutation_{0, 0, 0};  // the permutation of epoch_
};

/// All elements `count` times; each pass is an epoch of its own. `endless`: without end.
template <Order Below> class RepeatedOrder : public detail::StepsBelow<Below> {
 public:
  static constexpr bool repeats = true;

  RepeatedOrder(Below below, std::uint64_t count) : below_{std::move(below)}, count_{count} {}

  template <class Data> void bind(Data& data, Error& error) { below_.bind(data, error); }
  [[nodiscard]] auto size() const noexcept -> std::uint64_t {
    const std::uint64_t once = below_.size();
    std::uint64_t all = 0;
    return __builtin_mul_overflow(once, count_, &all) ? endless : all;
  }
  [[nodiscard]] auto at(std::uint64_t epoch, std::uint64_t position) -> std::uint64_t {
    const std::uint64_t once = below_.size();
    return below_.at(epoch * count_ + position / once, position % once);
  }
  [[nodiscard]] auto mixed_until(std::uint64_t position) const -> std::uint64_t {
    const std::uint64_t once = below_.size();
    const std::uint64_t end = distrib::mixed_until(below_, position % once);
    return end == endless ? endless : position / once * once + end;
  }
  [[nodiscard]] auto plain() const { return below_.plain(); }
  [[nodiscard]] auto describe() const -> std::string {
    return below_.describe() + " repeat=" + (count_ == endless ? "forever" : std::to_string(count_));
  }

 private:
  Below below_;
  std::uint64_t count_;
};

/// All elements in the first order, then all elements in the second one. Both orders are bound to the same data.
///
/// Errors: `data_errc::no_end` if the first order never ends.
template <Order First, Order Then> class ConcatenatedOrder : public detail::StepsBelow<First, Then> {
 public:
  ConcatenatedOrder(First first, Then then) : first_{std::move(first)}, then_{std::move(then)} {}

  template <class Data> void bind(Data& data, Error& error) {
    first_.bind(data, error);
    if (!error) then_.bind(data, error);
    if (!error && first_.size() == endless) error = {data_errc::no_end, "concatenate"};
  }
  [[nodiscard]] auto size() const noexcept -> std::uint64_t {
    std::uint64_t all = 0;
    return __builtin_add_overflow(first_.size(), then_.size(), &all) ? endless : all;
  }
  [[nodiscard]] auto at(std::uint64_t epoch, std::uint64_t position) -> std::uint64_t {
    const std::uint64_t first = first_.size();
    return position < first ? first_.at(epoch, position) : then_.at(epoch, position - first);
  }
  [[nodiscard]] auto plain() const {
    return ConcatenatedOrder<decltype(first_.plain()), decltype(then_.plain())>{first_.plain(), then_.plain()};
  }
  [[nodiscard]] auto describe() const -> std::string {
    return first_.describe() + " concatenate=(" + then_.describe() + " )";
  }

 private:
  First first_;
  Then then_;
};

}  // namespace v0
}  // namespace distrib
