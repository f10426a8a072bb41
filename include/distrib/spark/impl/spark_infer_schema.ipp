// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/spark/spark_infer_schema.hpp>

#include <distrib/spark/spark_error.hpp>

#include <algorithm>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void SparkSchemaInference::add(ByteView record, Error& error) {
  error = {};
  if (record_type_ == SparkRecordType::example) {
    const ExampleView example{record, error.code};
    if (error) return;
    ++records_;
    return add_features(example, error);
  }
  const SequenceExampleView sequence{record, error.code};
  if (error) return;
  ++records_;
  add_features(sequence.context(), error);
  std::map<std::string_view, FeatureListView> lists;  // of equal names the last one counts
  sequence.for_each_list([&](const FeatureListView& list) { lists[list.name()] = list; });
  for (const auto& [name, list] : lists) {
    if (error) return;
    see(name, type_of(list, error), error);
  }
}

DISTRIB_DECL auto SparkSchemaInference::columns() const -> std::vector<SparkColumn> {
  std::vector<SparkColumn> columns;
  for (const auto& [name, seen] : seen_) {
    SparkType type = seen.type;
    if (type.kind == SparkType::Kind::unknown && (rules_ == SparkRules::checked || type.arrays == 0))
      type.kind = SparkType::Kind::string;
    columns.push_back({name, type, rules_ == SparkRules::like_connector || seen.records != records_});
  }
  return columns;
}

DISTRIB_DECL void SparkSchemaInference::add_features(const ExampleView& example, Error& error) {
  std::map<std::string_view, FeatureView> features;
  example.for_each([&](const FeatureView& feature) { features[feature.name()] = feature; });
  for (const auto& [name, feature] : features) {
    if (error) return;
    see(name, type_of(feature, error), error);
  }
}

DISTRIB_DECL void SparkSchemaInference::see(std::string_view name, SparkType type, Error& error) {
  auto place = seen_.find(name);
  if (!error && place == seen_.end() && seen_.size() == most_columns) error.code = spark_errc::too_many_columns;
  if (!error && place == seen_.end()) place = seen_.emplace(std::string{name}, Seen{type, 0}).first;
  if (!error) place->second.type = join(place->second.type, type, error);
  if (error) error.where = "column \"" + std::string{name} + '"';
  else ++place->second.records;
}

DISTRIB_DECL auto SparkSchemaInference::type_of(const FeatureView& feature, Error& error) const -> SparkType {
  if (feature.kind() == FeatureKind::none && rules_ == SparkRules::like_connector) error.code = spark_errc::no_kind;
  if (feature.kind() == FeatureKind::none || feature.size() == 0) return {};
  const SparkType::Kind kind = feature.kind() == FeatureKind::int64s   ? SparkType::Kind::long_
                               : feature.kind() == FeatureKind::floats ? SparkType::Kind::float_
                                                                       : SparkType::Kind::string;
  return {kind, feature.size() > 1 ? 1U : 0U};
}

DISTRIB_DECL auto SparkSchemaInference::type_of(const FeatureListView& list, Error& error) const -> SparkType {
  if (list.size() == 0 && rules_ == SparkRules::like_connector) error.code = spark_errc::no_steps;
  SparkType step;
  list.for_each([&](const FeatureView& feature) {
    if (!error) step = join(step, type_of(feature, error), error);
  });
  return {step.kind, 2};
}

DISTRIB_DECL auto SparkSchemaInference::join(SparkType a, SparkType b, Error& error) const -> SparkType {
  if (a == b || b == SparkType{}) return a;
  if (a == SparkType{}) return b;
  if (rules_ == SparkRules::like_connector) return detail::precedence(a) > detail::precedence(b) ? a : b;
  if (a.kind != b.kind && a.kind != SparkType::Kind::unknown && b.kind != SparkType::Kind::unknown)
    error.code = spark_errc::kind_conflict;
  return {a.kind == SparkType::Kind::unknown ? b.kind : a.kind, std::max(a.arrays, b.arrays)};
}

}  // namespace v0
}  // namespace distrib
