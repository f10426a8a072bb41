// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/export_log/log_part.hpp>

#include <distrib/checkpoint/formats/safetensors_header.hpp>
#include <distrib/checkpoint/formats/safetensors_writer.hpp>
#include <distrib/checkpoint/stored_tensor.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/export_log/log_objects.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

inline constexpr std::string_view slice_infix = "/slice/";

DISTRIB_DECL auto ascending_keys(ByteView keys) noexcept -> bool {
  for (std::size_t at = 8; at < keys.size(); at += 8)
    if (load_le<std::uint64_t>(keys.data() + at - 8) >= load_le<std::uint64_t>(keys.data() + at)) return false;
  return true;
}

// True if no key is in both lists, which ascend.
DISTRIB_DECL auto disjoint_keys(ByteView left, ByteView right) noexcept -> bool {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < left.size() && j < right.size()) {
    const auto a = load_le<std::uint64_t>(left.data() + i);
    const auto b = load_le<std::uint64_t>(right.data() + j);
    if (a == b) return false;
    (a < b ? i : j) += 8;
  }
  return true;
}

// The tensors of a part by their names.
class PartTensors {
 public:
  PartTensors(ByteView bytes, const SafetensorsHeader& header) : bytes_{bytes}, header_{&header} {}

  // Returns a tensor of `rank` axes and one of these types; nullptr if there is no such one.
  [[nodiscard]] auto find(const std::string& name, std::size_t rank, DType dtype) const -> const StoredTensor* {
    const auto at = std::ranges::lower_bound(header_->tensors, name, {}, &StoredTensor::name);
    if (at == header_->tensors.end() || at->name != name || at->shape.rank() != rank) return nullptr;
    return at->dtype == dtype && at->other_type.empty() ? &*at : nullptr;
  }
  [[nodiscard]] auto bytes(const StoredTensor& tensor) const -> ByteView {
    const StoredTensor::Piece& piece = tensor.pieces.front();
    return bytes_.subspan(static_cast<std::size_t>(piece.offset), static_cast<std::size_t>(piece.size_bytes));
  }

 private:
  ByteView bytes_;
  const SafetensorsHeader* header_;
};

DISTRIB_DECL auto read_part_table(const PartTensors& tensors, PartTable& table) -> bool {
  const StoredTensor* const keys = tensors.find(table.name + "/keys", 1, DType::uint64);
  const StoredTensor* const gone = tensors.find(table.name + "/gone", 1, DType::uint64);
  const StoredTensor* const owned = tensors.find(table.name + "/owned", 2, DType::uint64);
  const StoredTensor* values = tensors.find(table.name + "/values", 2, DType::float32);
  if (values == nullptr) {
    values = tensors.find(table.name + "/values", 2, DType::bfloat16);
    table.format = FloatFormat::bfloat16;
  }
  if (keys == nullptr || gone == nullptr || owned == nullptr || values == nullptr) return false;
  if (values->shape[0] != keys->shape[0] || values->shape[1] < 1 || values->shape[1] > (1 << 20)) return false;
  if (owned->shape[1] != 2) return false;
  table.dim = static_cast<std::uint32_t>(values->shape[1]);
  table.keys = tensors.bytes(*keys);
  table.values = tensors.bytes(*values);
  table.gone = tensors.bytes(*gone);
  const ByteView ranges = tensors.bytes(*owned);
  std::uint64_t end = 0;
  for (std::size_t at = 0; at < ranges.size(); at += 16) {
    const LogRange range{load_le<std::uint64_t>(ranges.data() + at), load_le<std::uint64_t>(ranges.data() + at + 8)};
    if (range.first < end || range.end <= range.first) return false;
    end = range.end;
    table.owned.push_back(range);
  }
  return ascending_keys(table.keys) && ascending_keys(table.gone) && disjoint_keys(table.keys, table.gone);
}

DISTRIB_DECL auto read_part_slice(const PartTensors& tensors, const StoredTensor& tensor, std::string_view place,
                                  PartSlice& slice) -> bool {
  const std::size_t space = place.find(' ');
  const auto shape = parse_shape(place.substr(0, space));
  if (space == std::string_view::npos || !shape) return false;
  const auto box = parse_slice(place.substr(space + 1));
  if (!box || !box->inside(*shape) || box->extents != tensor.shape || !tensor.is_readable()) return false;
  slice.dtype = tensor.stored_dtype();
  slice.shape = *shape;
  slice.slice = *box;
  slice.bytes = tensors.bytes(tensor);
  return true;
}

