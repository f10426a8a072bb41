// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/export_log/log_objects.hpp>

#include <distrib/core/json_text.hpp>
#include <distrib/export_log/detail/log_text.hpp>

#include <algorithm>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

inline constexpr std::size_t max_log_name_bytes = 200;
inline constexpr std::size_t max_table_name_bytes = 1024;
inline constexpr std::size_t max_log_tables = 65536;
inline constexpr std::uint64_t log_format = 1;

DISTRIB_DECL auto log_hex(std::uint64_t word) -> std::string {
  std::string text(16, '0');
  for (int at = 15; at >= 0; --at, word >>= 4) text[static_cast<std::size_t>(at)] = "0123456789abcdef"[word & 15];
  return text;
}

DISTRIB_DECL auto log_hex(const RowDigest& digest) -> std::string {
  return log_hex(digest.first) + log_hex(digest.second);
}

// 20 digits, so that names in a listing are in the order of their numbers.
DISTRIB_DECL auto log_number(std::uint64_t number) -> std::string {
  std::string text = std::to_string(number);
  return text.insert(0, 20 - text.size(), '0');
}

DISTRIB_DECL auto part_text(const LogPart& part) -> std::string {
  return R"({"name":)" + json_text(part.name) + R"(,"bytes":)" + json_text(part.bytes) + R"(,"on":)" +
         json_text(part.on) + R"(,"state":")" + log_hex(part.state) + "\"}";
}

DISTRIB_DECL auto base_text(const LogBase& base) -> std::string {
  return R"({"label":)" + json_text(base.label) + R"(,"of":)" + json_text(base.of) + R"(,"name":)" +
         json_text(base.name) + R"(,"bytes":)" + json_text(base.bytes) + "}";
}

DISTRIB_DECL auto tables_text(const std::vector<LogTable>& tables) -> std::string {
  std::string text = R"("tables":[)";
  for (const LogTable& table : tables) {
    if (&table != tables.data()) text += ',';
    text += R"({"name":)" + json_text(table.info.name) + R"(,"dim":)" + json_text(table.info.dim) + R"(,"numbered":)" +
            json_text(table.info.rows) + R"(,"initializer":)" + json_text(table.info.initializer.describe()) +
            R"(,"format":)" + json_text(to_text(table.info.kept_as)) + R"(,"seed":")" + log_hex(table.seed) +
            R"(","rows":)" + json_text(table.rows) + R"(,"digest":")" + log_hex(table.digest) + "\"}";
  }
  return text + ']';
}

DISTRIB_DECL auto read_log_name(LogTextReader& reader, std::string& name, bool may_be_empty) -> bool {
  return reader.text(name, max_log_name_bytes) && ((may_be_empty && name.empty()) || is_log_object(name));
}

DISTRIB_DECL auto read_log_part(LogTextReader& reader, LogPart& part) -> bool {
  return reader.members({"name", "bytes", "on", "state"}, [&](std::string_view member) {
    if (member == "name") return read_log_name(reader, part.name, false) && hash_in_name(part.name).has_value();
    if (member == "bytes") return reader.count(part.bytes);
    if (member == "on") return read_log_name(reader, part.on, true);
    if (member == "state") return reader.words(part.state.first, part.state.second);
    return reader.skip();
  });
}

DISTRIB_DECL auto read_log_base(LogTextReader& reader, LogBase& base) -> bool {
  return reader.members({"label", "of", "name", "bytes"}, [&](std::string_view member) {
    if (member == "label") return reader.count(base.label);
    if (member == "of") return read_log_name(reader, base.of, false) && hash_in_name(base.of).has_value();
    if (member == "name") return read_log_name(reader, base.name, false) && hash_in_name(base.name).has_value();
    if (member == "bytes") return reader.count(base.bytes);
    return reader.skip();
  });
}

