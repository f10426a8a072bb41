// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/example/detail/tensor_builder.hpp>

#include <distrib/core/bytes.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto TensorBuilder::build(const NamedSpec& named, const Splits* steps) -> ParsedFeature {
  steps_ = steps;
  ParsedFeature result;
  result.name = named.name;
  result.kind = named.spec.kind;
  if (!named.spec.otherwise.bytes.empty()) result.keep_alive = keys_.owned();
  using Form = FeatureSpec::Form;
  switch (named.spec.form) {
    case Form::fixed_len: fixed(named, result); break;
    case Form::fixed_len_sequence: padded(named, steps, result); break;
    case Form::var_len: listed(keys_.slot(named.name), steps, result); break;
    case Form::sparse: sparse(named, result); break;
    case Form::ragged: ragged(named, steps, result); break;
  }
  return result;
}

DISTRIB_DECL void TensorBuilder::copy_values(const FeatureSlot& slot, ParsedFeature& result) {
  result.count = slot.values.size() / width_of(slot.kind);
  result.memory = AlignedBuffer::for_overwrite(slot.values.size());
  if (slot.values.size() != 0) std::memcpy(result.memory.data(), slot.values.data(), slot.values.size());
}

DISTRIB_DECL void TensorBuilder::refuse(example_errc code, std::string_view name, std::size_t row,
                                        std::string_view why) {
  if (error_) return;
  const std::string quoted = " \"" + std::string{name} + "\"";
  std::string where = "record " + std::to_string(row) + ", feature" + quoted;
  if (steps_ != nullptr) {
    const auto first = std::ranges::upper_bound(*steps_, static_cast<std::int64_t>(row)) - 1;
    where = "record " + std::to_string(first - steps_->begin()) + ", feature list" + quoted + ", step " +
            std::to_string(static_cast<std::int64_t>(row) - *first);
  }
  error_ = {code, where + " " + std::string{why}};
}

DISTRIB_DECL void TensorBuilder::fixed(const NamedSpec& named, ParsedFeature& result) {
  FeatureSlot& slot = keys_.slot(named.name);
  result.shape.push_back(static_cast<std::int64_t>(rows_));
  for (const std::int64_t extent : named.spec.shape.extents()) result.shape.push_back(extent);
  result.count = rows_ * slot.count;
  result.memory = std::move(slot.memory);
}

DISTRIB_DECL void TensorBuilder::padded(const NamedSpec& named, const Splits* steps, ParsedFeature& result) {
  const FeatureSlot& slot = keys_.slot(named.name);
  const std::size_t width = width_of(slot.kind);
  const std::int64_t block = SpecKeys::elements(named.spec.shape);
  const auto splits = splits_of(slot);
  const std::size_t records = steps != nullptr ? steps->size() - 1 : rows_;
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < records; ++i) {
    const std::int64_t values = steps != nullptr ? ((*steps)[i + 1] - (*steps)[i]) * block : splits[i + 1] - splits[i];
    if (values % block != 0)
      return refuse(example_errc::wrong_count, slot.name, i,
                    "has " + std::to_string(values) + " values, not a multiple of " + std::to_string(block));
    result.lengths.push_back(values / block);
    longest = std::max(longest, values / block);
  }
  result.shape = {static_cast<std::int64_t>(records), longest};
  for (const std::int64_t extent : named.spec.shape.extents()) result.shape.push_back(extent);

  const std::size_t row = static_cast<std::size_t>(longest * block);
  if (row != 0 && records > most_padded / row)
    return refuse(example_errc::wrong_count, slot.name, 0,
                  "has too many values in all records together when they are padded");
  result.count = records * row;
  result.memory = AlignedBuffer{result.count * width};  // zero bytes are 0, 0.0F and an empty view
  const FeatureDefault& pad = named.spec.otherwise;
  const ByteView pad_bytes = pad.bytes.empty() ? ByteView{} : as_bytes(pad.bytes[0]);
  const std::byte* const from = !pad.floats.empty()   ? reinterpret_cast<const std::byte*>(pad.floats.data())
                                : !pad.int64s.empty() ? reinterpret_cast<const std::byte*>(pad.int64s.data())
                                : !pad.bytes.empty()  ? reinterpret_cast<const std::byte*>(&pad_bytes)
                                                      : nullptr;
  std::size_t taken = 0;
  for (std::size_t i = 0; i < records; ++i) {
    std::byte* const to = result.memory.data() + i * row * width;
    const std::size_t have = static_cast<std::size_t>(result.lengths[i] * block);
    if (have != 0) std::memcpy(to, slot.values.data() + taken * width, have * width);
    taken += have;
    for (std::size_t j = have; from != nullptr && j < row; ++j) std::memcpy(to + j * width, from, width);
  }
  if (steps == nullptr) result.lengths.clear();
}

