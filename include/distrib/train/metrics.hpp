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

/// What an evaluation found: named means over a number of examples, and areas under ROC curves. A value.
struct Metrics {
  std::uint64_t examples = 0;
  std::vector<std::pair<std::string, double>> means =
      {};   ///< In the model's order: {"accuracy", 0.88}, {"loss", 0.33}.
  std::vector<std::pair<std::string, RocAuc>> areas = {};   ///< What is no mean: {"auc", RocAuc{}}, filled by `add`.

  [[nodiscard]] auto operator==(const Metrics&) const -> bool = default;

  /// A number for each name, means before areas: what hooks show and write.
  [[nodiscard]] auto values() const -> std::vector<std::pair<std::string, double>> {
    auto all = means;
    for (const auto& [name, area] : areas) all.emplace_back(name, area.value());
    return all;
  }

  /// The value called `name`, if there is one.
  [[nodiscard]] auto find(std::string_view name) const -> std::optional<double> {
    for (const auto& [known, value] : values())
      if (known == name) return value;
    return std::nullopt;
  }

  /// Joins the metrics of further examples: means weighted by the numbers of examples, counts of areas added. A mean
  /// that only one side has stays as it is, and counts for all examples from then on; models give every batch the same
  /// names.
  DISTRIB_DECL void merge(const Metrics& other);
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/metrics.ipp>
#endif
