// SPDX-License-Identifier: Apache-2.0
// `distrib records head` and `cat`: show the contents of records.
#include "example_json.hpp"
#include "json_values.hpp"
#include "list_inference.hpp"
#include "records_input.hpp"

#include <distrib/core/json_text.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/example/infer_schema.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace tools {

namespace {

using distrib::FeatureView;
using distrib::InferredFeature;

/// Returns the kind of a feature in words: "int64", "bytes", "CONFLICT: bytes in 3 records, int64 in 2". `unit`: what
/// is counted, "records".
auto kind_text(const InferredFeature& feature, const std::string& unit) -> std::string {
  constexpr std::string_view names[] = {"no kind", "bytes", "float", "int64"};
  if (!feature.conflict()) return std::string{names[static_cast<std::size_t>(feature.kind())]};
  std::string text;
  for (const std::size_t kind : {1U, 2U, 3U}) {
    if (feature.records[kind] == 0) continue;
    text += (text.empty() ? "CONFLICT: " : ", ") + std::string{names[kind]} + " in " +
            std::to_string(feature.records[kind]) + (text.empty() ? " " + unit : "");
  }
  return text;
}

/// Returns a range in words: ", 1 value", ", 2 .. 5 steps"; empty if nothing was counted.
auto range_text(std::size_t fewest, std::size_t most, const std::string& unit) -> std::string {
  if (most < fewest) return {};
  const std::string least = fewest == most ? "" : std::to_string(fewest) + " .. ";
  return ", " + least + std::to_string(most) + " " + unit + (fewest == 1 && most == 1 ? "" : "s");
}

/// What is known about the records of a file.
struct Schema {
  std::uint64_t records = 0;  ///< Number of records that were examined.
  std::vector<InferredFeature> features;
  std::map<std::string, InferredList, std::less<>> lists;
};

/// Returns the lines of `tell_schema` as text: each a name, and what is known about it.
auto schema_lines(const Schema& schema) -> std::vector<std::pair<std::string, std::string>> {
  std::vector<std::pair<std::string, std::string>> lines;
  const auto missing = [](std::uint64_t count) { return count == 0 ? "" : ", missing in " + std::to_string(count); };
  for (const InferredFeature& feature : schema.features)
    lines.emplace_back(
        line_text(feature.name),
        kind_text(feature, "records") + range_text(feature.fewest, feature.most, "value") + missing(feature.missing));
  for (const auto& [name, list] : schema.lists)
    lines.emplace_back(line_text(name), "feature list" + range_text(list.fewest_steps, list.most_steps, "step") + ": " +
                                            kind_text(list.steps, "steps") +
                                            range_text(list.steps.fewest, list.steps.most, "value") +
                                            missing(schema.records - list.records));
  return lines;
}

auto schema_json(const std::string& file, const Schema& schema) -> std::string {
  const auto join = [](std::string& list, const distrib::JsonObject& line) {
    (list += list.size() > 1 ? "," : "") += line.text();
  };
  std::string features = "[";
  for (const InferredFeature& feature : schema.features) {
    distrib::JsonObject line;
    line.add("name", escaped_text(feature.name)).add("kind", distrib::name(feature.kind()));
    line.add("fewest", feature.fewest).add("most", feature.most).add("missing", feature.missing);
    join(features, line.add("conflict", feature.conflict()));
  }
  std::string lists = "[";
  for (const auto& [name, list] : schema.lists) {
    distrib::JsonObject line;
    line.add("name", escaped_text(name)).add("kind", distrib::name(list.steps.kind()));
    line.add("fewest_steps", list.fewest_steps).add("most_steps", list.most_steps);
    line.add("fewest", std::min(list.steps.fewest, list.steps.most)).add("most", list.steps.most);
    join(lists, line.add("missing", schema.records - list.records).add("conflict", list.steps.conflict()));
  }
  distrib::JsonObject line;
  line.add("file", file).add("schema_records", schema.records).add_json("features", features + "]");
  if (!schema.lists.empty()) line.add_json("feature_lists", lists + "]");
  return line.text();
}

/// Returns the first values of a feature as text.
auto values_text(const FeatureView& feature) -> std::string {
  constexpr std::size_t most = 8;
  std::string text;
  std::size_t count = 0;
  const auto add = [&](const std::string& value) {
    if (++count <= most) (text += text.empty() ? "" : ", ") += value;
  };
  feature.for_each<std::int64_t>([&](std::int64_t value) { add(std::to_string(value)); });
  feature.for_each<float>([&](float value) { add(number_text(value)); });
  feature.for_each<distrib::ByteView>([&](distrib::ByteView value) {
    const std::string_view bytes = distrib::as_text(value);
    const bool shown = bytes.size() <= 60 && std::all_of(bytes.begin(), bytes.end(), [](char c) {
                         return static_cast<unsigned char>(c) >= 32 && c != 127;
                       });
    add(shown ? distrib::json_text(bytes) : "(" + std::to_string(bytes.size()) + " bytes)");
  });
  return count > most ? text + ", ... (" + std::to_string(count) + ")" : text;
}

/// Returns the first steps of a feature list as text: "2 steps: [1], [2, 3]".
auto steps_text(const distrib::FeatureListView& list) -> std::string {
  constexpr std::size_t most = 8;
  std::string text = std::to_string(list.size()) + (list.size() == 1 ? " step" : " steps");
  std::size_t count = 0;
  list.for_each([&](const FeatureView& step) {
    if (++count <= most) text += (count == 1 ? ": [" : ", [") + values_text(step) + "]";
  });
  return count > most ? text + ", ..." : text;
}

void tell_record(const distrib::Record& record, bool sequence, Report& report) {
  report.line("record " + std::to_string(record.number) + " at offset " + std::to_string(record.offset) + ", " +
              std::to_string(record.bytes.size()) + " bytes");
  std::error_code ec;
  const distrib::ExampleView example{record.bytes, ec};
  const auto lists = ec ? std::nullopt : as_sequence(record.bytes, sequence, ec);
  if (!ec)
    example.for_each([&report](const FeatureView& feature) {
      report.line("  " + line_text(feature.name()) + ": " + values_text(feature));
    });
  if (lists)
    lists->for_each_list([&report](const distrib::FeatureListView& list) {
      report.line("  " + line_text(list.name()) + ": " + steps_text(list));
    });
  if (!ec) return;
  const std::string_view text = distrib::as_text(record.bytes);
  report.line((sequence ? "  not a SequenceExample: " : "  not an Example: ") + distrib::json_text(text.substr(0, 60)) +
              (text.size() > 60 ? " ..." : ""));
}

/// Prints a record as a line of JSON. Returns false, and reports a failure, if it is not an Example.
auto tell_json(const std::string& file, const distrib::Record& record, bool sequence, Report& report) -> bool {
  std::error_code ec;
  const std::string text = record_json(record.bytes, sequence, ec);
  if (ec)
    report.failure(
        {ec, distrib::detail::record_where(distrib::detail::shown_name(file), record.number, record.offset)});
  else report.line(text);
  return !ec;
}

/// Prints what the first records of a file have in common.
void tell_schema(const std::string& file, const RecordsOptions& options, Report& report, Progress& progress) {
  distrib::SchemaInference inference;
  ListInference lists;
  distrib::RecordReader reader = open_records(file, options);
  throw_if(reader.error());
  std::uint64_t number = 0;
  std::uint64_t others = 0;
  while (const auto record = reader.try_next()) {
    std::error_code ec;
    inference.add(record->bytes, ec);
    others += ec ? 1U : 0U;
    if (const auto view = ec ? std::nullopt : as_sequence(record->bytes, options.sequence, ec)) lists.add(*view);
    progress.add(record->bytes.size());
    if (++number == options.schema_records) break;
  }
  progress.clear();
  if (reader.error()) tell_failure(report, reader.error());
  const Schema schema{number - others, inference.features(), lists.lists()};
  if (report.json()) return report.line(schema_json(distrib::detail::shown_name(file), schema));
  const auto lines = schema_lines(schema);
  std::size_t width = 0;
  for (const auto& line : lines) width = std::max(width, line.first.size());
  report.line(distrib::detail::shown_name(file) + ": features of " + std::to_string(schema.records) + " records" +
              (reader.error() || number == options.schema_records ? "" : " (all)"));
  for (const auto& [name, text] : lines) report.line("  " + name + std::string(width - name.size() + 2, ' ') + text);
  if (others != 0) report.line("  (" + std::to_string(others) + " records are not Examples)");
}

}  // namespace