DISTRIB_DECL void TensorBuilder::listed(const FeatureSlot& slot, const Splits* steps, ParsedFeature& result) {
  result.form = ParsedFeature::Form::sparse;
  copy_values(slot, result);
  const auto splits = splits_of(slot);
  std::int64_t longest = 0;
  std::int64_t most_steps = 0;
  std::size_t record = 0;
  for (std::size_t row = 0; row < rows_; ++row) {
    while (steps != nullptr && (*steps)[record + 1] <= static_cast<std::int64_t>(row)) ++record;
    longest = std::max(longest, splits[row + 1] - splits[row]);
    for (std::int64_t i = 0; i < splits[row + 1] - splits[row]; ++i) {
      result.indices.push_back(static_cast<std::int64_t>(steps != nullptr ? record : row));
      if (steps != nullptr) result.indices.push_back(static_cast<std::int64_t>(row) - (*steps)[record]);
      result.indices.push_back(i);
    }
  }
  for (std::size_t i = 0; steps != nullptr && i + 1 < steps->size(); ++i)
    most_steps = std::max(most_steps, (*steps)[i + 1] - (*steps)[i]);
  result.shape.push_back(static_cast<std::int64_t>(steps != nullptr ? steps->size() - 1 : rows_));
  if (steps != nullptr) result.shape.push_back(most_steps);
  result.shape.push_back(longest);
}

DISTRIB_DECL void TensorBuilder::sparse(const NamedSpec& named, ParsedFeature& result) {
  result.form = ParsedFeature::Form::sparse;
  const FeatureSpec& spec = named.spec;
  const FeatureSlot& values = keys_.slot(spec.value_key);
  const std::size_t axes = spec.sizes.size();
  const std::size_t rank = axes + 1;
  const auto splits = splits_of(values);
  copy_values(values, result);
  result.indices.resize(result.count * rank);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const FeatureSlot& index = keys_.slot(spec.index_keys[axis]);
    const auto index_splits = splits_of(index);
    const auto coordinates = index.values.as<std::int64_t>();
    for (std::size_t row = 0; row < rows_; ++row) {
      if (index_splits[row + 1] - index_splits[row] != splits[row + 1] - splits[row])
        return refuse(example_errc::bad_index, named.name, row,
                      "has " + std::to_string(splits[row + 1] - splits[row]) + " values and " +
                          std::to_string(index_splits[row + 1] - index_splits[row]) + " indices");
      for (std::int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        // all rows so far have as many indices as values
        const std::int64_t at = coordinates[static_cast<std::size_t>(i)];
        if (at < 0 || at >= spec.sizes[axis])
          return refuse(example_errc::bad_index, named.name, row,
                        "has index " + std::to_string(at) + ", but the size is " + std::to_string(spec.sizes[axis]));
        result.indices[static_cast<std::size_t>(i) * rank] = static_cast<std::int64_t>(row);
        result.indices[static_cast<std::size_t>(i) * rank + axis + 1] = at;
      }
    }
  }
  if (!spec.already_sorted) sort(result, rank);
  result.shape.push_back(static_cast<std::int64_t>(rows_));
  for (const std::int64_t size : spec.sizes) result.shape.push_back(size);
}

