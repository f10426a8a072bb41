// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/rows/combiner.hpp>

#include <distrib/core/error.hpp>
#include <distrib/ps/job/error.hpp>

#include <string>

namespace distrib {
inline namespace v0 {

namespace detail {

DISTRIB_DECL auto parse_combiner(std::string_view text, std::error_code& ec) noexcept -> Combiner {
  ec.clear();
  for (const Combiner combiner : {Combiner::mean, Combiner::sqrtn, Combiner::sum})
    if (text == to_text(combiner)) return combiner;
  ec = ps_errc::unknown_combiner;
  return Combiner::mean;
}

DISTRIB_DECL auto parse_combiner(std::string_view text) -> Combiner {
  std::error_code ec;
  const Combiner combiner = parse_combiner(text, ec);
  if (ec) throw_error(ec, '"' + std::string{text} + '"');
  return combiner;
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
