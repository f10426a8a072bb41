// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/initial_cut.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/object_names.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/optimizer/updater.hpp>
#include <distrib/ps/cut/table_tensors.hpp>
#include <distrib/ps/rows/key_index.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto not_the_one(const BundleReader& reader, const StoredTensor& tensor, const std::string& wanted)
    -> Error {
  return {checkpoint_errc::mismatch, reader.prefix() + ": " + tensor.name + ": it is " +
                                         std::string{name(tensor.dtype)} + to_string(tensor.shape) + ", not " + wanted};
}

// Writes what the checkpoint has of the shard's parts into the block. Counters count what this job does.
DISTRIB_DECL void read_initial(const BundleReader& reader, const ShardLayout& layout, AlignedBuffer& block,
                               Error& error) {
  for (const ShardLayout::Entry& entry : layout.trained()) {
    const StoredTensor* tensor = error ? nullptr : reader.find(entry.name);
    if (tensor == nullptr) continue;
    if (tensor->dtype == entry.dtype && tensor->shape == entry.whole)
      reader.read(entry.name, entry.slice, block.bytes().subspan(entry.offset_bytes, entry.size_bytes), error);
    else error = not_the_one(reader, *tensor, std::string{name(entry.dtype)} + to_string(entry.whole));
  }
}

// The weights that the checkpoint has of a table, whatever updater and shards saved them, with slots as `updater` wants
// them at first. Keys with a row were counted once, at step 0; those without are new.
DISTRIB_DECL auto read_initial(const BundleReader& reader, const TableShare& table, const AnyUpdater& updater,
                               std::uint32_t shard, std::uint32_t shards, Error& error) -> TableCut {
  const TableInfo& info = table.info();
  const StoredTensor* const numbered = reader.find(info.name);
  const auto of_any_keys = std::ranges::find_if(reader.tensors(), [prefix = info.name + "/shard-"](const auto& tensor) {
    return tensor.name.starts_with(prefix);
  });
  const bool has_any_keys = of_any_keys != reader.tensors().end();
  if (info.any_key() && numbered != nullptr) error = not_the_one(reader, *numbered, "a table of any keys");
  if (!info.any_key() && has_any_keys) error = not_the_one(reader, *of_any_keys, "a table of numbered keys");
  if (error || (numbered == nullptr && !has_any_keys)) return {};

  // As a table without slots, because which ones there are is no matter.
  TableCut cut = TableTensors{table, Sgd{}, shard, shards}.read(reader, error);
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
    for (const Slot& slot : slots) to = std::fill_n(to, info.dim, slot.initial);
  }
  cut.rows = std::move(whole);
  return cut;
}

}  // namespace detail

DISTRIB_DECL auto initial_cut(const Job& job, const ShardLayout& layout, const JobUpdaters& updaters) -> Cut {
  auto values = std::make_shared<AlignedBuffer>(initial_values(job, layout));
  Cut cut{0, values, {}, {}};
  for (const ShardLayout::Group& group : layout.groups())
    for (const Slot& slot : updaters[group.updater].slots()) {
      auto block = std::make_shared<AlignedBuffer>(group.size_bytes);
      std::fill_n(block->as<float>().begin(), block->as<float>().size(), slot.initial);
      cut.slots.push_back(std::move(block));
    }
  if (job.initial_checkpoint.empty()) return cut;
  BundleReader reader = BundleReader::open(job.initial_checkpoint);
  Error error;
  for (const auto& variable : job.variables)
    if (!error) find_by_object(reader, variable.name, error);
  for (const TableInfo& table : job.tables)
    if (!error) find_by_object(reader, table.name, error);
  throw_if(error);
  detail::read_initial(reader, layout, *values, error);
  for (const TableShare& table : layout.tables())
    cut.tables.push_back(
        detail::read_initial(reader, table, updaters[table.updater()], layout.shard(), job.shards(), error));
  throw_if(error);
  return cut;
}

}  // namespace v0
}  // namespace distrib