DISTRIB_DECL void TensorBuilder::sort(ParsedFeature& result, std::size_t rank) {
  std::vector<std::size_t> order(result.count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::int64_t* const indices = result.indices.data();
  std::sort(order.begin(), order.end(), [=](std::size_t a, std::size_t b) {
    for (std::size_t axis = 0; axis < rank; ++axis)
      if (indices[a * rank + axis] != indices[b * rank + axis])
        return indices[a * rank + axis] < indices[b * rank + axis];
    return a < b;
  });
  const std::size_t width = width_of(result.kind);
  AlignedBuffer values = AlignedBuffer::for_overwrite(result.count * width);
  Splits sorted(result.indices.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::memcpy(values.data() + i * width, result.memory.data() + order[i] * width, width);
    std::copy_n(indices + order[i] * rank, rank, sorted.data() + i * rank);
  }
  result.memory = std::move(values);
  result.indices = std::move(sorted);
}

DISTRIB_DECL void TensorBuilder::ragged(const NamedSpec& named, const Splits* steps, ParsedFeature& result) {
  result.form = ParsedFeature::Form::ragged;
  const FeatureSlot& slot = keys_.slot(SpecKeys::value_key(named));
  copy_values(slot, result);
  const auto ends = splits_of(slot);
  Splits rows(ends.begin(), ends.end());  // where the items of each record end, counted in items of the level below
  std::vector<Splits>& levels = result.row_splits;
  levels.clear();  // innermost first, reversed at the end
  for (std::size_t p = named.spec.partitions.size(); p-- > 0 && !error_;)
    levels.push_back(cut(named, named.spec.partitions[p], rows));
  levels.push_back(std::move(rows));
  if (steps != nullptr) levels.push_back(*steps);
  std::reverse(levels.begin(), levels.end());
}

DISTRIB_DECL auto TensorBuilder::cut(const NamedSpec& named, const RaggedPartition& partition, Splits& rows) -> Splits {
  Splits splits{0};
  Splits outer{0};
  const bool uniform = partition.form == RaggedPartition::Form::uniform;
  const FeatureSlot* const key = uniform ? nullptr : &keys_.slot(partition.key);
  for (std::size_t row = 0; row < rows_; ++row) {
    const std::int64_t items = rows[row + 1] - rows[row];
    std::span<const std::int64_t> given;
    if (key != nullptr) {
      const auto ends = splits_of(*key);
      given = key->values.as<std::int64_t>().subspan(static_cast<std::size_t>(ends[row]),
                                                     static_cast<std::size_t>(ends[row + 1] - ends[row]));
    }
    if (!cut_row(partition, given, items, splits)) {
      refuse(example_errc::bad_partition, named.name, row, "has " + std::to_string(items) + " items to cut");
      return splits;
    }
    outer.push_back(static_cast<std::int64_t>(splits.size()) - 1);
  }
  rows = std::move(outer);
  return splits;
}

DISTRIB_DECL auto TensorBuilder::cut_row(const RaggedPartition& partition, std::span<const std::int64_t> given,
                                         std::int64_t items, Splits& splits) -> bool {
  using Form = RaggedPartition::Form;
  const std::int64_t base = splits.back();
  std::int64_t end = 0;
  const auto end_at = [&](std::int64_t next) {
    if (next < end || next > items) return false;
    end = next;
    splits.push_back(base + end);
    return true;
  };
  bool good = true;
  switch (partition.form) {
    case Form::uniform:
      if (items % partition.length != 0) return false;
      while (good && end != items) good = end_at(end + partition.length);
      break;
    case Form::lengths:
      for (const std::int64_t length : given) good = good && length <= items && end_at(end + length);
      break;
    case Form::splits:
      if (!given.empty() && given[0] != 0) return false;
      for (std::size_t i = 1; i < given.size(); ++i) good = good && end_at(given[i]);
      break;
    case Form::limits:
      for (const std::int64_t limit : given) good = good && end_at(limit);
      break;
    case Form::starts:
      if (!given.empty() && given[0] != 0) return false;
      for (std::size_t i = 1; i < given.size(); ++i) good = good && end_at(given[i]);
      if (!given.empty()) good = good && end_at(items);
      break;
    case Form::row_ids: return cut_by_ids(given, items, splits);
  }
  return good && end == items;
}

DISTRIB_DECL auto TensorBuilder::cut_by_ids(std::span<const std::int64_t> ids, std::int64_t items, Splits& splits)
    -> bool {
  if (static_cast<std::int64_t>(ids.size()) != items) return false;
  const std::int64_t base = splits.back();
  std::int64_t row = 0;  // the row that is open
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < row || ids[i] > most_rows) return false;
    for (; row < ids[i]; ++row) splits.push_back(base + static_cast<std::int64_t>(i));
  }
  if (!ids.empty()) splits.push_back(base + items);
  return true;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