DISTRIB_DECL auto read_log_tables(LogTextReader& reader, std::vector<LogTable>& tables) -> bool {
  return reader.array(max_log_tables, [&] {
    LogTable& table = tables.emplace_back();
    std::string text;
    std::uint64_t number = 0;
    const bool taken = reader.members(
        {"name", "dim", "numbered", "initializer", "format", "seed", "rows", "digest"}, [&](std::string_view member) {
          if (member == "name") return reader.text(table.info.name, max_table_name_bytes) && !table.info.name.empty();
          if (member == "dim") {
            const bool good = reader.count(number, 1U << 20) && number != 0;
            table.info.dim = static_cast<std::uint32_t>(number);
            return good;
          }
          if (member == "numbered") return reader.count(table.info.rows);
          if (member == "initializer") {
            if (!reader.text(text, max_table_name_bytes)) return false;
            const auto initializer = parse_initializer(text);
            if (initializer) table.info.initializer = *initializer;
            return initializer.has_value();
          }
          if (member == "format") {
            if (!reader.text(text, 64)) return false;
            if (text == to_text(FloatFormat::bfloat16)) table.info.kept_as = FloatFormat::bfloat16;
            return text == to_text(table.info.kept_as);
          }
          if (member == "seed") return reader.words(table.seed);
          if (member == "rows") return reader.count(table.rows);
          if (member == "digest") return reader.words(table.digest.first, table.digest.second);
          return reader.skip();
        });
    // Names ascend, so none occurs twice.
    return taken && (tables.size() == 1 || tables[tables.size() - 2].info.name < table.info.name);
  });
}

// Returns the object that `read` has filled; otherwise nothing, and `to` says where the text is wrong.
template <class Object, class Read>
auto read_log_object(std::string_view text, const char* what, ErrorRef to, Read read) -> std::optional<Object> {
  Error error;
  std::optional<Object> object{std::in_place};
  LogTextReader reader{text};
  if (text.size() > max_log_text_bytes || !read(reader, *object) || !reader.end()) {
    error = {export_errc::bad_object, std::string{what} + " at offset " + std::to_string(reader.offset())};
    object.reset();
  }
  to.set(std::move(error));
  return object;
}

DISTRIB_DECL auto read_log_format(LogTextReader& reader) -> bool {
  std::uint64_t format = 0;
  return reader.count(format) && format == log_format;
}

}  // namespace detail

DISTRIB_DECL auto is_log_object(std::string_view name) noexcept -> bool {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || name.size() > detail::max_log_name_bytes) return false;
  const std::string_view folder = name.substr(0, slash);
  const std::string_view file = name.substr(slash + 1);
  if (folder != "manifests" && folder != "parts" && folder != "votes") return false;
  if (file.empty() || file.front() == '.') return false;
  return file.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz-.") == std::string_view::npos;
}

DISTRIB_DECL auto hash_in_name(std::string_view name) noexcept -> std::optional<Sha256Digest> {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || name.size() - dash - 1 < 64) return std::nullopt;
  const std::string_view rest = name.substr(dash + 65);
  if (rest != ".json" && rest != ".safetensors") return std::nullopt;
  return parse_sha256(name.substr(dash + 1, 64));
}

DISTRIB_DECL auto manifest_name(LogPosition position, std::string_view text) -> std::string {
  return "manifests/" + detail::log_number(position) + "-" + to_hex(sha256(as_bytes(text))) + ".json";
}

DISTRIB_DECL auto part_name(std::uint64_t label, std::uint32_t shard, std::uint32_t shards, ByteView bytes)
    -> std::string {
  return "parts/" + detail::log_number(label) + "-s" + std::to_string(shard) + "-of-" + std::to_string(shards) + "-" +
         to_hex(sha256(bytes)) + ".safetensors";
}

DISTRIB_DECL auto base_name(std::uint64_t label, std::uint32_t shard, std::uint32_t shards, std::uint64_t epoch,
                            ByteView bytes) -> std::string {
  return "parts/" + detail::log_number(label) + "-s" + std::to_string(shard) + "-of-" + std::to_string(shards) +
         "-base-e" + std::to_string(epoch) + "-" + to_hex(sha256(bytes)) + ".safetensors";
}

