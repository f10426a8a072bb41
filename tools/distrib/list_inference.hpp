// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/example/infer_schema.hpp>
#include <distrib/example/sequence_example_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>

namespace tools {

/// What is known about one feature list of the records of a file.
struct InferredList {
  std::uint64_t records = 0;  ///< Number of records that have the list.
  std::size_t fewest_steps = std::numeric_limits<std::size_t>::max();
  std::size_t most_steps = 0;
  distrib::InferredFeature steps;  ///< Of all steps; its `records` counts steps.
};

/// Infers the feature lists of SequenceExamples, one record after the other. Memory grows with the number of different
/// names, up to the limit of `SchemaInference`; names beyond it are ignored.
class ListInference {
 public:
  void add(const distrib::SequenceExampleView& sequence) {
    std::map<std::string_view, distrib::FeatureListView> lists;  // of lists with equal names the last one counts
    sequence.for_each_list([&](const distrib::FeatureListView& list) { lists.insert_or_assign(list.name(), list); });
    for (const auto& [name, list] : lists) {
      auto place = lists_.find(name);
      if (place == lists_.end() && lists_.size() == distrib::SchemaInference::most_features) continue;
      if (place == lists_.end()) place = lists_.emplace(std::string{name}, InferredList{}).first;
      see(place->second, list);
    }
  }

  /// Returns the lists so far, by name.
  [[nodiscard]] auto lists() const noexcept -> const std::map<std::string, InferredList, std::less<>>& {
    return lists_;
  }

 private:
  static void see(InferredList& to, const distrib::FeatureListView& list) {
    ++to.records;
    to.fewest_steps = std::min(to.fewest_steps, list.size());
    to.most_steps = std::max(to.most_steps, list.size());
    list.for_each([&to](const distrib::FeatureView& step) {
      ++to.steps.records[static_cast<std::size_t>(step.kind())];
      if (step.kind() == distrib::FeatureKind::none) return;
      to.steps.fewest = std::min(to.steps.fewest, step.size());
      to.steps.most = std::max(to.steps.most, step.size());
    });
  }

  std::map<std::string, InferredList, std::less<>> lists_;
};

}  // namespace tools
