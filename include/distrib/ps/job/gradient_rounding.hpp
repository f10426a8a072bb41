// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/initializer.hpp>
#include <distrib/core/philox.hpp>
#include <distrib/ps/job/step.hpp>

#include <cstdint>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// The random numbers by which a worker rounds one contribution: a pure function of (seed, step, rank, element), so
/// that every process that makes the contribution rounds it alike, however variables are divided. A value.
class GradientRounding {
 public:
  constexpr GradientRounding() noexcept = default;
  constexpr GradientRounding(std::uint64_t seed, Step step, Rank rank) noexcept
      : random_{detail::mix_bits(detail::mix_bits(detail::mix_bits(seed) ^ step) ^ rank)} {}

  /// Of the elements of a variable, for `encode_int8`.
  [[nodiscard]] constexpr auto of_variable(std::string_view name) const noexcept -> std::uint64_t {
    return detail::mix_bits(random_ ^ detail::name_hash(name));
  }
  /// Of the elements of a table's row. `of_table`: what `of_variable` returns for the table.
  [[nodiscard]] static constexpr auto of_row(std::uint64_t of_table, std::uint64_t key) noexcept -> std::uint64_t {
    return detail::mix_bits(of_table ^ key);
  }

 private:
  std::uint64_t random_ = 0;
};

}  // namespace v0
}  // namespace distrib
