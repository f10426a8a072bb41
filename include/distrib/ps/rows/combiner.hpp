// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <cstdint>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// How the rows of a table that one row of ids looks up become one: the sum of weight * row, divided. TensorFlow's.
enum class Combiner : std::uint8_t {
  mean,   ///< By the sum of the weights. The default, as in TensorFlow.
  sqrtn,  ///< By the root of the sum of the squared weights.
  sum,    ///< By nothing.
};

/// TensorFlow's word for it: "mean", "sqrtn", "sum".
[[nodiscard]] constexpr auto to_text(Combiner combiner) noexcept -> std::string_view {
  switch (combiner) {
    case Combiner::sqrtn: return "sqrtn";
    case Combiner::sum: return "sum";
    case Combiner::mean: break;
  }
  return "mean";
}

namespace detail {

/// The opposite; fails with `ps_errc::unknown_combiner`.
[[nodiscard]] DISTRIB_DECL auto parse_combiner(std::string_view text, std::error_code& ec) noexcept -> Combiner;
[[nodiscard]] DISTRIB_DECL auto parse_combiner(std::string_view text) -> Combiner;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/rows/impl/combiner.ipp>
#endif
