// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace distrib::inline v0 {

/// A block that an updater keeps beside each variable, one element for each of the variable's.
struct Slot {
  std::string_view name;  ///< Checkpoints name it VARIABLE/NAME, in TensorFlow's words: "Momentum", "Adam_1".
  float initial = 0.0F;   ///< What each element is before the first update.
};

/// Where in the training an update stands.
struct UpdateStep {
  std::uint64_t count = 1;  ///< Number of this update, from 1. Schedules and powers are functions of it.
};

namespace detail {

template <class U>
concept NamesItself = requires {
  { U::name } -> std::convertible_to<std::string_view>;
};

template <class U>
concept ListsSlots = requires {
  { U::slots.size() } -> std::convertible_to<std::size_t>;
  requires std::convertible_to<decltype(U::slots), std::span<const Slot>>;
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
concept AppliesGradients =
    requires(const U& updater, UpdateStep step, std::span<const float> gradient, std::span<const float> from,
             std::span<float> to, std::span<const std::span<float>> slots) {
      updater.apply(step, gradient, from, to, slots);
    };

}  // namespace detail

/// How a gradient changes a variable: a value with
/// - `name`, a constant text, one word by which a job names it;
/// - `slots`, a constant std::array of `Slot`, empty when it keeps none;
/// - `describe()`, its hyper-parameters as canonical text, "key=value" joined by spaces: equal texts, equal updates;
/// - `parse(text)`, static: the opposite of describe(), a std::optional that is empty for every other text, by which a
///   parameter server makes it (`HyperParameters` reads such texts);
/// - `apply(step, gradient, from, to, slots) const`: writes to `to` what `from` becomes, and changes `slots` in place.
///
/// Semantics of apply: a pure function of its arguments, element by element, so that a variable cut into parts comes
/// out the same; spans are equally long, `slots` is in the order of `U::slots`; `from` and `to` are the same memory or
/// do not overlap. Threads: apply may be called from any number at once, on different memory.
template <class U>
concept Updater = std::regular<U> && detail::NamesItself<U> && detail::ListsSlots<U> && detail::DescribesItself<U> &&
                  detail::ParsesItself<U> && detail::AppliesGradients<U>;

namespace detail {

/// One sentence for each thing that `U` lacks; for the speaking twins of entry points that take an Updater.
template <class U>
constexpr void explain_updater() {
  // By way of bools: the compilers would follow a concept with a page of their own words.
  constexpr bool names_itself = NamesItself<U>;
  constexpr bool lists_slots = ListsSlots<U>;
  constexpr bool describes_itself = DescribesItself<U>;
  constexpr bool parses_itself = ParsesItself<U>;
  constexpr bool applies_gradients = AppliesGradients<U>;
  constexpr bool is_value = std::regular<U>;
  static_assert(names_itself, "distrib: an Updater needs static constexpr std::string_view name");
  static_assert(lists_slots, "distrib: an Updater needs static constexpr std::array<distrib::Slot, N> slots");
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

}  // namespace distrib::inline v0
