// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>

namespace distrib {
inline namespace v0 {

/// The size of an order that never ends.
inline constexpr std::uint64_t endless = std::numeric_limits<std::uint64_t>::max();

/// In which order elements come, as arithmetic: nothing is read, any position can be asked for.
/// - `order.bind(data, error)`: lays it over elements, `data.lengths()` of them in each file; once, before the rest;
/// - `order.at(epoch, position)`: the number of the element that comes at `position < size()` when the order is gone
///   through for the `epoch`-th time, from 0. A pure function; it may note what helps the next call, so an object is
///   asked by one thread at a time, and copied for others;
/// - `order.size()`: elements of one pass; `endless` when there is no end;
/// - `O::shuffles`, `O::repeats`, `O::forgives`: whether there is such a step, the latter by `ignore_errors`;
/// - `order.plain()`: the same without shuffles and repetitions;
/// - `order.describe()`: " name=value" of each step, equal for equal orders; empty when there is nothing to tell.
template <class O>
concept Order = std::copyable<O> && requires(O& order, const O& fixed, std::uint64_t n) {
  { order.at(n, n) } -> std::same_as<std::uint64_t>;
  { fixed.size() } -> std::same_as<std::uint64_t>;
  { fixed.plain().size() } -> std::same_as<std::uint64_t>;
  { fixed.describe() } -> std::convertible_to<std::string>;
  { O::shuffles || O::repeats || O::forgives } -> std::convertible_to<bool>;
};

namespace detail {

/// What an order says of itself, unless it says otherwise: that there is such a step below it.
template <class... Below> struct StepsBelow {
  static constexpr bool shuffles = (Below::shuffles || ...);
  static constexpr bool repeats = (Below::repeats || ...);
  static constexpr bool forgives = (Below::forgives || ...);
};

}  // namespace detail

/// All elements in the order they are stored, file after file.
class WholeOrder : public detail::StepsBelow<> {
 public:
  template <class Data> void bind(Data& data, Error&) {
    size_ = 0;
    for (const std::uint64_t length : data.lengths()) size_ += length;
  }
  [[nodiscard]] auto size() const noexcept -> std::uint64_t { return size_; }
  [[nodiscard]] auto at(std::uint64_t, std::uint64_t position) const noexcept -> std::uint64_t { return position; }
  [[nodiscard]] auto plain() const noexcept -> WholeOrder { return *this; }
  [[nodiscard]] auto describe() const -> std::string { return {}; }

 private:
  std::uint64_t size_ = 0;
};

}  // namespace v0
}  // namespace distrib
