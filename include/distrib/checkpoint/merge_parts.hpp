// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_index.hpp>
#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/io_action.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What the part files of all `shards` shards of `prefix` say, in the order of the shards. Empty: `error` is that of
/// `BundleReader::open_part`; `not_found` names the first part file that is not there.
template <class = void>
[[nodiscard]] auto read_parts(const std::string& prefix, std::size_t shards, Error& error) -> std::vector<BundleIndex> {
  error = {};
  std::vector<BundleIndex> parts;
  for (std::size_t shard = 0; shard < shards; ++shard) {
    const auto part = BundleReader::open_part(prefix, shard, shards, error);
    if (!part) return {};
    parts.push_back(part->index());
  }
  return parts;
}

/// The content of the index file of a checkpoint of which each shard has written its part: byte for byte what
/// `plan_bundle` makes of all of them. A tensor that several parts hold whole must be the same in each; the first
/// one's is used. Performs no I/O. On failure the result is empty and `error` names the tensor: `mismatch` (parts
/// disagree about its dtype, shape or bytes), `duplicate` (slices overlap), `incomplete` (slices leave a hole).
template <class = void>
[[nodiscard]] auto merge_parts(std::span<const BundleIndex> parts, Error& error) -> std::vector<std::byte> {
  error = {};
  detail::BundleEntries entries;
  for (const BundleIndex& part : parts)
    for (const StoredTensor& tensor : part.tensors)
      for (const StoredPiece& piece : tensor.pieces) {
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
  return entries.encode(parts.size());
}

/// Plans how the index of `prefix` is written when the parts of all its shards are there, `parts` in their order. Any
/// number may do so at the same time: all write the same bytes, each under a temporary name with its own `writer`.
/// On failure the plan is empty and `error` says why (see `merge_parts`). Performs no I/O.
template <class = void>
[[nodiscard]] auto plan_merge(std::string_view prefix, std::span<const BundleIndex> parts, std::string_view writer,
                              Error& error) -> FilePlan {
  std::vector<std::byte> index = merge_parts(parts, error);
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
