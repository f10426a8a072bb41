// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/rounded.hpp>

#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

namespace distrib {
inline namespace v0 {

/// A block that an updater keeps beside each variable, with one element for each element of the variable.
struct Slot {
  /// A constant text. In checkpoints the block is VARIABLE/NAME, with TensorFlow's names: "Adam_1".
  std::string_view name;
  float initial = 0.0F;  ///< Value of each element before the first update.
  bool begins_as_value = false;  ///< True: before the first update it is the variable itself, and `initial` is unused.

  [[nodiscard]] auto operator==(const Slot&) const noexcept -> bool = default;
};

/// The position of an update in the training.
struct UpdateStep {
  std::uint64_t count = 1;  ///< Number of this update, from 1. Schedules are functions of it.
  /// Updates before the slots had their first values. Not 0 only where slots begin anew during a training, as the
  /// worker's own do at each round of local steps.
  std::uint64_t before_slots = 0;
  /// By what the learning rate of this update is multiplied, whatever its schedule says: not 1 in a job whose ranks,
  /// and with them the rate, were changed while it ran. An updater with a learning rate passes it to `rate`.
  double rate_factor = 1;

  /// Returns the number of this update since the slots began, from 1. What corrects the beginning of a slot is a
  /// function of it, such as the powers of Adam's betas.
  [[nodiscard]] auto of_slots() const noexcept -> std::uint64_t { return count - before_slots; }
  /// Returns the learning rate of this update: `scheduled` times `rate_factor`, computed in double and rounded once.
  [[nodiscard]] auto rate(float scheduled) const noexcept -> float {
    using Real = detail::Rounded<double>;
    return static_cast<float>((Real{static_cast<double>(scheduled)} * Real{rate_factor}).value);
  }
};

/// Rows of a table that are updated in place. Each row is one piece of memory, [weights | slot 0 | slot 1 ...], with
/// `dim` floats in each part. No row occurs twice.
struct RowBatch {
  std::size_t dim = 0;  ///< Number of weights of a row.
  std::span<float* const> rows{};  ///< The rows; each pointer is to its first weight.
  std::span<const float> gradients{};  ///< `dim` elements for each row, in the order of `rows`.
};

namespace detail {

template <class U>
concept NamesItself = requires {
  { U::name } -> std::convertible_to<std::string_view>;
};

template <class U>
concept ListsSlots = requires(const U& updater) {
  std::tuple_size<decltype(updater.slots())>::value;
  requires std::same_as<decltype(updater.slots()), std::array<Slot, std::tuple_size_v<decltype(updater.slots())>>>;
};

template <class U>
concept DescribesItself = requires(const U& updater) {
  { updater.describe() } -> std::convertible_to<std::string>;
};

template <class U>
concept ParsesItself = requires(std::string_view text) {
  { U::parse(text) } -> std::convertible_to<std::optional<U>>;
};

template <class U>
concept AppliesGradients = requires(
    const U& updater, UpdateStep step, std::span<const float> gradient, std::span<const float> from,
    std::span<float> to, std::span<const std::span<float>> slots) { updater.apply(step, gradient, from, to, slots); };

template <class U>
concept UpdatesRows =
    requires(const U& updater, UpdateStep step, const RowBatch& batch) { updater.apply_rows(step, batch); };

template <class U>
concept SaysEveryRow = requires {
  { U::updates_every_row } -> std::convertible_to<bool>;
};

template <class U>
concept SaysScalesRate = requires {
  { U::scales_rate } -> std::convertible_to<bool>;
};

template <class U>
concept ChecksItself = requires(const U& updater, std::error_code& ec) { updater.check(ec); };

}  // namespace detail

/// How a gradient changes a variable. An updater is a regular value (default constructor, copies, `operator==`) with
/// - `static constexpr std::string_view name`: one word, by which a job names it;
/// - `slots() const -> std::array<Slot, N>`, empty if it keeps none;
/// - `describe() const -> std::string`: its hyper-parameters as canonical text, "key=value" separated by spaces: equal
///   texts mean equal updates;
/// - `static parse(std::string_view text) -> std::optional<U>`: the opposite of `describe()`, empty for any other text.
///   A parameter server makes the updater with it (`HyperParameters` reads such texts);
/// - `apply(UpdateStep step, std::span<const float> gradient, std::span<const float> from, std::span<float> to,
///   std::span<const std::span<float>> slots) const`: writes the new values of `from` to `to`, and changes `slots` in
///   place.
///
/// It may also have
/// - `apply_rows(UpdateStep step, const RowBatch& batch) const`: does the same as `apply` for each row, only faster;
/// - `updates_every_row`, a constant bool: true if an element also changes when its gradient is 0, so that in a table
///   all rows would have to be updated at each step. Such an updater is refused for tables;
/// - `scales_rate`, a constant bool: true if its learning rate is `step.rate(...)`, so that a factor of the rate, which
///   `distrib scale --rate` sets while a job runs, means for it what it says. Without it such factors are refused;
/// - `check(std::error_code& ec) const`: sets `ec`, to an `optimizer_errc`, if its hyper-parameters cannot be trained
///   with. An updater that lists its hyper-parameters in a static `fields` needs none for its learning rate:
///   `LearningRate::check` is called for it.
///
/// Semantics of `apply`: a pure function of its arguments, element by element, so that a variable that is cut into
/// parts gets the same values. All spans have the same length; `slots` is in the order of `slots()`; `from` and `to`
/// are the same memory or do not overlap.
///
/// Threads: any number of threads may call `apply` at once, on different memory.
template <class U>
concept Updater = std::regular<U> && detail::NamesItself<U> && detail::ListsSlots<U> && detail::DescribesItself<U> &&
                  detail::ParsesItself<U> && detail::AppliesGradients<U>;

namespace detail {

/// Number of slots of `U`.
template <Updater U>
inline constexpr std::size_t slot_count = std::tuple_size_v<decltype(std::declval<const U&>().slots())>;

/// True if a step changes all rows of a table, see `Updater`.
template <Updater U>
inline constexpr bool updates_every_row = [] {
  if constexpr (detail::SaysEveryRow<U>) return bool{U::updates_every_row};
  else return false;
}();

/// True if it multiplies its learning rate by `UpdateStep::rate_factor`, see `Updater`.
template <Updater U>
inline constexpr bool scales_rate = [] {
  if constexpr (detail::SaysScalesRate<U>) return bool{U::scales_rate};
  else return false;
}();

/// Updates rows of a table in place: with the updater's own `apply_rows`, or row by row.
template <Updater U> void apply_rows(const U& updater, UpdateStep step, const RowBatch& batch) {
  assert(batch.gradients.size() == batch.rows.size() * batch.dim);
  if constexpr (detail::UpdatesRows<U>) {
    updater.apply_rows(step, batch);
  } else {
    for (std::size_t i = 0; i < batch.rows.size(); ++i) {
      const std::span<float> weights{batch.rows[i], batch.dim};
      std::array<std::span<float>, slot_count<U>> slots;
      for (std::size_t slot = 0; slot < slots.size(); ++slot)
        slots[slot] = {batch.rows[i] + (slot + 1) * batch.dim, batch.dim};
      updater.apply(step, batch.gradients.subspan(i * batch.dim, batch.dim), weights, weights, slots);
    }
  }
}

/// Calls the `check` of each hyper-parameter that has one, until one sets `ec`.
struct FieldChecker {
  std::error_code& ec;

  template <class T> void operator()(std::string_view, const T& value) {
    if constexpr (ChecksItself<T>)
      if (!ec) value.check(ec);
  }
  template <class T> void optional(std::string_view key, const T& value, const T&) { (*this)(key, value); }
};

template <class U>
concept ListsFields = requires(const U& updater, FieldChecker& field) { U::fields(updater, field); };

/// Checks that an updater can be trained with: sets `ec` as the `check` of one of its hyper-parameters or its own does;
/// without a `check` every updater is good. The short form throws, with the updater's name and hyper-parameters.
template <Updater U> void check_updater(const U& updater, std::error_code& ec) {
  ec.clear();
  if constexpr (ListsFields<U>) {
    FieldChecker field{ec};
    U::fields(updater, field);
  }
  if constexpr (ChecksItself<U>)
    if (!ec) updater.check(ec);
}
template <Updater U> void check_updater(const U& updater) {
  std::error_code ec;
  check_updater(updater, ec);
  if (ec) throw_error(ec, std::string{U::name} + ' ' + updater.describe());
}

/// Fails to compile with one sentence for each thing that `U` lacks. Called by the unconstrained overloads of functions
/// that take an Updater.
template <class U> constexpr void explain_updater() {
  // Through bools: if static_assert sees the concept itself, the compiler adds a page of its own explanation.
  constexpr bool names_itself = NamesItself<U>;
  constexpr bool lists_slots = ListsSlots<U>;
  constexpr bool describes_itself = DescribesItself<U>;
  constexpr bool parses_itself = ParsesItself<U>;
  constexpr bool applies_gradients = AppliesGradients<U>;
  constexpr bool is_value = std::regular<U>;
  static_assert(names_itself, "distrib: an Updater needs static constexpr std::string_view name");
  static_assert(lists_slots, "distrib: an Updater needs slots() const that returns std::array<distrib::Slot, N>");
  static_assert(describes_itself, "distrib: an Updater needs describe() const that returns std::string");
  static_assert(parses_itself,
                "distrib: an Updater needs static parse(std::string_view) that returns std::optional of it, the "
                "opposite of describe()");
  static_assert(applies_gradients,
                "distrib: an Updater needs apply(UpdateStep, std::span<const float> gradient, std::span<const float> "
                "from, std::span<float> to, std::span<const std::span<float>> slots) const");
  static_assert(is_value, "distrib: an Updater is a value: give it a default constructor, copies and ==");
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
