// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/example/infer_schema.hpp>

#include <distrib/example/error.hpp>

#include <algorithm>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto InferredFeature::kind() const noexcept -> FeatureKind {
  if (conflict()) return FeatureKind::none;
  for (const auto kind : {FeatureKind::bytes, FeatureKind::floats, FeatureKind::int64s})
    if (records[static_cast<std::size_t>(kind)] != 0) return kind;
  return FeatureKind::none;
}

DISTRIB_DECL void SchemaInference::add(ByteView record, std::error_code& ec) {
  const ExampleView example{record, ec};
  if (ec) return;
  ++records_;
  example.for_each([&](const FeatureView& feature) {
    const auto place = std::lower_bound(seen_.begin(), seen_.end(), feature.name(),
                                        [](const Seen& a, std::string_view name) { return a.feature.name < name; });
    if (place != seen_.end() && place->feature.name == feature.name()) return see(*place, feature);
    if (seen_.size() == most_features) {
      ec = example_errc::too_many_features;
      return;
    }
    Seen fresh;
    fresh.feature.name = std::string{feature.name()};
    see(*seen_.insert(place, std::move(fresh)), feature);
  });
}

DISTRIB_DECL auto SchemaInference::features() const -> std::vector<InferredFeature> {
  std::vector<InferredFeature> result;
  for (Seen seen : seen_) {
    count(seen);
    std::uint64_t present = 0;
    for (std::size_t kind = 1; kind <= 3; ++kind) present += seen.feature.records[kind];
    seen.feature.missing = records_ - present;
    if (present == 0) seen.feature.fewest = 0;
    result.push_back(std::move(seen.feature));
  }
  return result;
}

DISTRIB_DECL void SchemaInference::see(Seen& seen, const FeatureView& feature) {
  if (seen.last != records_) count(seen);
  seen.last = records_;
  seen.kind = feature.kind();
  seen.values = feature.size();
}

DISTRIB_DECL void SchemaInference::count(Seen& seen) {
  if (seen.last == 0) return;
  ++seen.feature.records[static_cast<std::size_t>(seen.kind)];
  if (seen.kind == FeatureKind::none) return;
  seen.feature.fewest = std::min(seen.feature.fewest, seen.values);
  seen.feature.most = std::max(seen.feature.most, seen.values);
}

}  // namespace v0
}  // namespace distrib
