// SPDX-License-Identifier: Apache-2.0
// The line model, which counts how often it is asked, brings an updater and describes its arithmetic.
#pragma once

#include <distrib/optimizer/sgd.hpp>
#include <distrib/train/initial_values.hpp>
#include <distrib/train/model_updaters.hpp>

#include "train/line_model.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

struct Asked {
  std::atomic<int> variables = 0, updaters = 0, arithmetic = 0, initial_values = 0;
  [[nodiscard]] auto sum() const -> int { return variables + updaters + arithmetic + initial_values; }
};

struct AskedModel : LineModel {
  std::shared_ptr<Asked> asked = std::make_shared<Asked>();
  std::string arithmetic = {};
  distrib::ModelUpdaters brings = {{"bias", distrib::Sgd{.learning_rate = 0.05F}}};

  auto variables() const -> Variables {
    ++asked->variables;
    return {{{2}, distrib::CustomInitializer{}}, {{}}};
  }
  auto updaters() const -> distrib::ModelUpdaters {
    ++asked->updaters;
    return brings;
  }
  auto describe() const -> std::string {
    ++asked->arithmetic;
    return arithmetic;
  }
  void initial_values(distrib::InitialValues<Variables>& values, std::uint64_t seed) const {
    ++asked->initial_values;
    distrib::get<"weights">(values)(0) = static_cast<float>(seed);
    distrib::get<"weights">(values)(1) = 0.25F;
  }
};
