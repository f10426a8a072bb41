// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/data/order/dataset_steps.hpp>
#include <distrib/data/order/order.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Numbers of things that the program stores itself, in an order that is built step by step: a pipeline over your own
/// data. Made by `elements`. A value; const access from any thread.
///
///     auto mine = elements(10).shard(3, 0).open();   // an Order: mine.size() == 4
///     for (std::uint64_t p = 0; p < mine.size(); ++p) use(things[mine.at(0, p)]);   // 0 3 6 9
template <Order O> class Elements : public DatasetSteps<Elements<O>> {
 public:
  using Element = std::uint64_t;

  /// Numbers the things of files with these `lengths`, one file after another, in this order. For `elements`, which
  /// makes it.
  Elements(std::vector<std::uint64_t> lengths, O order) : lengths_{std::move(lengths)}, order_{std::move(order)} {}

  /// Returns the order of the numbers.
  [[nodiscard]] auto order() const noexcept -> const O& { return order_; }

  /// Returns the same numbers in another order.
  template <Order Other> [[nodiscard]] auto with_order(Other order) const -> Elements<Other> {
    return {lengths_, std::move(order)};
  }

  /// Returns the order, bound to the numbers and ready for use.
  ///
  /// Errors: returns nothing and sets `to` to a `data_errc` that a step reports.
  [[nodiscard]] auto open(ErrorRef to) const -> std::optional<O> {
    detail::ErrorOut error{to};
    std::optional<O> bound = order_;
    Numbers numbers{lengths_};
    bound->bind(numbers, error);
    if (error) bound.reset();
    return bound;
  }

  /// This overload throws the error as `std::system_error`.
  [[nodiscard]] auto open() const -> O {
    Error error;
    return *detail::or_throw(open(error), error);
  }

 private:
  // The data that orders are bound to: each number is an element, and no element is damaged.
  struct Numbers {
    std::span<const std::uint64_t> all;
    auto lengths() const noexcept -> std::span<const std::uint64_t> { return all; }
    template <class Predicate> auto matches(Predicate& predicate, std::uint64_t number, Error&) const -> bool {
      return predicate(number);
    }
    void check(std::uint64_t, Error&) const noexcept {}
    void ignore(const Error&) const noexcept {}
    auto lost() const noexcept -> std::span<const Error> { return {}; }
  };

  std::vector<std::uint64_t> lengths_;
  O order_;
};

/// Returns a pipeline over the numbers 0 .. count - 1, in this order until a step such as `shuffle` is added. Reports
/// no errors; `open` does. `count` must not be negative (programmer error, which is not checked).
template <std::integral Count> [[nodiscard]] auto elements(Count count) -> Elements<WholeOrder> {
  return {{static_cast<std::uint64_t>(count)}, WholeOrder{}};
}

/// Returns a pipeline over the numbers of things that lie in several files or lists of these lengths: 0 .. s - 1, where
/// s is the sum of `lengths`, first those of the first file. For `interleave`, which takes from the files in turn;
/// without it the result is the same as `elements(s)`.
template <Order O = WholeOrder> [[nodiscard]] auto elements(std::vector<std::uint64_t> lengths) -> Elements<O> {
  return {std::move(lengths), O{}};
}

}  // namespace v0
}  // namespace distrib
