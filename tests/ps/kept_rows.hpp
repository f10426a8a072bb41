// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/half.hpp>
#include <distrib/core/initializer.hpp>
#include <distrib/core/stochastic_rounding.hpp>
#include <distrib/core/table_info.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

/// Rounds the weights of a row as a table keeps them (`TableInfo::kept_as`), computed number by number. `random`: the
/// start of the random numbers of the row; none: rounds to nearest.
inline void round_as_kept(const distrib::TableInfo& table, std::span<float> weights,
                          std::optional<std::uint64_t> random = {}) {
  using namespace distrib;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    std::uint16_t of_element = 0;
    if (random)
      of_element =
          static_cast<std::uint16_t>(detail::mix_bits(*random + (i / 4 + 1) * 0x9E37'79B9'7F4A'7C15) >> 16 * (i % 4));
    float& weight = weights[i];
    if (table.kept_as == FloatFormat::bfloat16)
      weight = detail::from_bfloat16(random ? detail::ToBfloat16AtRandom::one(weight, of_element)
                                            : detail::to_bfloat16(weight));
    if (table.kept_as == FloatFormat::float16)
      weight = detail::from_float16(random ? detail::ToFloat16AtRandom::one(weight, of_element)
                                           : detail::to_float16(weight));
  }
}

/// Rounds as after the `count`-th update of the row of `key` in a job of this seed.
inline void round_updated(const distrib::TableInfo& table, std::uint64_t seed, std::uint64_t key, std::uint64_t count,
                          std::span<float> weights) {
  using distrib::detail::mix_bits;
  const std::uint64_t of_table = mix_bits(seed ^ mix_bits(distrib::detail::name_hash(table.name)));
  round_as_kept(table, weights, mix_bits(mix_bits(of_table ^ key) ^ count));
}
