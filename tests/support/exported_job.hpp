// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/catch.hpp"

#include <distrib/export_log/export_core.hpp>
#include <distrib/export_log/export_log.hpp>
#include <distrib/export_log/log_part.hpp>
#include <distrib/sharding/virtual_shard.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace support {

/// A job of some shards that exports one table "t" of any keys, with rows of 4 floats, and a dense variable "bias" of
/// two numbers for each shard, into a directory or a store. Shard i has an equal range of virtual shards. At each
/// `base_every`-th step bases are due; `write_bases` writes them. Every function must succeed.
class ExportedJob {
 public:
  using Row = std::array<float, 4>;

  explicit ExportedJob(const std::string& log, std::uint32_t shards = 1, std::uint64_t lineage = 1,
                       distrib::OpenObjectStore open = {}, std::uint64_t base_every = 1000)
      : log_{log, std::move(open)}, shards_(shards) {
    for (std::uint32_t i = 0; i < shards; ++i) {
      distrib::ExportRules rules;
      rules.shard = i;
      rules.shards = shards;
      rules.new_log = 77;
      rules.base_every = base_every;
      shards_[i].core.emplace(rules, lineage, distrib::ExportMark{});
      distrib::ExportActions todo;
      shards_[i].core->start(todo);
      perform(*shards_[i].core, std::move(todo));
    }
  }

  /// The rows now; what changed since the last export is known by comparison.
  std::map<std::uint64_t, Row> rows;
  float bias = 0;

  /// Exports what there is as a position at `step`.
  void export_at(std::uint64_t step, bool all_rows = false) {
    for (std::uint32_t i = 0; i < shards_.size(); ++i) write(i, step, all_rows);
    for (Shard& shard : shards_) {
      distrib::ExportActions todo;
      shard.core->poll(todo);
      perform(*shard.core, std::move(todo));
    }
  }

  /// Writes the bases that were copied; the next position names them. Returns their names.
  auto write_bases() -> std::vector<std::string> {
    std::vector<std::string> names;
    for (Shard& shard : shards_) {
      if (!shard.base) continue;
      distrib::Error error;
      log_.put(shard.base->name, shard.bytes_of_base, error);
      REQUIRE(!error);
      shard.core->base_written(shard.base->label, shard.base->name, shard.bytes_of_base.size());
      names.push_back(shard.base->name);
      shard.base.reset();
    }
    return names;
  }

  [[nodiscard]] auto log() -> distrib::ExportLog& { return log_; }
  [[nodiscard]] auto digest() const -> distrib::RowDigest {
    distrib::RowDigest sum;
    for (const auto& [key, row] : rows) sum += distrib::row_digest(key, std::as_bytes(std::span{row}));
    return sum;
  }
  /// The initial row of a key.
  static auto initial(std::uint64_t key) -> Row {
    Row row{};
    const distrib::LogTable table = settings();
    distrib::RowInitializer{table.info, table.seed}(key, row);
    return row;
  }

 private:
  struct Shard {
    std::optional<distrib::ExportCore> core;
    std::map<std::uint64_t, Row> exported;
    std::optional<distrib::LogBase> base;  // copied, and not written
    std::vector<std::byte> bytes_of_base;
  };

  static auto settings() -> distrib::LogTable {
    distrib::LogTable table;
    table.info.name = "t";
    table.info.dim = 4;
    table.seed = 3;
    return table;
  }
  [[nodiscard]] auto owned(std::uint32_t shard) const -> distrib::LogRange {
    const std::uint64_t count = shards_.size();
    return {shard * std::uint64_t{distrib::num_virtual_shards} / count,
            (shard + 1) * std::uint64_t{distrib::num_virtual_shards} / count};
  }

