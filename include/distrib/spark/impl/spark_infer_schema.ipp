// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/spark/spark_infer_schema.hpp>

#include <distrib/example/error.hpp>
#include <distrib/spark/detail/utf8_names.hpp>
#include <distrib/spark/spark_error.hpp>

#include <algorithm>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void SparkSchemaInference::add(ByteView record, Error& error) {
  error = {};
  const bool sequence = record_type_ == SparkRecordType::sequence_example;
  if (sequence) static_cast<void>(SequenceExampleView{record, error.code});
  else static_cast<void>(ExampleView{record, error.code});
  if (!error && rules_ == SparkRules::like_connector && !detail::has_utf8_names(record, record_type_))
    error.code = example_errc::malformed;
  if (error) return;
  ++records_;
  add_features(ExampleView{record}, error);  // the context is encoded where an Example has its features
  if (sequence && !error) add_lists(SequenceExampleView{record}, error);
}

DISTRIB_DECL auto SparkSchemaInference::columns() const -> std::vector<SparkColumn> {
  std::map<std::string_view, Seen> all{features_.begin(), features_.end()};
  for (const auto& [name, seen] : lists_) all[name] = seen;  // SparkDecoder also prefers the lists
  std::vector<SparkColumn> columns;
  for (const auto& [name, seen] : all) {
    SparkType type = seen.type;
    if (type.kind == SparkType::Kind::unknown && (rules_ == SparkRules::checked || type.arrays == 0))
      type.kind = SparkType::Kind::string;
    const bool nullable = rules_ == SparkRules::like_connector || seen.records != records_;
    columns.push_back({std::string{name}, type, nullable});
  }
  return columns;
}

DISTRIB_DECL void SparkSchemaInference::add_features(const ExampleView& example, Error& error) {
  std::map<std::string_view, FeatureView> features;  // if a name occurs several times, the last one counts
  example.for_each([&](const FeatureView& feature) { features[feature.name()] = feature; });
  for (const auto& [name, feature] : features) {
    if (error) return;
    see(features_, name, type_of(feature, error), feature.kind() == FeatureKind::none, error);
  }
}

DISTRIB_DECL void SparkSchemaInference::add_lists(const SequenceExampleView& sequence, Error& error) {
  std::map<std::string_view, FeatureListView> lists;
  sequence.for_each_list([&](const FeatureListView& list) { lists[list.name()] = list; });
  Columns& columns = rules_ == SparkRules::checked ? lists_ : features_;
  for (const auto& [name, list] : lists) {
    if (error) return;
    see(columns, name, type_of(list, error), false, error);
  }
}

DISTRIB_DECL void SparkSchemaInference::see(Columns& columns, std::string_view name, SparkType type, bool is_null,
                                            Error& error) {
  auto place = columns.find(name);
  if (!error && place == columns.end() && features_.size() + lists_.size() == most_columns)
    error.code = spark_errc::too_many_columns;
  if (!error && place == columns.end()) place = columns.emplace(std::string{name}, Seen{type, 0}).first;
  if (!error) place->second.type = join(place->second.type, type, error);
  if (error) error.where = "column \"" + std::string{name} + '"';
  else if (!is_null) ++place->second.records;
}

DISTRIB_DECL auto SparkSchemaInference::type_of(const FeatureView& feature, Error& error) const -> SparkType {
  const bool like_connector = rules_ == SparkRules::like_connector;
  if (feature.kind() == FeatureKind::none && like_connector) error.code = spark_errc::no_kind;
  if (feature.kind() == FeatureKind::none || (feature.size() == 0 && like_connector)) return {};
  const SparkType::Kind kind = feature.kind() == FeatureKind::int64s   ? SparkType::Kind::long_
                               : feature.kind() == FeatureKind::floats ? SparkType::Kind::float_
                                                                       : SparkType::Kind::string;
  return {kind, feature.size() == 1 ? 0U : 1U};
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
