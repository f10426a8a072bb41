// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/server/export_part.hpp>

#include <distrib/core/float_codec.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/ps/job/table_share.hpp>
#include <distrib/sharding/virtual_shard.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

// Virtual shards, or numbered rows, of a shard.
DISTRIB_DECL auto owned_ranges(const TableShare& share) -> std::vector<LogRange> {
  std::vector<LogRange> ranges;
  if (!share.info().any_key()) {
    if (share.rows() != 0) ranges.push_back({share.first(), share.first() + share.rows()});
    return ranges;
  }
  for (std::uint32_t v = 0; v < num_virtual_shards; ++v) {
    if (!share.has_virtual_shard(v)) continue;
    if (ranges.empty() || ranges.back().end != v) ranges.push_back({v, v});
    ++ranges.back().end;
  }
  return ranges;
}

// The keys and rows of a part, ascending, as bytes.
struct PartRows {
  std::vector<std::uint64_t> keys;
  std::vector<std::byte> values;
};

DISTRIB_DECL auto sorted_part_rows(const ExportedRows& rows, std::size_t dim, FloatFormat format) -> PartRows {
  PartRows sorted;
  const std::size_t row_bytes = dim * element_bytes(format);
  sorted.values.resize(rows.keys.size() * row_bytes);
  std::vector<std::pair<std::uint64_t, std::size_t>> order;  // keys and their places
  order.reserve(rows.keys.size());
  for (std::size_t row = 0; row < rows.keys.size(); ++row) order.emplace_back(rows.keys[row], row);
  if (!std::ranges::is_sorted(rows.keys)) std::ranges::sort(order);
  sorted.keys.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto [key, row] = order[i];
    sorted.keys.push_back(key);
    encode_elements(format, std::span{rows.values}.subspan(row * dim, dim), sorted.values.data() + i * row_bytes);
  }
  return sorted;
}

}  // namespace detail

DISTRIB_DECL auto TakenPart::size_bytes() const noexcept -> std::uint64_t {
  std::uint64_t bytes = dense->size();
  for (const ExportedRows& table : tables)
    bytes += sizeof(std::uint64_t) * (table.keys.size() + table.gone.size()) + sizeof(float) * table.values.size();
  return bytes;
}

DISTRIB_DECL ExportPartWriter::ExportPartWriter(const Job& job, std::uint32_t shard, FloatFormat rows_as)
    : layout_{job, shard}, shards_{job.shards()} {
  for (std::size_t i = 0; i < layout_.tables().size(); ++i) {
    const TableShare& share = layout_.tables()[i];
    Table& table = tables_.emplace_back();
    table.number = i;
    table.settings.info.name = share.info().name;
    table.settings.info.dim = share.info().dim;
    table.settings.info.rows = share.info().rows;
    table.settings.info.initializer = share.info().initializer;
    // Rows that are kept as bfloat16 have values that bfloat16 can express.
    const bool is_rounded = share.info().kept_as == FloatFormat::bfloat16;
    table.settings.info.kept_as = is_rounded ? FloatFormat::bfloat16 : rows_as;
    table.settings.seed = job.seed;
    table.owned = detail::owned_ranges(share);
  }
  std::ranges::sort(tables_, {}, [](const Table& table) -> const std::string& { return table.settings.info.name; });
}

DISTRIB_DECL auto ExportPartWriter::state(ByteView dense, std::span<const RowDigest> of_tables, FloatFormat rows_as)
    -> RowDigest {
  RowDigest state = row_digest(std::numeric_limits<std::uint64_t>::max(), dense);
  if (rows_as != FloatFormat::float32) state += row_digest(std::numeric_limits<std::uint64_t>::max() - 1, {});
  for (std::size_t i = 0; i < of_tables.size(); ++i) {
    const std::array words{of_tables[i].first, of_tables[i].second};
    state += row_digest(i, std::as_bytes(std::span{words}));
  }
  return state;
}

DISTRIB_DECL auto ExportPartWriter::write(const TakenPart& part, ErrorRef to) const -> std::vector<std::byte> {
  PartContents contents;
  contents.step = part.step;
  contents.shard = shard();
  contents.on = part.on;
  std::vector<detail::PartRows> rows;
  rows.reserve(tables_.size());
  for (const Table& table : tables_) {
    const ExportedRows& taken = part.tables[table.number];
    const TableInfo& info = table.settings.info;
    PartTable& written = contents.tables.emplace_back();
    written.name = info.name;
    written.dim = info.dim;
    written.format = info.kept_as;
    written.owned = table.owned;
    if (info.kept_as == FloatFormat::float32 && std::ranges::is_sorted(taken.keys)) {  // every delta
      written.keys = std::as_bytes(std::span{taken.keys});
      written.values = std::as_bytes(std::span{taken.values});
    } else {
      rows.push_back(detail::sorted_part_rows(taken, info.dim, info.kept_as));
      written.keys = std::as_bytes(std::span{rows.back().keys});
      written.values = rows.back().values;
    }
    written.gone = std::as_bytes(std::span{taken.gone});
  }
  for (const ShardLayout::Entry& entry : layout_.entries())
    contents.slices.push_back({entry.name, entry.dtype, entry.whole, entry.slice,
                               part.dense->bytes().subspan(entry.offset_bytes, entry.size_bytes)});
  // Slices of one variable stay in the order of the shard's block.
  std::ranges::sort(contents.slices, {},
                    [](const PartSlice& slice) { return std::pair{std::string_view{slice.name}, slice.bytes.data()}; });
  return write_log_part(contents, to);
}

DISTRIB_DECL auto ExportPartWriter::tables(const TakenPart& part) const -> std::vector<LogTable> {
  std::vector<LogTable> tables;
  for (const Table& table : tables_) {
    LogTable& named = tables.emplace_back(table.settings);
    named.rows = part.tables[table.number].rows;
    named.digest = part.tables[table.number].digest;
  }
  return tables;
}

}  // namespace v0
}  // namespace distrib
