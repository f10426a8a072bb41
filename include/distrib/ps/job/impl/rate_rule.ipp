// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/rate_rule.hpp>

#include <distrib/core/rounded.hpp>
#include <distrib/core/shortest_text.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto parse_rate_rule(std::string_view text) -> std::optional<RateRule> {
  if (text == "keep") return RateRule{};
  if (text == "linear") return RateRule{RateRule::Kind::linear};
  if (text == "sqrt") return RateRule{RateRule::Kind::sqrt};
  const auto factor = detail::parse_shortest<double>(text);
  return factor ? std::optional{RateRule{RateRule::Kind::fixed, *factor}} : std::nullopt;
}

DISTRIB_DECL auto rate_of(const RateRule& rule, const RankLog& log, Rank began_with, Step from, Rank ranks)
    -> RankRate {
  RankRate rate;
  Step left = rule.warm_up;
  if (from > 1) {
    const RankEntry& before = *log.entry_of(from - 1);
    const Step end = before.from + before.rate.steps;
    rate.from = before.factor_of(from);
    rate.to = before.rate.to;
    if (rule.kind == RateRule::Kind::keep) left = end > from ? end - from : 0;
  }
  using Real = detail::Rounded<double>;
  const Real more = began_with == 0 ? Real{0.0}  // unknown: no entry may have such a factor
                                    : Real{static_cast<double>(ranks)} / Real{static_cast<double>(began_with)};
  if (rule.kind == RateRule::Kind::linear) rate.to = more.value;
  if (rule.kind == RateRule::Kind::sqrt) rate.to = sqrt(more).value;
  if (rule.kind == RateRule::Kind::fixed) rate.to = rule.factor;
  rate.steps = rate.from == rate.to ? 0 : left;
  if (rate.steps == 0) rate.from = rate.to;
  return rate;
}

}  // namespace v0
}  // namespace distrib
