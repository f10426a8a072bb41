// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_index.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>

#include <cstddef>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto overlap(const StoredTensor& tensor) -> bool {
  std::size_t axis = 0;
  const auto is_cut = [&](const StoredTensor::Piece& piece) { return piece.slice.extents[axis] != tensor.shape[axis]; };
  while (axis < tensor.shape.rank() && std::none_of(tensor.pieces.begin(), tensor.pieces.end(), is_cut)) ++axis;
  if (axis == tensor.shape.rank()) return tensor.pieces.size() > 1 && tensor.shape.elements() > 0;

  std::vector<const Slice*> sorted;
  for (const StoredTensor::Piece& piece : tensor.pieces)
    if (piece.slice.extents.elements() > 0) sorted.push_back(&piece.slice);
  std::sort(sorted.begin(), sorted.end(),
            [axis](const Slice* a, const Slice* b) { return a->start[axis] < b->start[axis]; });
  for (std::size_t i = 0; i < sorted.size(); ++i)
    for (std::size_t j = i + 1; j < sorted.size(); ++j) {
      const Slice& a = *sorted[i];
      const Slice& b = *sorted[j];
      if (b.start[axis] >= a.start[axis] + a.extents[axis]) break;
      bool common = true;
      for (std::size_t other = 0; other < tensor.shape.rank(); ++other)
        common = common && b.start[other] < a.start[other] + a.extents[other] &&
                 a.start[other] < b.start[other] + b.extents[other];
      if (common) return true;
    }
  return false;
}

// True if the size of the entry is possible for its dtype and shape.
DISTRIB_DECL auto plausible(const BundleEntry& entry, std::uint64_t shards) -> bool {
  if (entry.shard >= shards) return false;
  const auto elements = static_cast<std::uint64_t>(entry.shape.elements());
  const std::uint64_t element_bytes = size_bytes(entry.dtype);
  if (element_bytes != 0) return entry.size % element_bytes == 0 && entry.size / element_bytes == elements;
  // For a text each element has a length of at least one byte. How other types are stored is not known.
  return entry.dtype != DType::string || elements <= entry.size;
}

DISTRIB_DECL auto join_entries(const std::string& name, const BundleEntry& entry, const Entries& entries,
                               std::uint64_t shards, StoredTensor& tensor, Error& error) -> bool {
  tensor = {name, entry.dtype, entry.shape, {}, true};
  const auto damaged = [&](const std::string& what) {
    return refuse(error, checkpoint_errc::corrupt_index, "tensor " + name + what);
  };
  if (entry.slices.empty()) {
    if (!plausible(entry, shards)) return damaged(": size or shard");
    tensor.pieces.push_back({Slice::whole(entry.shape), entry.shard, entry.offset, entry.size, entry.masked_crc});
    return true;
  }
  for (std::size_t i = 0; i < entry.slices.size(); ++i) {
    const Slice& slice = entry.slices[i];
    const auto at = entries.find(entry.slice_keys[i]);
    if (at == entries.end()) return damaged(": no entry of slice " + to_string(slice));
    const BundleEntry& part = at->second;
    if (part.dtype != entry.dtype || part.shape != slice.extents || !plausible(part, shards))
      return damaged(": slice " + to_string(slice));
    tensor.pieces.push_back({slice, part.shard, part.offset, part.size, part.masked_crc});
  }
  if (overlap(tensor)) return damaged(": slices overlap");
  tensor.complete = covered(tensor);
  return true;
}

}  // namespace detail

DISTRIB_DECL auto parse_bundle_index(ByteView file, BundleIndex& index, Error& error) -> bool {
  using detail::refuse;
  index = {};
  detail::Entries entries;
  detail::BundleHeader header;
  const auto visit = [&](std::string_view key, ByteView value) {
    if (key.empty())
      return detail::decode_header(value, header) || refuse(error, checkpoint_errc::corrupt_index, "header");
    detail::BundleEntry entry;
    if (!detail::decode_entry(key, value, entry))
      return refuse(error, checkpoint_errc::corrupt_index, "entry of " + std::string{key});
    entries.insert(entries.end(), {std::string{key}, std::move(entry)});
    return true;
  };
  if (!read_table(file, visit, index.first_block, error)) return false;
  if (header.shards == 0 || header.shards > max_data_files)
    return refuse(error, checkpoint_errc::corrupt_index, "number of data files: " + std::to_string(header.shards));
  if (header.big_endian) return refuse(error, checkpoint_errc::unsupported, "written on a big-endian machine");
  if (header.min_consumer > detail::bundle_version || header.refuses_us)
    return refuse(error, checkpoint_errc::unsupported,
                  "the file needs bundle version " + std::to_string(header.min_consumer) + ", this reader has " +
                      std::to_string(detail::bundle_version));

  index.shards = header.shards;
  for (const auto& [name, entry] : entries) {
    if (name.front() == '\0') continue;  // a slice; it is found through the entry of its tensor
    StoredTensor tensor;
    if (!detail::join_entries(name, entry, entries, header.shards, tensor, error)) return false;
    index.tensors.push_back(std::move(tensor));
  }
  return true;
}

}  // namespace v0
}  // namespace distrib
