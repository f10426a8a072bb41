// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/server/export_part.hpp>

#include <distrib/core/half.hpp>
#include <distrib/export_log/log_part.hpp>

#include "ps/exported_store.hpp"
#include "support/catch.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

using distrib::ExportPartWriter;
using distrib::LogRange;
using distrib::RowDigest;
using distrib::TakenPart;

namespace {

auto taken_part(const ExportPartWriter& writer, std::size_t dense_bytes) -> TakenPart {
  TakenPart part;
  part.step = 12;
  part.label = 12;
  part.dense = std::make_shared<distrib::AlignedBuffer>(dense_bytes);
  part.tables.resize(3);
  part.tables[0].keys = {9, 2, 5};  // words, dim 3
  part.tables[0].values = {9, 9, 9, 2, 2, 2, 5, 5, 5};
  part.tables[0].gone = {1, 7};
  part.tables[0].rows = 30;
  part.tables[0].digest = {4, 5};
  part.tables[2].keys = {3};  // half, dim 5
  part.tables[2].values = {1.5F, 2, -4, 0, 1};
  static_cast<void>(writer);
  return part;
}

}  // namespace

TEST_CASE("ExportPartWriter: a part has ascending keys, tables by name, and what the shard owns", "[ps]") {
  const distrib::Job job = exported_store::job(2);
  const ExportPartWriter writer{job, 1};
  CHECK(writer.shard() == 1);
  CHECK(writer.shards() == 2);
  const distrib::ShardLayout layout{job, 1};
  TakenPart part = taken_part(writer, layout.block_bytes());
  distrib::Error error;
  const std::vector<std::byte> bytes = writer.write(part, error);
  REQUIRE_FALSE(error);
  const auto read = distrib::parse_log_part(bytes, error);
  REQUIRE(read);
  CHECK(read->step == 12);
  CHECK(read->shard == 1);
  CHECK(read->on.empty());
  REQUIRE(read->tables.size() == 3);
  CHECK(read->tables[0].name == "classes");
  CHECK(read->tables[0].owned == std::vector<LogRange>{{20, 40}});
  CHECK(read->tables[1].name == "half");
  CHECK(read->tables[1].format == distrib::FloatFormat::bfloat16);
  std::vector<float> row(5);
  read->tables[1].row(0, row);
  CHECK(row == std::vector<float>{1.5F, 2, -4, 0, 1});
  const distrib::PartTable& words = read->tables[2];
  REQUIRE(words.rows() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::uint64_t key = std::array<std::uint64_t, 3>{2, 5, 9}[i];
    CHECK(words.key(i) == key);
    row.resize(3);
    words.row(i, row);
    CHECK(row == std::vector<float>(3, static_cast<float>(key)));
  }
  REQUIRE(words.gone_keys() == 2);
  CHECK(words.gone_key(1) == 7);
  for (std::uint32_t v = 0; v < distrib::num_virtual_shards; ++v) {
    const bool is_owned =
        std::ranges::any_of(words.owned, [v](const LogRange& range) { return range.first <= v && v < range.end; });
    REQUIRE(is_owned == layout.tables()[0].has_virtual_shard(v));
  }
  REQUIRE(read->slices.size() == 1);
  CHECK(read->slices[0].name == "dense");
  CHECK(read->slices[0].slice == distrib::Slice::along({6}, 0, 2, 4));

  const std::vector<distrib::LogTable> tables = writer.tables(part);
  REQUIRE(tables.size() == 3);
  CHECK(tables[2].info.name == "words");
  CHECK(tables[2].seed == job.seed);
  CHECK(tables[2].rows == 30);
  CHECK(tables[2].digest == RowDigest{4, 5});
  part.on = "parts/1-" + std::string(64, 'a') + ".safetensors";
  const std::vector<std::byte> delta = writer.write(part, error);
  REQUIRE_FALSE(error);
  CHECK(distrib::parse_log_part(delta, error)->on == part.on);
}

TEST_CASE("ExportPartWriter: equal states have equal digests, and tables that change places do not", "[ps]") {
  const std::vector<float> dense{1, 2, 3};
  const std::vector<RowDigest> tables{{1, 2}, {3, 4}};
  const std::vector<RowDigest> turned{{3, 4}, {1, 2}};
  const auto bytes = std::as_bytes(std::span{dense});
  CHECK(ExportPartWriter::state(bytes, tables) == ExportPartWriter::state(bytes, tables));
  CHECK(ExportPartWriter::state(bytes, tables) != ExportPartWriter::state(bytes, turned));
  CHECK(ExportPartWriter::state(bytes, tables) != ExportPartWriter::state(bytes.first(8), tables));
}
