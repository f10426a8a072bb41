// SPDX-License-Identifier: Apache-2.0
// Compares an updater with the same update of one element, written with the operations of reference.hpp. All bits are
// equal, for blocks of any size, in place or not, in rows of any length, and with each set of instructions.
#pragma once

#include <distrib/optimizer/detail/kernels.hpp>
#include <distrib/optimizer/error.hpp>
#include <distrib/optimizer/updater.hpp>

#include "optimizer/reference.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <vector>

namespace reference {

/// The gradient with a weight decay of 0.2.
inline auto decayed(float g, float w) -> float { return plus(g, times(0.2F, w)); }

/// The factors of an update with that weight decay.
template <template <class> class Rule>
auto decaying(const Rule<float>& rule) {
  return typename distrib::detail::Decaying<Rule>::template Factors<float>{rule, 0.2F};
}

/// Every set of instructions that this machine has.
inline auto all_instructions() -> std::vector<distrib::detail::Instructions> {
  std::vector<distrib::detail::Instructions> all;
  for (int i = 0; i <= static_cast<int>(distrib::detail::best_instructions()); ++i)
    all.push_back(static_cast<distrib::detail::Instructions>(i));
  return all;
}

/// Compares one way of updating. `apply(count, gradient, from, to, slots)` updates a block, `apply_row(count, row,
/// gradient)` one row.
template <class U, class Next, class Apply, class ApplyRow>
void check_way(const U& updater, Next next, Apply apply, ApplyRow apply_row) {
  constexpr std::size_t n = distrib::detail::slot_count<U>;
  for (const std::size_t size : {0U, 1U, 2U, 3U, 4U, 5U, 7U, 8U, 9U, 15U, 16U, 17U, 31U, 33U, 1003U}) {
    CAPTURE(size);
    std::vector<float> expected = numbers(size, 2);
    std::vector<float> values = expected;
    std::vector<float> row(size * (n + 1));  // the same values as one row
    std::copy(values.begin(), values.end(), row.begin());
    std::array<std::vector<float>, n + 1> expected_slots;
    std::array<std::vector<float>, n + 1> slots;
    for (std::size_t i = 0; i < n; ++i) {
      slots[i] = expected_slots[i] = std::vector<float>(size, updater.slots()[i].initial);
      std::copy(slots[i].begin(), slots[i].end(), row.begin() + static_cast<std::ptrdiff_t>((i + 1) * size));
    }
    for (std::uint64_t count = 1; count <= 4; ++count) {
      CAPTURE(count);
      const std::vector<float> gradient = numbers(size, static_cast<std::uint32_t>(10 + count));
      for (std::size_t at = 0; at < size; ++at) {
        std::array<float, n + 1> kept{};
        for (std::size_t i = 0; i < n; ++i) kept[i] = expected_slots[i][at];
        next(count, gradient[at], expected[at], kept);
        for (std::size_t i = 0; i < n; ++i) expected_slots[i][at] = kept[i];
      }
      std::array<std::span<float>, n> spans;
      for (std::size_t i = 0; i < n; ++i) spans[i] = slots[i];
      std::vector<float> to(size, -7.0F);
      const bool in_place = count % 2 == 0;
      apply(count, gradient, values, in_place ? values : to, spans);
      if (!in_place) values = to;
      apply_row(count, row, gradient);

      CHECK(values == expected);
      for (std::size_t i = 0; i < n; ++i) CHECK(slots[i] == expected_slots[i]);
      std::vector<float> all = values;
      for (std::size_t i = 0; i < n; ++i) all.insert(all.end(), slots[i].begin(), slots[i].end());
      CHECK(row == all);
    }
  }
}

/// Compares `updater` with `next(count, gradient, weight, slots)`, which updates one element by the same rule. Also
/// runs the kernels with `factors(count)` and each set of instructions; the updater itself takes the widest set.
template <class U, class Next, class Factors>
void check_updater(const U& updater, Next next, Factors factors) {
  using Gradient = std::vector<float>;
  check_way(
      updater, next,
      [&](std::uint64_t count, const Gradient& gradient, const auto& from, auto& to, const auto& slots) {
        updater.apply({count}, gradient, from, to, slots);
      },
      [&](std::uint64_t count, auto& row, const Gradient& gradient) {
        float* const rows[] = {row.data()};
        distrib::detail::apply_rows(updater, {count}, {.dim = gradient.size(), .rows = rows, .gradients = gradient});
      });
  for (const distrib::detail::Instructions instructions : all_instructions()) {
    CAPTURE(static_cast<int>(instructions));
    check_way(
        updater, next,
        [&](std::uint64_t count, const Gradient& gradient, const auto& from, auto& to, const auto& slots) {
          distrib::detail::BlockUpdate block{
              gradient.data(), from.data(), to.data(), {to.data(), to.data(), to.data()}, to.size()};
          for (std::size_t i = 0; i < slots.size(); ++i) block.slots[i] = slots[i].data();
          distrib::detail::update_block(factors(count), block, instructions);
        },
        [&](std::uint64_t count, auto& row, const Gradient& gradient) {
          float* const rows[] = {row.data()};
          distrib::detail::update_rows(factors(count), {rows, gradient.data(), 1, gradient.size()}, instructions);
        });
  }
}

/// Checks that `parse` reads what `describe()` writes, and refuses other texts.
template <class U>
void check_texts(std::initializer_list<U> updaters) {
  for (const U& updater : updaters) CHECK(U::parse(updater.describe()) == updater);
  CHECK_FALSE(U::parse(""));
  CHECK_FALSE(U::parse(U{}.describe() + " more=1"));
  CHECK_FALSE(U::parse(U{}.describe() + " "));
}

/// Checks that a weight decay follows the other hyper-parameters if it is not 0, and is refused below 0.
template <class U>
void check_weight_decay_text() {
  U updater;
  updater.weight_decay = 0.25F;
  CHECK(updater.describe() == U{}.describe() + " weight_decay=0.25");
  CHECK(U::parse(updater.describe()) == updater);
  CHECK_FALSE(U::parse(U{}.describe() + " weight_decay=0"));
  std::error_code ec;
  distrib::detail::check_updater(updater, ec);
  CHECK_FALSE(ec);
  updater.weight_decay = -0.25F;
  distrib::detail::check_updater(updater, ec);
  CHECK(ec == distrib::optimizer_errc::negative);
}

/// The result of the updater's `check`.
template <class U>
auto checked(const U& updater) -> std::error_code {
  std::error_code ec;
  distrib::detail::check_updater(updater, ec);
  return ec;
}

}  // namespace reference
