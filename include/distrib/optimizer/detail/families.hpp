// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/detail/factors.hpp>
#include <distrib/optimizer/updater.hpp>

// What the updaters of one family share, beside the kernels.
namespace distrib {
inline namespace v0 {
namespace detail {

/// The `fields` of Adam and the updaters derived from it.
void adam_fields(auto& self, auto& field) {
  field("learning_rate", self.learning_rate);
  field("beta1", self.beta1);
  field("beta2", self.beta2);
  field("epsilon", self.epsilon);
}

/// Returns the factors of update `step` of Adam or an updater derived from it; `more`: its further factors.
template <class Factors> [[nodiscard]] auto adam_factors(const auto& self, UpdateStep step, auto... more) noexcept
    -> Factors {
  const float alpha = adam_alpha(step.rate(self.learning_rate.at(step.count)), power(self.beta1, step.of_slots()),
                                 power(self.beta2, step.of_slots()));
  return {alpha, blend(self.beta1), blend(self.beta2), self.epsilon, more...};
}

/// The `fields` of both RMSProps.
void rmsprop_fields(auto& self, auto& field) {
  field("learning_rate", self.learning_rate);
  field("decay", self.decay);
  field("momentum", self.momentum);
  field("epsilon", self.epsilon);
}

/// Returns the factors of update `step` of either RMSProp.
template <class Factors> [[nodiscard]] auto rmsprop_factors(const auto& self, UpdateStep step) noexcept -> Factors {
  return {step.rate(self.learning_rate.at(step.count)), blend(self.decay), self.momentum, self.epsilon};
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
