// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <cstdint>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// How the table rows that the ids of one lookup row name are combined, as in TensorFlow: their sum, each multiplied by
/// its weight, divided by:
enum class Combiner : std::uint8_t {
  mean,  ///< The sum of the weights. The default, as in TensorFlow.
  sqrtn,  ///< The square root of the sum of the squared weights.
  sum,  ///< 1.
};

/// Returns TensorFlow's name: "mean", "sqrtn", "sum".
[[nodiscard]] constexpr auto to_text(Combiner combiner) noexcept -> std::string_view {
  switch (combiner) {
    case Combiner::sqrtn: return "sqrtn";
    case Combiner::sum: return "sum";
    case Combiner::mean: break;
  }
  return "mean";
}

namespace detail {

/// Returns the combiner for which `to_text` returns `text`. Fails with `ps_errc::unknown_combiner`; returns `mean`
/// then.
[[nodiscard]] DISTRIB_DECL auto parse_combiner(std::string_view text, std::error_code& ec) noexcept -> Combiner;
/// This overload throws the error as `std::system_error`.
[[nodiscard]] DISTRIB_DECL auto parse_combiner(std::string_view text) -> Combiner;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/rows/impl/combiner.ipp>
#endif