DISTRIB_DECL auto vote_name(std::uint64_t label, std::uint32_t shard, std::uint64_t epoch) -> std::string {
  return "votes/" + detail::log_number(label) + "-s" + std::to_string(shard) + "-e" + std::to_string(epoch) + ".json";
}

DISTRIB_DECL auto LogManifest::is_place_of(const std::vector<LogBase>& named) const noexcept -> bool {
  return std::ranges::equal(parts, named, {}, &LogPart::name, &LogBase::of);
}

DISTRIB_DECL void LogManifest::add_up_bytes(const LogManifest* last) noexcept {
  const auto sum = [](const auto& list) {
    std::uint64_t bytes = 0;
    for (const auto& one : list) bytes += one.bytes;
    return bytes;
  };
  const std::uint64_t own = sum(parts);
  base_bytes = delta_bytes = 0;
  if (is_base()) {
    base_bytes = own;
  } else if (!bases.empty() && (last == nullptr || last->bases != bases)) {
    base_bytes = sum(bases);
    delta_bytes = own;
  } else if (last != nullptr) {
    const bool is_told = last->base_bytes != 0 || !last->is_base();
    base_bytes = is_told ? last->base_bytes : sum(last->parts);
    if (base_bytes != 0) delta_bytes = last->delta_bytes + own;
  }
}

DISTRIB_DECL auto to_text(const LogHead& head) -> std::string {
  std::string text = R"({"format":1,"log":")" + detail::log_hex(head.log) + R"(","position":)" +
                     json_text(head.position) + R"(,"manifest":)" + json_text(head.manifest) + R"(,"epochs":[)";
  for (std::size_t i = 0; i < head.epochs.size(); ++i) text += (i == 0 ? "" : ",") + json_text(head.epochs[i]);
  return text + "]}\n";
}

DISTRIB_DECL auto to_text(const LogManifest& manifest) -> std::string {
  std::string text = R"({"format":1,"log":")" + detail::log_hex(manifest.log) + R"(","position":)" +
                     json_text(manifest.position) + R"(,"before":)" + json_text(manifest.before) + R"(,"step":)" +
                     json_text(manifest.step) + R"(,"lineage":")" + detail::log_hex(manifest.lineage) +
                     R"(","parts":[)";
  for (const LogPart& part : manifest.parts)
    text += (&part == manifest.parts.data() ? "" : ",") + detail::part_text(part);
  text += "]," + detail::tables_text(manifest.tables);
  for (const LogBase& base : manifest.bases)
    text += (&base == manifest.bases.data() ? R"(,"bases":[)" : ",") + detail::base_text(base);
  if (!manifest.bases.empty()) text += ']';
  if (manifest.base_bytes != 0)
    text +=
        R"(,"base_bytes":)" + json_text(manifest.base_bytes) + R"(,"delta_bytes":)" + json_text(manifest.delta_bytes);
  return text + "}\n";
}

DISTRIB_DECL auto to_text(const LogVote& vote) -> std::string {
  return R"({"format":1,"label":)" + json_text(vote.label) + R"(,"step":)" + json_text(vote.step) + R"(,"lineage":")" +
         detail::log_hex(vote.lineage) + R"(","shard":)" + json_text(vote.shard) + R"(,"shards":)" +
         json_text(vote.shards) + R"(,"epoch":)" + json_text(vote.epoch) + R"(,"part":)" +
         detail::part_text(vote.part) + "," + detail::tables_text(vote.tables) +
         (vote.base ? R"(,"base":)" + detail::base_text(*vote.base) : std::string{}) + "}\n";
}