DISTRIB_DECL auto read_part(ByteView bytes, const SafetensorsHeader& header, PartContents& contents) -> bool {
  const PartTensors tensors{bytes, header};
  const auto text_of = [&](const char* name) -> const std::string* {
    const auto at = header.metadata.find(name);
    return at == header.metadata.end() ? nullptr : &at->second;
  };
  const std::string* const step = text_of("step");
  const std::string* const shard = text_of("shard");
  const std::string* const on = text_of("on");
  if (step == nullptr || shard == nullptr || on == nullptr) return false;
  const auto step_number = parse_whole<std::uint64_t>(*step);
  const auto shard_number = parse_whole<std::uint32_t>(*shard);
  if (!step_number || !shard_number || *shard_number >= max_log_shards) return false;
  if (!on->empty() && !is_log_object(*on)) return false;
  contents.step = *step_number;
  contents.shard = *shard_number;
  contents.on = *on;
  std::size_t of_tables = 0;
  for (const StoredTensor& tensor : header.tensors) {
    if (const auto place = header.metadata.find(tensor.name); place != header.metadata.end()) {
      PartSlice slice;
      slice.name = tensor.name.substr(0, tensor.name.rfind(slice_infix));
      if (slice.name.size() == tensor.name.size()) return false;
      if (!read_part_slice(tensors, tensor, place->second, slice)) return false;
      contents.slices.push_back(std::move(slice));
    } else if (tensor.name.ends_with("/keys")) {
      PartTable& table = contents.tables.emplace_back();
      table.name = tensor.name.substr(0, tensor.name.size() - 5);
      if (!read_part_table(tensors, table)) return false;
      of_tables += 4;
    }
  }
  // Every tensor is one of those. The tables are in the order of their names with "/keys" behind them.
  std::ranges::sort(contents.tables, {}, &PartTable::name);
  return of_tables + contents.slices.size() == header.tensors.size();
}

}  // namespace detail

DISTRIB_DECL auto write_log_part(const PartContents& contents, ErrorRef to) -> std::vector<std::byte> {
  SafetensorsOptions options;
  options.metadata = {
      {"step", std::to_string(contents.step)}, {"shard", std::to_string(contents.shard)}, {"on", contents.on}};
  std::vector<NamedTensor> tensors;
  std::vector<std::vector<std::uint64_t>> ranges;
  ranges.reserve(contents.tables.size());
  const auto shape = [](std::size_t rows, std::size_t columns) {
    return Shape{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
  };
  for (const PartTable& table : contents.tables) {
    std::vector<std::uint64_t>& owned = ranges.emplace_back();
    for (const LogRange& range : table.owned) owned.insert(owned.end(), {range.first, range.end});
    const auto count = [](ByteView keys) { return Shape{static_cast<std::int64_t>(keys.size() / 8)}; };
    tensors.push_back({table.name + "/keys", DType::uint64, count(table.keys), table.keys});
    tensors.push_back({table.name + "/gone", DType::uint64, count(table.gone), table.gone});
    tensors.push_back(
        {table.name + "/owned", DType::uint64, shape(table.owned.size(), 2), std::as_bytes(std::span{owned})});
    tensors.push_back(
        {table.name + "/values", detail::to_dtype(table.format), shape(table.rows(), table.dim), table.values});
  }
  std::map<std::string, std::size_t> numbers;
  for (const PartSlice& slice : contents.slices) {
    std::string name = slice.name + std::string{detail::slice_infix} + std::to_string(numbers[slice.name]++);
    options.metadata[name] = to_string(slice.shape) + " " + to_string(slice.slice);
    tensors.push_back({std::move(name), slice.dtype, slice.slice.extents, slice.bytes});
  }
  std::vector<std::byte> bytes;
  Error error;
  const FilePlan plan = plan_safetensors("part", tensors, options, error);
  std::uint64_t size = 0;
  for (const FileAction& action : plan) size += action.size();
  bytes.reserve(static_cast<std::size_t>(size));
  for (const FileAction& action : plan) {
    for (const ByteView view : action.views) bytes.insert(bytes.end(), view.begin(), view.end());
    bytes.insert(bytes.end(), action.owned.begin(), action.owned.end());
  }
  to.set(std::move(error));
  return bytes;
}

DISTRIB_DECL auto parse_log_part(ByteView bytes, ErrorRef to) -> std::optional<PartContents> {
  Error error;
  SafetensorsHeader header;
  std::optional<PartContents> contents;
  if (!parse_safetensors(bytes, bytes.size(), header, error)) {
    error.code = export_errc::bad_object;
  } else if (contents.emplace(); !detail::read_part(bytes, header, *contents)) {
    contents.reset();
    error = {export_errc::bad_object, "part"};
  }
  to.set(std::move(error));
  return contents;
}

}  // namespace v0
}  // namespace distrib
