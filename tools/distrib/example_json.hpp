// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "escaped_text.hpp"
#include "json_values.hpp"

#include <distrib/core/json_text.hpp>
#include <distrib/example/example_view.hpp>
#include <distrib/example/sequence_example_view.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace tools {

/// Returns the name of a list in JSON: "int64_list" and so on; empty for a feature without a kind.
[[nodiscard]] inline auto list_name(distrib::FeatureKind kind) -> std::string_view {
  switch (kind) {
    case distrib::FeatureKind::bytes: return "bytes_list";
    case distrib::FeatureKind::floats: return "float_list";
    case distrib::FeatureKind::int64s: return "int64_list";
    case distrib::FeatureKind::none: break;
  }
  return {};
}

/// Returns a feature as {"int64_list":[1,2]}; bytes are base64. Returns {} if the feature has no kind.
[[nodiscard]] inline auto feature_json(const distrib::FeatureView& feature) -> std::string {
  const std::string_view name = list_name(feature.kind());
  if (name.empty()) return "{}";
  std::string list = "[";
  const auto add = [&list](const std::string& value) { (list += list.size() > 1 ? "," : "") += value; };
  feature.for_each<std::int64_t>([&](std::int64_t value) { add(distrib::json_text(value)); });
  feature.for_each<float>([&](float value) { add(distrib::json_text(value)); });
  feature.for_each<distrib::ByteView>([&](distrib::ByteView value) { add('"' + base64(value) + '"'); });
  return distrib::JsonObject{}.add_json(name, list + "]").text();
}

/// Returns the features as {"name":{"int64_list":[1,2]}}, in the order of their names. Of features with equal names the
/// last one counts. Here and below, bytes of a name that are not UTF-8 are escaped.
[[nodiscard]] inline auto features_json(const distrib::ExampleView& example) -> std::string {
  std::map<std::string_view, distrib::FeatureView> features;
  example.for_each([&](const distrib::FeatureView& feature) { features.insert_or_assign(feature.name(), feature); });
  distrib::JsonObject line;
  for (const auto& [name, feature] : features) line.add_json(escaped_text(name), feature_json(feature));
  return line.text();
}

/// Returns the feature lists as {"name":[{"int64_list":[1,2]},{"int64_list":[3]}]}, in the order of their names.
[[nodiscard]] inline auto lists_json(const distrib::SequenceExampleView& sequence) -> std::string {
  std::map<std::string_view, distrib::FeatureListView> lists;
  sequence.for_each_list([&](const distrib::FeatureListView& list) { lists.insert_or_assign(list.name(), list); });
  distrib::JsonObject line;
  for (const auto& [name, list] : lists) {
    std::string steps = "[";
    list.for_each(
        [&steps](const distrib::FeatureView& step) { (steps += steps.size() > 1 ? "," : "") += feature_json(step); });
    line.add_json(escaped_text(name), steps + "]");
  }
  return line.text();
}

/// Returns a record as a SequenceExample if it has feature lists, or if `sequence` says that it is one. Empty: it is an
/// Example. `ec`: `example_errc::malformed` if `sequence` says that it is one, but it is not.
[[nodiscard]] inline auto as_sequence(distrib::ByteView record, bool sequence, std::error_code& ec)
    -> std::optional<distrib::SequenceExampleView> {
  const distrib::SequenceExampleView view{record, ec};
  bool is_one = sequence && !ec;
  view.for_each_list([&is_one](const distrib::FeatureListView&) { is_one = true; });
  if (!sequence) ec.clear();
  return is_one ? std::optional{view} : std::nullopt;
}

/// Returns one record as JSON: {"feature":{...}}; if it has feature lists, or if `sequence` says that it is a
/// SequenceExample: {"context":{"feature":{...}},"feature_lists":{"feature_list":{...}}}. If the record is not what it
/// should be, sets `ec` to `example_errc::malformed` and returns an empty text.
[[nodiscard]] inline auto record_json(distrib::ByteView record, bool sequence, std::error_code& ec) -> std::string {
  const distrib::ExampleView example{record, ec};
  if (ec) return {};
  const auto with_lists = as_sequence(record, sequence, ec);
  if (ec) return {};
  if (!with_lists) return distrib::JsonObject{}.add_json("feature", features_json(example)).text();
  return distrib::JsonObject{}
      .add_json("context", distrib::JsonObject{}.add_json("feature", features_json(example)).text())
      .add_json("feature_lists", distrib::JsonObject{}.add_json("feature_list", lists_json(*with_lists)).text())
      .text();
}

}  // namespace tools
