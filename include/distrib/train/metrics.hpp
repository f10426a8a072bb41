// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/train/roc_auc.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The result of an evaluation: named means over a number of examples, and areas under ROC curves. A value. A model's
/// `evaluate()` returns the means over the examples of its batch; `merge` weights them by the numbers of examples.
struct Metrics {
  std::uint64_t examples = 0;  ///< Number of examples that were evaluated.
  /// In the model's order: {"accuracy", 0.88}, {"loss", 0.33}.
  std::vector<std::pair<std::string, double>> means = {};
  /// Measures that are not means over the examples: {"auc", RocAuc{}}, filled by `add`.
  std::vector<std::pair<std::string, RocAuc>> areas = {};

  [[nodiscard]] auto operator==(const Metrics&) const -> bool = default;

  /// Returns a number for each name, means before areas. Hooks show and write these.
  [[nodiscard]] auto values() const -> std::vector<std::pair<std::string, double>> {
    auto all = means;
    for (const auto& [name, area] : areas) all.emplace_back(name, area.value());
    return all;
  }

  /// Returns the value with this name, or an empty optional.
  [[nodiscard]] auto find(std::string_view name) const -> std::optional<double> {
    for (const auto& [known, value] : values())
      if (known == name) return value;
    return std::nullopt;
  }

  /// Adds the metrics of further examples: means are weighted by the numbers of examples, and left out if
  /// `other.examples` is 0; counts of areas are added. Trap: a mean that only one side has stays as it is, and from
  /// then on counts for all examples; so a model must report the same names for every batch.
  DISTRIB_DECL void merge(const Metrics& other);
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/metrics.ipp>
#endif
