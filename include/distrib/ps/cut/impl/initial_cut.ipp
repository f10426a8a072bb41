// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/initial_cut.hpp>

#include <distrib/checkpoint/bundle_reader.hpp>
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

// Reads the shard's parts that the checkpoint has into `block`.
DISTRIB_DECL void read_initial(const BundleReader& reader, const ShardLayout& layout, AlignedBuffer& block,
                               Error& error) {
  for (const ShardLayout::Entry& entry : layout.trained())
    if (!error && reader.find(entry.name) != nullptr)
      reader.read(entry.name, entry.slice, block.bytes().subspan(entry.offset_bytes, entry.size_bytes), error);
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
  if (error || std::ranges::none_of(reader.tensors(), is_of_table)) return {};

  // read as a table without slots, because the saved slots do not matter
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
