// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/part_writer.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>

#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

// Returns where `index` has these bytes of this tensor; nullptr if it does not have them.
DISTRIB_DECL auto find_piece(const BundleIndex& index, const StoredTensor& tensor, const StoredTensor::Piece& piece)
    -> const StoredTensor::Piece* {
  const StoredTensor* stored = index.find(tensor.name);
  if (stored == nullptr || stored->dtype != tensor.dtype || stored->shape != tensor.shape) return nullptr;
  for (const StoredTensor::Piece& other : stored->pieces)
    if (other.slice == piece.slice && other.size_bytes == piece.size_bytes && other.masked_crc == piece.masked_crc)
      return &other;
  return nullptr;
}

DISTRIB_DECL auto holds(const BundleIndex& index, const BundleIndex& part, std::size_t shard) -> bool {
  if (index.shards != part.shards) return false;
  for (const StoredTensor& tensor : part.tensors)
    for (const StoredTensor::Piece& piece : tensor.pieces)
      if (find_piece(index, tensor, piece) == nullptr) return false;
  for (const StoredTensor& tensor : index.tensors)
    for (const StoredTensor::Piece& piece : tensor.pieces) {
      if (piece.shard != shard) continue;
      const StoredTensor::Piece* own = find_piece(part, tensor, piece);
      if (own == nullptr || own->offset != piece.offset) return false;
    }
  return true;
}

}  // namespace detail

DISTRIB_DECL auto plan_part(std::string_view prefix, const BundlePart& part, std::size_t shard, std::size_t shards,
                            const BundleIndex* merged, Error& error) -> FilePlan {
  error = {};
  if (shard >= shards || shards > max_data_files) {
    detail::refuse(error, checkpoint_errc::mismatch, "part " + std::to_string(shard) + " of " + std::to_string(shards));
    return {};
  }
  const std::string temporary = detail::temporary_prefix(prefix);
  const std::string directory = detail::directory_of(prefix);
  const std::string data = data_file_name(prefix, shard, shards);
  detail::BundleEntries entries;
  FilePlan plan;
  if (!detail::plan_data(part, temporary, shard, shards, entries, plan, error)) return {};
  if (!entries.check(detail::BundleEntries::Parts::some, error)) return {};
  std::vector<std::byte> table = entries.encode(shards);

  BundleIndex own;
  if (merged != nullptr && parse_bundle_index(table, own, error) && detail::holds(*merged, own, shard)) {
    plan.push_back(FileAction::rename(data_file_name(temporary, shard, shards), data));
    plan.push_back(FileAction::sync_directory(directory));
    return plan;
  }
  const std::string name = part_file_name(prefix, shard, shards);
  plan.push_back(FileAction::write(part_file_name(temporary, shard, shards), {}, std::move(table)));
  plan.push_back(FileAction::sync(part_file_name(temporary, shard, shards)));
  plan.push_back(FileAction::remove(index_file_name(prefix)));
  plan.push_back(FileAction::remove(name));
  plan.push_back(FileAction::sync_directory(directory));
  plan.push_back(FileAction::rename(data_file_name(temporary, shard, shards), data));
  plan.push_back(FileAction::sync_directory(directory));
  plan.push_back(FileAction::rename(part_file_name(temporary, shard, shards), name));
  plan.push_back(FileAction::sync_directory(directory));
  return plan;
}

namespace detail {

DISTRIB_DECL auto plan_shared_part(std::string_view from, std::string_view prefix, std::size_t shard,
                                   std::size_t shards) -> FilePlan {
  const std::string directory = detail::directory_of(prefix);
  const std::string data = data_file_name(prefix, shard, shards);
  return {FileAction::remove(data), FileAction::link(data_file_name(from, shard, shards), data),
          FileAction::sync_directory(directory),
          FileAction::link(part_file_name(from, shard, shards), part_file_name(prefix, shard, shards)),
          FileAction::sync_directory(directory)};
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
