// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/ps/job/error.hpp>

#include <cstdint>
#include <string>
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

/// The opposite; fails with `ps_errc::unknown_combiner`.
[[nodiscard]] inline auto parse_combiner(std::string_view text, std::error_code& ec) noexcept -> Combiner {
  ec.clear();
  for (const Combiner combiner : {Combiner::mean, Combiner::sqrtn, Combiner::sum})
    if (text == to_text(combiner)) return combiner;
  ec = ps_errc::unknown_combiner;
  return Combiner::mean;
}
[[nodiscard]] inline auto parse_combiner(std::string_view text) -> Combiner {
  std::error_code ec;
  const Combiner combiner = parse_combiner(text, ec);
  if (ec) throw_error(ec, '"' + std::string{text} + '"');
  return combiner;
}

}  // namespace v0
}  // namespace distrib
