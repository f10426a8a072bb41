// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/initial_cut.hpp>

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/optimizer/updater.hpp>
#include <distrib/ps/cut/table_tensors.hpp>
#include <distrib/ps/rows/key_index.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

// Reads the shard's parts that the checkpoint has into `block`.
DISTRIB_DECL void read_initial(const BundleReader& reader, const ShardLayout& layout, AlignedBuffer& block,
                               Error& error) {
  for (const ShardLayout::Entry& entry : layout.trained())
    if (!error && reader.find(entry.name) != nullptr)
      reader.read(entry.name, entry.slice, block.bytes().subspan(entry.offset_bytes, entry.size_bytes), error);
}

// Returns the rows of this shard's keys from the tensors NAME/keys and NAME/values, which have all keys in any order.
// Memory besides the result: 8 bytes for each key there, and 24 for each key of this shard.
DISTRIB_DECL auto read_keys_and_values(const BundleReader& reader, const TableShare& table, Error& error) -> TableCut {
  const TableInfo& info = table.info();
  const StoredTensor& stored = *reader.find(info.name + "/keys");
  struct Own {
    std::uint64_t key;
    std::size_t at;  // row in the tensor
  };
  std::vector<Own> own;
  const auto take = [&](std::int64_t first, ByteView bytes) {
    for (std::size_t i = 0; i < bytes.size() / sizeof(std::uint64_t); ++i) {
      const auto key = load_le<std::uint64_t>(bytes.data() + i * sizeof(std::uint64_t));
      if (table.owns(key)) own.push_back({key, static_cast<std::size_t>(first) + i});
    }
  };
  reader.read_rows(stored.name, 0, stored.shape[0], take, error);
  if (error) return {};
  std::ranges::sort(own, {}, &Own::key);
  if (const auto twice = std::ranges::adjacent_find(own, {}, &Own::key); twice != own.end()) {
    error = {checkpoint_errc::corrupt_data,
             reader.prefix() + ": " + stored.name + ": key " + std::to_string(twice->key) + " occurs twice"};
    return {};
  }
  auto keys = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(own.size() * sizeof(std::uint64_t)));
  std::ranges::transform(own, keys->as<std::uint64_t>().begin(), &Own::key);
  constexpr auto nowhere = static_cast<std::size_t>(-1);
  std::vector<std::size_t> row_of(static_cast<std::size_t>(stored.shape[0]), nowhere);
  for (std::size_t row = 0; row < own.size(); ++row) row_of[own[row].at] = row;
  auto rows = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(own.size() * info.row_bytes()));
  const auto copy = [&](std::int64_t first, ByteView bytes) {
    for (std::size_t i = 0; i < bytes.size() / info.row_bytes(); ++i)
      if (const std::size_t row = row_of[static_cast<std::size_t>(first) + i]; row != nowhere)
        std::memcpy(rows->data() + row * info.row_bytes(), bytes.data() + i * info.row_bytes(), info.row_bytes());
  };
  reader.read_rows(info.name + "/values", 0, stored.shape[0], copy, error);
  return {std::move(keys), std::make_shared<AlignedBuffer>(), std::move(rows)};
}

// Returns the weights that the checkpoint has of a table, whatever updater and shards saved them, with the initial
// slots of `updater`. Keys with a row count as used once, at step 0; keys without a row are left out. If the checkpoint
// does not have the table, returns null buffers.
DISTRIB_DECL auto read_initial(const BundleReader& reader, const TableShare& table, const AnyUpdater& updater,
                               std::uint32_t shard, std::uint32_t shards, Error& error) -> TableCut {
  const TableInfo& info = table.info();
  const std::string name = info.any_key() ? info.name + "/shard-" : info.name;
  const auto is_of_table = [&](const StoredTensor& tensor) {
    return info.any_key() ? tensor.name.starts_with(name) : tensor.name == name;
  };
  const bool is_two_tensors = info.any_key() && reader.find(info.name + "/keys") != nullptr;
  if (error || (!is_two_tensors && std::ranges::none_of(reader.tensors(), is_of_table))) return {};

  // read as a table without slots, because the saved slots do not matter
  TableCut cut = is_two_tensors ? read_keys_and_values(reader, table, error)
                                : TableTensors{table, Sgd{}, shard, shards}.read(reader, error);
  if (error) return {};
  const std::size_t rows = cut.rows->size() / info.row_bytes();
  if (info.any_key()) {
    auto keys = std::make_shared<AlignedBuffer>(rows * sizeof(std::uint64_t));
    std::copy_n(cut.keys->data(), keys->size(), keys->data());
    auto uses = std::make_shared<AlignedBuffer>(rows * sizeof(KeyUse));
    std::ranges::fill(uses->as<KeyUse>(), KeyUse{1, 0});
    cut.keys = std::move(keys);
    cut.uses = std::move(uses);
  }
  const std::span<const Slot> slots = updater.slots();
  auto whole = std::make_shared<AlignedBuffer>(cut.rows->size() * (1 + slots.size()));
  const float* from = cut.rows->as<float>().data();
  float* to = whole->as<float>().data();
  for (std::size_t row = 0; row < rows; ++row, from += info.dim) {
    to = std::copy_n(from, info.dim, to);
    for (const Slot& slot : slots)
      to = slot.begins_as_value ? std::copy_n(from, info.dim, to) : std::fill_n(to, info.dim, slot.initial);
  }
  cut.rows = std::move(whole);
  return cut;
}

}  // namespace detail

DISTRIB_DECL auto initial_cut(const Job& job, const ShardLayout& layout, const JobUpdaters& updaters,
                              const std::optional<InitialCheckpoint>& checkpoint) -> Cut {
  auto values = std::make_shared<AlignedBuffer>(initial_values(job, layout));
  Cut cut{0, values, {}, {}};
  Error error;
  if (checkpoint) {
    const BundleReader& reader = checkpoint->reader();
    detail::read_initial(reader, layout, *values, error);
    for (const TableShare& table : layout.tables())
      cut.tables.push_back(
          detail::read_initial(reader, table, updaters[table.updater()], layout.shard(), job.shards(), error));
    throw_if(error);
  }
  for (const ShardLayout::Group& group : layout.groups())
    for (const Slot& slot : updaters[group.updater].slots()) {
      auto block = std::make_shared<AlignedBuffer>(group.size_bytes);
      if (slot.begins_as_value) std::copy_n(values->data() + group.offset_bytes, group.size_bytes, block->data());
      else std::ranges::fill(block->as<float>(), slot.initial);
      cut.slots.push_back(std::move(block));
    }
  return cut;
}

}  // namespace v0
}  // namespace distrib
