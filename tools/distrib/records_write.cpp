// SPDX-License-Identifier: Apache-2.0
// `distrib records merge`, `salvage` and `recompress`: write records into new files. An output appears whole or not at
// all.
#include "record_output.hpp"
#include "records_input.hpp"

#include <distrib/core/files.hpp>
#include <distrib/core/json_text.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/record_writer.hpp>

#include <algorithm>
#include <optional>

namespace tools {

namespace {

using distrib::Compression;
using distrib::RecordReader;

auto writer_options(const RecordsOptions& options) -> distrib::RecordWriterOptions {
  distrib::RecordWriterOptions to;
  if (options.compression == "gzip") to.compression = Compression::gzip;
  if (options.compression == "zlib") to.compression = Compression::zlib;
  to.deflate.level = options.level;
  return to;
}

struct Copied {
  std::uint64_t records = 0;
  std::uint64_t suspect = 0;  ///< How many of them are suspect; if `certain` was asked for, how many were left out.
};

/// Appends the records of `reader`. Failures of the writer are thrown.
auto copy(RecordReader& reader, RecordOutput& writer, Progress& progress, bool certain) -> Copied {
  Copied copied;
  while (const auto record = reader.try_next()) {
    progress.add(distrib::record_frame_bytes + record->bytes.size());
    copied.suspect += record->suspect ? 1U : 0U;
    if (record->suspect && certain) continue;
    writer.append(record->bytes);
    ++copied.records;
  }
  return copied;
}

/// Returns the output for `file`.
auto output_of(const std::string& file, const RecordsOptions& options) -> std::string {
  if (options.directory.empty()) return options.output;
  return distrib::detail::join_path(options.directory, distrib::detail::file_of(distrib::detail::shown_name(file)));
}

/// True if each of `files` has an output of its own; otherwise `report` says what to do.
auto outputs_are_told(const std::vector<std::string>& files, const RecordsOptions& options, Report& report) -> bool {
  std::vector<std::string> outputs;
  for (const std::string& file : files) outputs.push_back(output_of(file, options));
  std::sort(outputs.begin(), outputs.end());
  if (options.output.empty() && options.directory.empty())
    report.refuse("--output", "the output is missing: write --output FILE or --directory DIRECTORY");
  else if (!options.output.empty() && files.size() > 1)
    report.refuse("--output", "only possible with one input file: with several, write --directory DIRECTORY");
  else if (std::adjacent_find(outputs.begin(), outputs.end()) != outputs.end())
    report.refuse("--directory",
                  "two input files have the same name, and so have their outputs: rewrite them one after the other, "
                  "into different directories");
  else return true;
  return false;
}

void tell_copied(const std::string& file, const std::string& output, const Copied& copied,
                 const std::vector<distrib::Damage>& damage, Report& report) {
  std::uint64_t lost = 0;
  for (const distrib::Damage& range : damage) lost += range.bytes;
  if (report.json()) {
    distrib::JsonObject line;
    line.add("file", file).add("output", output).add("records", copied.records);
    line.add("lost_ranges", damage.size()).add("lost_bytes", lost).add("suspect", copied.suspect);
    return report.line(line.text());
  }
  std::string text = file + " -> " + output + ": " + std::to_string(copied.records) + " records";
  if (!damage.empty()) text += ", " + std::to_string(damage.size()) + " ranges lost, " + bytes_text(lost);
  if (copied.suspect != 0) text += ", " + std::to_string(copied.suspect) + " uncertain";
  report.line(text);
}

/// Writes one output for each input.
auto rewrite(const RecordsOptions& options, const distrib::RecordReaderOptions& reading) -> int {
  Report report{options.json};
  const auto files = files_of(options, report);
  if (files.empty() || !outputs_are_told(files, options, report)) return report.finish();
  if (!options.directory.empty() && !is_remote(options.directory)) {
    std::error_code ec;
    distrib::detail::make_directories(options.directory, ec);
    if (ec) report.failure({ec, options.directory});
    if (ec) return report.finish();
  }
  Progress progress{files.size()};
  for (const std::string& file : files) {
    const std::string output = output_of(file, options);
    if (!may_write_output(output, options, report)) continue;
    progress.begin(distrib::detail::shown_name(file));
    try {
      RecordReader reader = open_records(file, options, reading);
      throw_if(reader.error());
      RecordOutput writer{output, options, writer_options(options)};
      const Copied copied = copy(reader, writer, progress, options.certain);
      progress.clear();
      throw_if(reader.error());  // the output is removed
      writer.close();
      if (!reader.damage().empty()) report.worst(exit_damage);
      tell_copied(distrib::detail::shown_name(file), distrib::detail::shown_name(output), copied, reader.damage(),
                  report);
    } catch (const std::system_error& error) {
      progress.clear();
      tell_failure(report, distrib::error_of(error));
    }
  }
  return report.finish();
}

}  // namespace

auto records_merge(const RecordsOptions& options) -> int {
  Report report{options.json};
  const auto files = files_of(options, report);
  if (files.empty() || !may_write_output(options.output, options, report)) return report.finish();
  Progress progress{files.size()};
  try {
    RecordOutput writer{options.output, options, writer_options(options)};
    for (const std::string& file : files) {
      progress.begin(distrib::detail::shown_name(file));
      RecordReader reader = open_records(file, options);
      throw_if(reader.error());
      copy(reader, writer, progress, false);
      throw_if(reader.error());
    }
    progress.clear();
    const std::uint64_t records = writer.records();
    const std::string shown = distrib::detail::shown_name(options.output);
    writer.close();
    report.line(
        options.json
            ? distrib::JsonObject{}.add("output", shown).add("files", files.size()).add("records", records).text()
            : shown + ": " + std::to_string(records) + " records of " + std::to_string(files.size()) + " files");
  } catch (const std::system_error& error) {
    progress.clear();
    tell_failure(report, distrib::error_of(error));
  }
  return report.finish();
}

auto records_salvage(const RecordsOptions& options) -> int { return rewrite(options, salvage_all()); }

auto records_recompress(const RecordsOptions& options) -> int {
  if (options.compression.empty()) {
    Report report{options.json};
    report.refuse("--compression", "write --compression none, gzip or zlib");
    return report.finish();
  }
  return rewrite(options, {});
}

}  // namespace tools
