// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// What an evaluation found: named means over a number of examples. A value.
struct Metrics {
  std::uint64_t examples = 0;
  std::vector<std::pair<std::string, double>> means;  ///< In the model's order: {"accuracy", 0.88}, {"loss", 0.33}.

  [[nodiscard]] auto operator==(const Metrics&) const -> bool = default;

  /// The mean called `name`, if there is one.
  [[nodiscard]] auto find(std::string_view name) const -> std::optional<double> {
    for (const auto& [known, mean] : means)
      if (known == name) return mean;
    return std::nullopt;
  }

  /// Joins the metrics of further examples: means weighted by the numbers of examples. A mean that only one side has
  /// counts as if the other side had no examples for it only when that side has none at all; models give every batch
  /// the same names.
  void merge(const Metrics& other) {
    const auto total = static_cast<double>(examples + other.examples);
    if (other.examples == 0) return;
    for (const auto& [name, mean] : other.means) {
      bool known = false;
      for (auto& [own_name, own] : means) {
        if (own_name != name) continue;
        own = (own * static_cast<double>(examples) + mean * static_cast<double>(other.examples)) / total;
        known = true;
      }
      if (!known) means.emplace_back(name, mean);
    }
    examples += other.examples;
  }
};

}  // namespace distrib::inline v0
