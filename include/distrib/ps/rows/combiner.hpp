// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <cstdint>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// How the rows of a table that one row of ids looks up are combined, as in TensorFlow: the sum of weight * row,
/// divided by:
enum class Combiner : std::uint8_t {
  mean,  ///< The sum of the weights. The default, as in TensorFlow.
  sqrtn,  ///< The square root of the sum of the squared weights.
  sum,  ///< 1.
};

/// TensorFlow's name: "mean", "sqrtn", "sum".
[[nodiscard]] constexpr auto to_text(Combiner combiner) noexcept -> std::string_view {
  switch (combiner) {
    case Combiner::sqrtn: return "sqrtn";
    case Combiner::sum: return "sum";
    case Combiner::mean: break;
  }
  return "mean";
}

namespace detail {

/// The opposite of `to_text`. Fails with `ps_errc::unknown_combiner`.
[[nodiscard]] DISTRIB_DECL auto parse_combiner(std::string_view text, std::error_code& ec) noexcept -> Combiner;
/// The same, but throws `std::system_error`.
[[nodiscard]] DISTRIB_DECL auto parse_combiner(std::string_view text) -> Combiner;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/rows/impl/combiner.ipp>
#endif