  void write(std::uint32_t number, std::uint64_t step, bool all_rows) {
    Shard& shard = shards_[number];
    const distrib::LogRange range = owned(number);
    std::map<std::uint64_t, Row> own;
    distrib::LogTable table = settings();
    for (const auto& [key, row] : rows) {
      const std::uint64_t place = distrib::virtual_shard(key);
      if (place < range.first || place >= range.end) continue;
      own.emplace(key, row);
      table.digest += distrib::row_digest(key, std::as_bytes(std::span{row}));
    }
    table.rows = own.size();
    const distrib::ExportPlan plan = shard.core->plan(step, table.digest, 0, all_rows);
    REQUIRE(plan.kind != distrib::ExportPlan::Kind::nothing);
    const bool is_full = plan.kind == distrib::ExportPlan::Kind::full;
    const auto shards = static_cast<std::uint32_t>(shards_.size());
    if (plan.with_base) {
      shard.bytes_of_base = part_of(number, step, {}, own, {}, true);
      shard.base.emplace().label = plan.label;
      shard.base->name = distrib::base_name(plan.label, number, shards, shard.core->epoch(), shard.bytes_of_base);
      shard.core->base_taken();
    }
    const std::vector<std::byte> bytes = part_of(number, step, plan.on, own, shard.exported, is_full);
    const std::string name = distrib::part_name(plan.label, number, shards, bytes);
    distrib::Error error;
    log_.put(name, bytes, error);
    REQUIRE(!error);
    shard.core->written(step, {name, bytes.size(), plan.on, table.digest}, {table});
    shard.exported = std::move(own);
    distrib::ExportActions todo;
    shard.core->vote(todo);
    perform(*shard.core, std::move(todo));
  }

  auto part_of(std::uint32_t number, std::uint64_t step, const std::string& on, const std::map<std::uint64_t, Row>& own,
               const std::map<std::uint64_t, Row>& exported, bool is_full) const -> std::vector<std::byte> {
    std::vector<std::uint64_t> keys;
    std::vector<Row> values;
    std::vector<std::uint64_t> gone;
    for (const auto& [key, row] : own) {
      const auto before = exported.find(key);
      if (!is_full && before != exported.end() && before->second == row) continue;
      keys.push_back(key);
      values.push_back(row);
    }
    for (const auto& [key, row] : exported)
      if (!is_full && !own.contains(key)) gone.push_back(key);
    const std::array<float, 2> numbers{bias, static_cast<float>(number)};
    const distrib::Shape whole{static_cast<std::int64_t>(2 * shards_.size())};
    distrib::PartContents contents;
    contents.step = step;
    contents.shard = number;
    contents.on = on;
    contents.tables.push_back({"t",
                               4,
                               distrib::FloatFormat::float32,
                               {owned(number)},
                               std::as_bytes(std::span{keys}),
                               std::as_bytes(std::span{values}),
                               std::as_bytes(std::span{gone})});
    contents.slices.push_back({"bias", distrib::DType::float32, whole,
                               distrib::Slice::along(whole, 0, std::int64_t{2} * number, 2),
                               std::as_bytes(std::span{numbers})});
    distrib::Error error;
    std::vector<std::byte> bytes = distrib::write_log_part(contents, error);
    REQUIRE(!error);
    return bytes;
  }

  void perform(distrib::ExportCore& core, distrib::ExportActions todo) {
    using namespace distrib::export_action;
    for (std::size_t at = 0; at < todo.size(); ++at) {
      const distrib::ExportAction action = todo[at];
      distrib::Error error;
      if (std::holds_alternative<ReadLog>(action)) {
        distrib::LogView view;
        if (auto head = log_.read_head(error)) view = {head->head, head->version, std::nullopt};
        if (error.code == distrib::export_errc::no_log) error = {};
        if (!view.head.manifest.empty()) {
          const auto bytes = log_.get(view.head.manifest, distrib::max_log_text_bytes, error);
          view.manifest = distrib::parse_log_manifest(distrib::as_text(distrib::ByteView{bytes}), error);
        }
        core.log_read(std::move(view), todo);
      } else if (const auto* const swap = std::get_if<SwapHead>(&action)) {
        core.swapped(log_.swap_head(swap->version, swap->head, error), todo);
      } else if (const auto* const put = std::get_if<Put>(&action)) {
        log_.put(put->name, distrib::as_bytes(put->text), error);
      } else if (const auto* const remove = std::get_if<Remove>(&action)) {
        log_.remove(remove->name, error);
      } else if (const auto* const votes = std::get_if<ReadVotes>(&action)) {
        std::vector<std::optional<distrib::LogVote>> read;
        for (const std::string& name : votes->names) {
          const auto bytes = log_.get(name, distrib::max_log_text_bytes, error);
          read.push_back(error ? std::nullopt
                               : distrib::parse_log_vote(distrib::as_text(distrib::ByteView{bytes}), error));
        }
        error = {};
        core.votes_read(read, todo);
      }
      INFO(error.where);
      REQUIRE(!error);
    }
  }

  distrib::ExportLog log_;
  std::vector<Shard> shards_;
};

}  // namespace support
