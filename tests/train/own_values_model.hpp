// SPDX-License-Identifier: Apache-2.0
// The line model with custom initial values, which cannot be described by a text.
#pragma once

#include <distrib/train/initial_values.hpp>

#include "train/line_model.hpp"

struct OwnValuesModel : LineModel {
  float first = 0.25F;  ///< Initial value of the first weight.

  auto variables() const -> Variables {
    return {{{2}, distrib::CustomInitializer{}}, {{}, distrib::ConstantInitializer{3}}};
  }

  void initial_values(distrib::InitialValues<Variables>& values) const {
    distrib::get<"weights">(values)(0) = first;
    distrib::get<"weights">(values)(1) = -0.75F;
    distrib::get<"bias">(values)() = 99;  // ignored: bias has another initializer
  }
};
