// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/merge_parts.hpp>

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto read_parts(const std::string& prefix, std::size_t shards, Error& error) -> std::vector<BundleIndex> {
  error = {};
  std::vector<BundleIndex> parts;
  for (std::size_t shard = 0; shard < shards; ++shard) {
    const auto part = BundleReader::open_part(prefix, shard, shards, error);
    if (!part) return {};
    parts.push_back(part->index());
  }
  return parts;
}

namespace detail {

DISTRIB_DECL auto merge_parts(std::span<const BundleIndex> parts, Error& error, ByteView more)
    -> std::vector<std::byte> {
  error = {};
  detail::BundleEntries entries;
  for (const BundleIndex& part : parts)
    for (const StoredTensor& tensor : part.tensors)
      for (const StoredTensor::Piece& piece : tensor.pieces) {
        const detail::BundleEntry* first = entries.find(tensor.name);
        const bool common = first != nullptr && first->slices.empty() && piece.slice == Slice::whole(tensor.shape);
        if (!common) {
          if (!entries.add(tensor.name, tensor.dtype, tensor.shape, piece, error)) return {};
        } else if (first->dtype != tensor.dtype || first->shape != tensor.shape || first->size != piece.size_bytes ||
                   first->masked_crc != piece.masked_crc) {
          detail::refuse(error, checkpoint_errc::mismatch, tensor.name + ": two parts disagree");
          return {};
        }
      }
  if (!entries.check(detail::BundleEntries::Parts::all, error)) return {};
  // A part alone may have the data of several shards.
  const std::uint64_t shards = parts.size() == 1 ? parts.front().shards : 0;
  return entries.encode(std::max<std::uint64_t>(shards, parts.size()), more);
}

}  // namespace detail

DISTRIB_DECL auto plan_merge(std::string_view prefix, std::span<const BundleIndex> parts, std::string_view writer,
                             Error& error) -> FilePlan {
  std::vector<std::byte> index = detail::merge_parts(parts, error);
  if (error) {
    error.where = std::string{prefix} + ": " + error.where;
    return {};
  }
  const std::string temporary = index_file_name(detail::temporary_prefix(prefix)) + "-" + std::string{writer};
  return {FileAction::write(temporary, {}, std::move(index)), FileAction::sync(temporary),
          FileAction::rename(temporary, index_file_name(prefix)),
          FileAction::sync_directory(detail::directory_of(prefix))};
}

}  // namespace v0
}  // namespace distrib
