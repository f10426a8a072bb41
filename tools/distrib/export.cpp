// SPDX-License-Identifier: Apache-2.0
// `distrib export`: looks into an export log, verifies it, and makes it shorter.
#include "export.hpp"

#include "bytes_text.hpp"
#include "exit_status.hpp"
#include "remote_records.hpp"
#include "report.hpp"

#include <distrib/core/json_text.hpp>
#include <distrib/export_log/export_log.hpp>
#include <distrib/export_log/log_part.hpp>
#include <distrib/export_log/retire_log.hpp>
#include <distrib/serve/model_replica.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tools {

namespace {

auto hex_word(std::uint64_t word) -> std::string {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(word));
  return text;
}

// `begins`: a reader can begin with this position.
auto entry_line(const distrib::LogEntry& entry, bool begins, bool json) -> std::string {
  const distrib::LogManifest& manifest = entry.manifest;
  std::uint64_t bytes = 0;
  std::uint64_t rows = 0;
  std::uint64_t full = 0;
  std::string digests;
  for (const distrib::LogPart& part : manifest.parts) {
    bytes += part.bytes;
    full += part.is_full() ? 1U : 0U;
  }
  for (const distrib::LogTable& table : manifest.tables) {
    rows += table.rows;
    digests += (digests.empty() ? "" : ",") + distrib::json_text(table.info.name) + ":\"" +
               hex_word(table.digest.first) + hex_word(table.digest.second) + '"';
  }
  const char* const kind = manifest.is_base() ? "base" : "delta";
  if (json)
    return distrib::JsonObject{}
        .add("position", manifest.position)
        .add("step", manifest.step)
        .add("kind", std::string{kind})
        .add("begins", begins)
        .add("shards", manifest.parts.size())
        .add("full_parts", full)
        .add("bytes", bytes)
        .add("rows", rows)
        .add("lineage", hex_word(manifest.lineage))
        .add_json("digests", "{" + digests + "}")
        .text();
  return "position " + std::to_string(manifest.position) + "  step " + std::to_string(manifest.step) + "  " + kind +
         "  " + std::to_string(manifest.parts.size()) + " parts, " + bytes_text(bytes) + "  " + std::to_string(rows) +
         " rows" + (begins && !manifest.is_base() ? ", bases beside it" : "");
}

// Writes the newest state as full parts, one for each shard. Returns the new head, or nothing and sets `error`.
auto write_base(distrib::ExportLog& log, const distrib::LogManifest& now, const distrib::LogHead& head,
                const distrib::ModelReplica& replica, distrib::Error& error) -> std::optional<distrib::LogHead> {
  distrib::LogManifest base = now;
  base.position = now.position + 1;
  base.before = head.manifest;
  for (std::size_t shard = 0; shard < now.parts.size(); ++shard) {
    // The newest part of the shard has its ranges and dense variables.
    const std::vector<std::byte> old = log.get(now.parts[shard].name, now.parts[shard].bytes, error);
    if (error) return std::nullopt;
    auto contents = distrib::parse_log_part(old, error);
    if (!contents) return std::nullopt;
    contents->on.clear();
    std::vector<std::vector<std::uint64_t>> keys(contents->tables.size());
    std::vector<std::vector<std::byte>> values(contents->tables.size());
    for (std::size_t i = 0; i < contents->tables.size(); ++i) {
      distrib::PartTable& part = contents->tables[i];
      const auto tables = replica.store().tables();
      const auto table = std::ranges::find_if(
          tables, [&](const distrib::ReplicaTable* one) { return one->settings().info.name == part.name; });
      if (table == tables.end()) {
        error = {distrib::export_errc::bad_object, now.parts[shard].name};
        return std::nullopt;
      }
      const bool any_key = (*table)->settings().info.any_key();
      std::map<std::uint64_t, std::span<const float>> rows;
      (*table)->for_each([&](std::uint64_t key, std::span<const float> row) {
        const std::uint64_t place = any_key ? distrib::virtual_shard(key) : key;
        const auto owns = [&](const distrib::LogRange& range) { return range.first <= place && place < range.end; };
        if (std::ranges::any_of(part.owned, owns)) rows.emplace(key, row);
      });
      for (const auto& [key, row] : rows) {
        keys[i].push_back(key);
        for (const float value : row) {
          const auto half = distrib::detail::to_bfloat16(value);
          const distrib::ByteView bytes = part.format == distrib::FloatFormat::float32
                                              ? distrib::detail::bytes_of(value)
                                              : distrib::detail::bytes_of(half);
          values[i].insert(values[i].end(), bytes.begin(), bytes.end());
        }
      }
      part.keys = std::as_bytes(std::span{keys[i]});
      part.values = values[i];
      part.gone = {};
    }
    const std::vector<std::byte> made = distrib::write_log_part(*contents, error);
    if (error) return std::nullopt;
    base.parts[shard].name = distrib::part_name(now.step, static_cast<std::uint32_t>(shard),
                                                static_cast<std::uint32_t>(now.parts.size()), made);
    base.parts[shard].bytes = made.size();
    base.parts[shard].on.clear();
    log.put(base.parts[shard].name, made, error);
    if (error) return std::nullopt;
  }
  base.bases.clear();
  base.add_up_bytes(&now);
  const std::string text = to_text(base);
  distrib::LogHead next = head;
  next.position = base.position;
  next.manifest = distrib::manifest_name(base.position, text);
  log.put(next.manifest, distrib::as_bytes(text), error);
  return error ? std::nullopt : std::optional{std::move(next)};
}

}  // namespace