DISTRIB_DECL auto parse_log_head(std::string_view text, ErrorRef to) -> std::optional<LogHead> {
  return detail::read_log_object<LogHead>(text, "head", to, [](detail::LogTextReader& reader, LogHead& head) {
    const bool taken = reader.object({"format", "log", "position", "manifest", "epochs"}, [&](std::string_view member) {
      if (member == "format") return detail::read_log_format(reader);
      if (member == "log") return reader.words(head.log);
      if (member == "position") return reader.count(head.position);
      if (member == "manifest") return detail::read_log_name(reader, head.manifest, true);
      if (member == "epochs")
        return reader.array(max_log_shards, [&] { return reader.this_count(head.epochs.emplace_back()); });
      return reader.skip();
    });
    if (!taken || (head.position == 0) != head.manifest.empty()) return false;
    return head.manifest.empty() || hash_in_name(head.manifest).has_value();
  });
}

DISTRIB_DECL auto parse_log_manifest(std::string_view text, ErrorRef to) -> std::optional<LogManifest> {
  return detail::read_log_object<LogManifest>(
      text, "manifest", to, [](detail::LogTextReader& reader, LogManifest& manifest) {
        const bool taken = reader.object({"format", "log", "position", "before", "step", "lineage", "parts", "tables"},
                                         [&](std::string_view member) {
                                           if (member == "format") return detail::read_log_format(reader);
                                           if (member == "log") return reader.words(manifest.log);
                                           if (member == "position") return reader.count(manifest.position);
                                           if (member == "before")
                                             return detail::read_log_name(reader, manifest.before, true);
                                           if (member == "step") return reader.count(manifest.step);
                                           if (member == "lineage") return reader.words(manifest.lineage);
                                           if (member == "parts")
                                             return reader.array(max_log_shards, [&] {
                                               return detail::read_log_part(reader, manifest.parts.emplace_back());
                                             });
                                           if (member == "tables")
                                             return detail::read_log_tables(reader, manifest.tables);
                                           if (member == "bases")
                                             return reader.array(max_log_shards, [&] {
                                               return detail::read_log_base(reader, manifest.bases.emplace_back());
                                             });
                                           if (member == "base_bytes") return reader.count(manifest.base_bytes);
                                           if (member == "delta_bytes") return reader.count(manifest.delta_bytes);
                                           return reader.skip();
                                         });
        if (!taken || manifest.parts.empty() || manifest.position == 0) return false;
        if (!manifest.bases.empty() && manifest.bases.size() != manifest.parts.size()) return false;
        for (const LogBase& base : manifest.bases)
          if (base.label != manifest.bases.front().label) return false;
        if (!manifest.before.empty() && !hash_in_name(manifest.before)) return false;
        return manifest.before.empty() == (manifest.position == 1);
      });
}

DISTRIB_DECL auto parse_log_vote(std::string_view text, ErrorRef to) -> std::optional<LogVote> {
  return detail::read_log_object<LogVote>(text, "vote", to, [](detail::LogTextReader& reader, LogVote& vote) {
    std::uint64_t shard = 0;
    std::uint64_t shards = 0;
    const bool taken =
        reader.object({"format", "label", "step", "lineage", "shard", "shards", "epoch", "part", "tables"},
                      [&](std::string_view member) {
                        if (member == "format") return detail::read_log_format(reader);
                        if (member == "label") return reader.count(vote.label);
                        if (member == "step") return reader.count(vote.step);
                        if (member == "lineage") return reader.words(vote.lineage);
                        if (member == "shard") return reader.count(shard, max_log_shards - 1);
                        if (member == "shards") return reader.count(shards, max_log_shards);
                        if (member == "epoch") return reader.count(vote.epoch);
                        if (member == "part") return reader.begin_object() && detail::read_log_part(reader, vote.part);
                        if (member == "tables") return detail::read_log_tables(reader, vote.tables);
                        if (member == "base")
                          return reader.begin_object() && detail::read_log_base(reader, vote.base.emplace());
                        return reader.skip();
                      });
    vote.shard = static_cast<std::uint32_t>(shard);
    vote.shards = static_cast<std::uint32_t>(shards);
    return taken && shard < shards;
  });
}

}  // namespace v0
}  // namespace distrib
