// SPDX-License-Identifier: Apache-2.0
// `distrib records count` and `check`.
#include "records_input.hpp"

#include <distrib/core/json_text.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/record/frame.hpp>

namespace tools {

namespace {

struct Contents {
  std::uint64_t records = 0;
  std::uint64_t suspect = 0;
  std::uint64_t payload_bytes = 0;
  distrib::Sha256 hash;  // of all payloads, one after the other
};

auto damage_json(const std::vector<distrib::Damage>& ranges) -> std::string {
  std::string list = "[";
  for (const distrib::Damage& range : ranges)
    (list += list.size() > 1 ? "," : "") += distrib::JsonObject{}
                                                .add("offset", range.offset)
                                                .add("record", range.record)
                                                .add("kind", damage_kind(range.code))
                                                .add("bytes", range.bytes)
                                                .text();
  return list + "]";
}

void tell(Report& report, const std::string& file, Contents& contents, const std::vector<distrib::Damage>& damage,
          bool list_damage) {
  if (report.json()) {
    distrib::JsonObject line;
    line.add("file", file).add("records", contents.records).add("payload_bytes", contents.payload_bytes);
    line.add("sha256", distrib::to_hex(contents.hash.finish())).add_json("damage", damage_json(damage));
    if (contents.suspect != 0) line.add("suspect", contents.suspect);
    return report.line(line.text());
  }
  if (!list_damage) {
    for (const distrib::Damage& range : damage) report.warning(file, damage_text(range));
    return report.line(std::to_string(contents.records) + "\t" + file);
  }
  report.line(file + ": " + (damage.empty() ? "good" : "DAMAGED") + ", " + std::to_string(contents.records) +
              " records, " + bytes_text(contents.payload_bytes));
  for (const distrib::Damage& range : damage) report.line("  " + damage_text(range));
  if (contents.suspect != 0)
    report.line("  " + std::to_string(contents.suspect) +
                " records after damage may belong to a file inside of a record");
}

}  // namespace

auto records_check(const RecordsOptions& options, bool list_damage) -> int {
  Report report{options.json};
  const auto files = files_of(options, report);
  Progress progress{files.size()};
  std::uint64_t total = 0;
  for (const std::string& file : files) {
    const std::string shown = distrib::detail::shown_name(file);
    progress.begin(shown);
    distrib::RecordReader reader = open_records(file, options, salvage_all());
    Contents contents;
    while (const auto record = reader.try_next()) {
      ++contents.records;
      contents.suspect += record->suspect ? 1U : 0U;
      contents.payload_bytes += record->bytes.size();
      if (options.json) contents.hash.update(record->bytes);
      progress.add(distrib::record_frame_bytes + record->bytes.size());
    }
    progress.clear();
    total += contents.records;
    if (reader.error()) {
      tell_failure(report, reader.error());
      if (exit_status(reader.error().code) != exit_damage) continue;
    }
    if (!reader.damage().empty()) report.worst(exit_damage);
    tell(report, shown, contents, reader.damage(), list_damage);
  }
  if (!options.json && !list_damage && files.size() > 1) report.line(std::to_string(total) + "\ttotal");
  return report.finish();
}

}  // namespace tools