auto show_export_log(const ExportOptions& options) -> int {
  Report report{options.json};
  distrib::ExportLog log{options.directory, object_stores()};
  distrib::Error error;
  const std::size_t most = options.last == 0 ? std::numeric_limits<std::size_t>::max() : options.last;
  const std::vector<distrib::LogEntry> list = distrib::list_log(log, most, error);
  const std::vector<bool> begins = distrib::places_to_begin(list);
  for (std::size_t i = 0; i < list.size(); ++i) report.line(entry_line(list[i], begins[i], options.json));
  if (error) report.failure(error);
  return report.finish();
}

auto verify_export_log(const ExportOptions& options) -> int {
  Report report{options.json};
  distrib::ExportLog log{options.directory, object_stores()};
  distrib::Error error;
  std::vector<distrib::LogEntry> list = distrib::list_log(log, std::numeric_limits<std::size_t>::max(), error);
  if (error) report.failure(error);
  std::vector<bool> begins = distrib::places_to_begin(list);
  while (!list.empty() && !begins[list.size() - 1]) list.pop_back();
  if (list.empty() && !error) report.failure({distrib::export_errc::no_such_position, options.directory + ", a base"});
  // Takes a replica to a position, and reports if it does not get there.
  const auto reaches = [&](distrib::ModelReplica& replica, const distrib::LogEntry& entry) {
    replica.hold(entry.manifest.position);
    (void)replica.poll();
    const distrib::ReplicaStatus status = replica.status();
    if (status.position == entry.manifest.position) return true;
    distrib::Error wrong = status.last_error;
    if (!wrong) wrong = {distrib::export_errc::no_such_position, entry.name};
    wrong.where = "position " + std::to_string(entry.manifest.position) + ", " + wrong.where;
    report.failure(wrong);
    return false;
  };
  distrib::ModelReplica replica{{options.directory, object_stores()}};
  std::uint64_t good = 0;
  for (std::size_t i = list.size(); i-- > 0;) {
    bool is_good = reaches(replica, list[i]);
    // With the deltas it is right. Its bases are read only by a replica that begins there.
    if (is_good && begins[i] && !list[i].manifest.is_base() && i + 1 != list.size()) {
      distrib::ModelReplica begun{{options.directory, object_stores()}};
      is_good = reaches(begun, list[i]);
    }
    good += is_good ? 1U : 0U;
  }
  if (options.json)
    report.line(distrib::JsonObject{}.add("positions", std::uint64_t{list.size()}).add("good", good).text());
  else if (!list.empty())
    report.line(options.directory + ": " + std::to_string(good) + " of " + std::to_string(list.size()) +
                " positions are good, from " + std::to_string(list.back().manifest.position) + " to " +
                std::to_string(list.front().manifest.position));
  return report.finish();
}

auto compact_export_log(const ExportOptions& options) -> int {
  Report report{options.json};
  distrib::ExportLog log{options.directory, object_stores()};
  distrib::Error error;
  const std::optional<distrib::StampedHead> head = log.read_head(error);
  if (!head && !error) error = {distrib::export_errc::no_log, options.directory};
  if (!error) {
    distrib::ModelReplica replica{{options.directory, object_stores()}};
    if (head->head.position != 0) replica.hold(head->head.position);
    (void)replica.poll();
    const distrib::ReplicaStatus status = replica.status();
    if (status.position == 0 || status.position != head->head.position) {
      error = status.last_error ? status.last_error : distrib::Error{distrib::export_errc::no_log, options.directory};
    } else if (!replica.view().manifest().is_base()) {
      const auto next = write_base(log, distrib::LogManifest{replica.view().manifest()}, head->head, replica, error);
      if (next && !log.swap_head(head->version, *next, error) && !error)
        error = {std::make_error_code(std::errc::resource_unavailable_try_again),
                 options.directory + ": the job has exported meanwhile; run the command again"};
    }
  }
  std::size_t removed = 0;
  if (!error) removed = distrib::retire_log(log, error);
  if (error) report.failure(error);
  else if (options.json) report.line(distrib::JsonObject{}.add("removed", std::uint64_t{removed}).text());
  else report.line(options.directory + ": compacted, " + std::to_string(removed) + " positions removed");
  return report.finish();
}

}  // namespace tools
