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

/// The order in which elements are used, computed without reading anything: any position can be asked for.
/// - `order.bind(data, error)`: binds the order to elements; `data.lengths()` is their number in each file. Called
///   once, before all other functions; it may fail.
/// - `order.at(epoch, position)`: returns the number of the element at `position < size()` in pass `epoch`, from 0. A
///   pure function, but an object may remember values that speed up the next call. So only one thread may use an
///   object; copy it for other threads.
/// - `order.size()`: returns the number of elements in one pass, or `endless`.
/// - `O::shuffles`, `O::repeats`, `O::forgives`: true if the order contains such a step; `forgives` stands for
///   `ignore_errors`.
/// - `order.plain()`: returns the same order without its shuffles and repetitions.
/// - `order.describe()`: returns " name=value" for each step. Equal orders return equal texts; an order without steps
///   returns an empty text.
/// - `order.mixed_until(position)`, if the order has it: returns the first position behind the elements that are mixed
///   with the one at `position`, and lie together; `endless`: no such group is known. Who reads ahead reads whole groups.
template <class O>
concept Order = std::copyable<O> && requires(O& order, const O& fixed, std::uint64_t n) {
  { order.at(n, n) } -> std::same_as<std::uint64_t>;
  { fixed.size() } -> std::same_as<std::uint64_t>;
  { fixed.plain().size() } -> std::same_as<std::uint64_t>;
  { fixed.describe() } -> std::convertible_to<std::string>;
  { O::shuffles || O::repeats || O::forgives } -> std::convertible_to<bool>;
};

namespace detail {

/// The default flags of an order: each is true if an order below it has that flag.
template <class... Below> struct StepsBelow {
  static constexpr bool shuffles = (Below::shuffles || ...);
  static constexpr bool repeats = (Below::repeats || ...);
  static constexpr bool forgives = (Below::forgives || ...);
};

}  // namespace detail

/// Returns `order.mixed_until(position)`; `endless` if the order has no such function.
template <Order O> [[nodiscard]] auto mixed_until(const O& order, std::uint64_t position) -> std::uint64_t {
  if constexpr (requires { order.mixed_until(position); }) return order.mixed_until(position);
  else return endless;
}

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
