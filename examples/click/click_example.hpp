// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/example/schema.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

/// One record: was an advertisement clicked on? It has the columns of Criteo's data sets of display advertising.
struct ClickExample {
  static constexpr std::size_t numbers_count = 13, categories_count = 26;

  std::int64_t label = 0;                                   ///< 1: it was clicked on.
  std::array<float, numbers_count> numbers{};               ///< Mostly counts; -1: missing.
  std::array<std::int64_t, categories_count> categories{};  ///< Tokens of 32 bits; -1: missing.

  auto operator==(const ClickExample&) const -> bool = default;
};

/// The features of a ClickExample in a tf.train.Example.
inline constexpr auto label_feature = distrib::feature("label", &ClickExample::label);
inline constexpr auto numbers_feature = distrib::feature("numbers", &ClickExample::numbers);
inline constexpr auto categories_feature = distrib::feature("categories", &ClickExample::categories);
