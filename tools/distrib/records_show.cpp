// SPDX-License-Identifier: Apache-2.0
// `distrib records head` and `cat`: what is in the records.
#include "example_json.hpp"
#include "records_input.hpp"

#include <distrib/example/infer_schema.hpp>

#include <algorithm>

namespace tools {

namespace {

using distrib::FeatureView;
using distrib::InferredFeature;

/// "int64", "bytes", "CONFLICT: bytes in 3 records, int64 in 2".
auto kind_text(const InferredFeature& feature) -> std::string {
  constexpr std::string_view names[] = {"no kind", "bytes", "float", "int64"};
  if (!feature.conflict()) return std::string{names[static_cast<std::size_t>(feature.kind())]};
  std::string text;
  for (const std::size_t kind : {1U, 2U, 3U}) {
    if (feature.records[kind] == 0) continue;
    text += (text.empty() ? "CONFLICT: " : ", ") + std::string{names[kind]} + " in " +
            std::to_string(feature.records[kind]) + (text.empty() ? " records" : "");
  }
  return text;
}

auto feature_text(const InferredFeature& feature, std::size_t width) -> std::string {
  std::string text = "  " + feature.name + std::string(width - feature.name.size() + 2, ' ') + kind_text(feature);
  if (feature.most > 0 || feature.fewest == 0) {
    text += ", " + std::to_string(feature.fewest);
    if (feature.most != feature.fewest) text += " .. " + std::to_string(feature.most);
    text += feature.most == 1 && feature.fewest == 1 ? " value" : " values";
  }
  if (feature.missing != 0) text += ", missing in " + std::to_string(feature.missing);
  return text;
}

auto schema_json(const std::string& file, std::uint64_t records, const std::vector<InferredFeature>& features)
    -> std::string {
  std::string list = "[";
  for (const InferredFeature& feature : features) {
    JsonLine line;
    line.add("name", feature.name).add("kind", distrib::name(feature.kind())).add("fewest", feature.fewest);
    line.add("most", feature.most).add("missing", feature.missing).add("conflict", feature.conflict());
    (list += list.size() > 1 ? "," : "") += line.text();
  }
  return JsonLine{}.add("file", file).add("schema_records", records).add_json("features", list + "]").text();
}

/// The first values of a feature, for people.
auto values_text(const FeatureView& feature) -> std::string {
  constexpr std::size_t most = 8;
  std::string text;
  std::size_t count = 0;
  const auto add = [&](const std::string& value) {
    if (++count <= most) (text += text.empty() ? "" : ", ") += value;
  };
  feature.for_each<std::int64_t>([&](std::int64_t value) { add(std::to_string(value)); });
  feature.for_each<float>([&](float value) { add(float_json(value)); });
  feature.for_each<distrib::ByteView>([&](distrib::ByteView value) {
    const std::string_view bytes = distrib::as_text(value);
    const bool shown = bytes.size() <= 60 && std::all_of(bytes.begin(), bytes.end(), [](char c) {
                         return static_cast<unsigned char>(c) >= 32 && c != 127;
                       });
    add(shown ? distrib::json_text(bytes) : "(" + std::to_string(bytes.size()) + " bytes)");
  });
  return count > most ? text + ", ... (" + std::to_string(count) + ")" : text;
}

void tell_record(const distrib::Record& record, Report& report) {
  report.line("record " + std::to_string(record.number) + " at offset " + std::to_string(record.offset) + ", " +
              std::to_string(record.bytes.size()) + " bytes");
  std::error_code ec;
  distrib::ExampleView{record.bytes, ec}.for_each([&report](const FeatureView& feature) {
    report.line("  " + std::string{feature.name()} + ": " + values_text(feature));
  });
  if (!ec) return;
  const std::string_view text = distrib::as_text(record.bytes);
  report.line("  no Example: " + distrib::json_text(text.substr(0, 60)) + (text.size() > 60 ? " ..." : ""));
}

/// A record as a line of JSON; false when it is none that can be shown so.
auto tell_json(const std::string& file, const distrib::Record& record, bool sequence, Report& report) -> bool {
  std::error_code ec;
  const std::string text = record_json(record.bytes, sequence, ec);
  if (ec) report.failure({ec, distrib::detail::record_where(file, record.number, record.offset)});
  else report.line(text);
  return !ec;
}

/// What the first records of a file have in common.
void tell_schema(const std::string& file, const RecordsOptions& options, Report& report, Progress& progress) {
  distrib::SchemaInference inference;
  distrib::RecordReader reader = open_records(file, options);
  throw_if(reader.error());
  std::uint64_t number = 0;
  std::uint64_t others = 0;
  while (const auto record = reader.try_next()) {
    std::error_code ec;
    inference.add(record->bytes, ec);
    others += ec ? 1U : 0U;
    progress.add(record->bytes.size());
    if (++number == options.schema_records) break;
  }
  progress.clear();
  if (reader.error()) report.failure(reader.error());
  const auto features = inference.features();
  if (report.json()) return report.line(schema_json(file, number - others, features));
  std::size_t width = 0;
  for (const InferredFeature& feature : features) width = std::max(width, feature.name.size());
  report.line(file + ": features of " + std::to_string(number - others) + " records" +
              (reader.error() || number == options.schema_records ? "" : ", which are all"));
  for (const InferredFeature& feature : features) report.line(feature_text(feature, width));
  if (others != 0) report.line("  (" + std::to_string(others) + " records are no Examples)");
}

}  // namespace

auto records_head(const RecordsOptions& options) -> int {
  Report report{options.json};
  const auto files = files_of(options, report);
  Progress progress{files.size()};
  for (const std::string& file : files) try {
      progress.begin(file);
      tell_schema(file, options, report, progress);
      distrib::RecordReader reader = open_records(file, options);
      throw_if(reader.error());
      for (std::uint64_t i = 0; i < options.shown; ++i) {
        const auto record = reader.try_next();
        if (!record) break;
        if (!report.json()) tell_record(*record, report);
        else if (!tell_json(file, *record, options.sequence, report)) break;
      }
    } catch (const std::system_error& error) {
      report.failure(distrib::error_of(error));
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
    if (reader.error()) report.failure(reader.error());
  }
  return report.finish();
}

}  // namespace tools