auto records_head(const RecordsOptions& options) -> int {
  Report report{options.json};
  const auto files = files_of(options, report);
  Progress progress{files.size()};
  for (const std::string& file : files) try {
      progress.begin(distrib::detail::shown_name(file));
      tell_schema(file, options, report, progress);
      distrib::RecordReader reader = open_records(file, options);
      throw_if(reader.error());
      for (std::uint64_t i = 0; i < options.shown; ++i) {
        const auto record = reader.try_next();
        if (!record) break;
        if (!report.json()) tell_record(*record, options.sequence, report);
        else if (!tell_json(file, *record, options.sequence, report)) break;
      }
    } catch (const std::system_error& error) {
      tell_failure(report, distrib::error_of(error));
    }
  return report.finish();
}

auto records_cat(const RecordsOptions& options) -> int {
  Report report{options.json};
  std::uint64_t left = options.first == 0 ? static_cast<std::uint64_t>(-1) : options.first;
  for (const std::string& file : files_of(options, report)) {
    distrib::RecordReader reader = open_records(file, options);
    while (left > 0) {
      const auto record = reader.try_next();
      if (!record || !tell_json(file, *record, options.sequence, report)) break;
      --left;
    }
    if (reader.error()) tell_failure(report, reader.error());
  }
  return report.finish();
}

}  // namespace tools
