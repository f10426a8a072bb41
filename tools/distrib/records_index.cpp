// SPDX-License-Identifier: Apache-2.0
// `distrib records index` and `split`: where records begin, and where files can be divided.
#include "record_output.hpp"
#include "records_input.hpp"

#include <distrib/core/files.hpp>
#include <distrib/core/json_text.hpp>
#include <distrib/record/dali_index.hpp>
#include <distrib/record/index_file.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/record/split_reader.hpp>
#include <distrib/record/splits.hpp>

namespace tools {

namespace {

void here(std::size_t count, const auto& job) {
  for (std::size_t i = 0; i < count; ++i) job(i);
}

/// Returns the path of a part: "NAME-00003-of-00010".
auto part_path(const std::string& name, std::size_t part, std::size_t parts) -> std::string {
  char text[64];
  std::snprintf(text, sizeof text, "-%05zu-of-%05zu", part, parts);
  return name + text;
}

/// Writes the records of a split into a new file. Throws on failure.
void write_part(const std::string& file, const distrib::RecordSplit& split, const std::string& output,
                const RecordsOptions& options) {
  distrib::SplitReader reader{file, split};
  RecordOutput writer{output, options, {}};
  for (const distrib::Record& record : reader) writer.append(record.bytes);
  writer.close();
}

/// True if no output exists, or all may be replaced; otherwise reports wrong usage.
auto outputs_are_free(const RecordsOptions& options, std::size_t files, Report& report) -> bool {
  if (options.output.empty()) return true;
  if (files > 1) report.refuse("--output", "only possible with one input file: split the files one after the other");
  if (files > 1) return false;
  for (std::size_t part = 0; part < options.parts; ++part)
    if (!may_write_output(part_path(options.output, part, options.parts), options, report)) return false;
  return true;
}

/// Writes the index of a file that is not on this machine.
void index_remote(const std::string& file, const RecordsOptions& options, Report& report, Progress& progress) {
  const std::string shown = distrib::detail::shown_name(file);
  progress.begin(shown);
  distrib::Error error;
  const RemoteIndex made = write_remote_index(file, options, error);
  progress.clear();
  if (error) return tell_failure(report, error);
  const std::string name = distrib::detail::shown_name(made.name);
  report.line(options.json
                  ? distrib::JsonObject{}.add("file", shown).add("records", made.records).add("index", name).text()
                  : name + ": " + std::to_string(made.records) + " records");
}

}  // namespace

auto records_index(const RecordsOptions& options) -> int {
  Report report{options.json};
  Progress progress{1};
  for (const std::string& file : files_of(options, report)) try {
      if (is_remote(file) && !options.dali && !file.starts_with("http")) {
        index_remote(file, options, report, progress);
        continue;
      }
      if (!is_here(file, report)) continue;
      progress.begin(file);
      const std::string path = options.dali ? file + ".idx" : distrib::index_file_path(file);
      if (options.dali && !report.may_write(path, options.force)) continue;
      const distrib::RecordIndex index{file};
      if (options.dali) distrib::write_dali_index(index, path);
      else distrib::write_index_file(file, index.offsets());
      report.line(options.json
                      ? distrib::JsonObject{}.add("file", file).add("records", index.size()).add("index", path).text()
                      : path + ": " + std::to_string(index.size()) + " records");
    } catch (const std::system_error& error) {
      report.failure(distrib::error_of(error));
    }
  return report.finish();
}

auto records_split(const RecordsOptions& options) -> int {
  Report report{options.json};
  const auto files = files_of(options, report);
  if (!outputs_are_free(options, files.size(), report)) return report.finish();
  const auto parts = static_cast<std::size_t>(options.parts);
  for (const std::string& file : files) {
    if (!is_here(file, report)) continue;
    distrib::Error error;
    const auto found = distrib::split_file(file, parts, [](std::size_t n, const auto& job) { here(n, job); }, error);
    if (error) report.failure(error);
    if (error && found.splits.empty()) continue;
    for (std::size_t part = 0; part < parts; ++part) {
      const distrib::RecordSplit& split = found.splits[part];
      if (options.json)
        report.line(distrib::JsonObject{}
                        .add("file", file)
                        .add("part", part)
                        .add("first", split.first)
                        .add("end", split.end)
                        .add("records", split.records)
                        .text());
      else
        report.line(file + ": part " + std::to_string(part) + ": " + std::to_string(split.records) +
                    " records, bytes " + std::to_string(split.first) + " to " + std::to_string(split.end));
      if (options.output.empty() || error) continue;
      try {
        write_part(file, split, part_path(options.output, part, parts), options);
      } catch (const std::system_error& failure) {
        report.failure(distrib::error_of(failure));
        break;
      }
    }
  }
  return report.finish();
}

}  // namespace tools
