// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/detail/bundle_entry.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/table_reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// One run of bytes in a data file: a whole tensor or one slice of it, row-major.
struct StoredPiece {
  Slice slice;                   ///< Which part of the tensor it is.
  std::uint64_t shard = 0;       ///< In which data file it lies,
  std::uint64_t offset = 0;      ///< from which byte,
  std::uint64_t size_bytes = 0;  ///< and how many bytes it has.
  std::uint32_t masked_crc = 0;  ///< Masked CRC-32C of its bytes; of string tensors see `parse_strings`.
};

/// One tensor of a checkpoint. A tensor saved whole has one piece, a partitioned variable several.
struct StoredTensor {
  std::string name;
  DType dtype{};  ///< May be a TensorFlow type that is no DType; reading such a tensor is refused.
  Shape shape;
  std::vector<StoredPiece> pieces;  ///< No two overlap.
  bool complete = true;             ///< Whether the pieces cover all of it.

  /// The cut of the pieces, as they are stored.
  template <class = void> [[nodiscard]] auto slices() const -> std::vector<Slice> {
    std::vector<Slice> list;
    for (const StoredPiece& piece : pieces) list.push_back(piece.slice);
    return list;
  }
};

/// What the index file of a checkpoint says.
struct BundleIndex {
  std::uint64_t shards = 0;                  ///< Number of data files.
  std::vector<StoredTensor> tensors;         ///< In ascending order of the names.
  BlockKind first_block = BlockKind::plain;  ///< How the index itself is stored, told by its first block.

  /// The tensor called `name`; nullptr when there is none.
  template <class = void> [[nodiscard]] auto find(std::string_view name) const noexcept -> const StoredTensor* {
    const auto at =
        std::lower_bound(tensors.begin(), tensors.end(), name,
                         [](const StoredTensor& tensor, std::string_view wanted) { return tensor.name < wanted; });
    return at != tensors.end() && at->name == name ? &*at : nullptr;
  }
};

namespace detail {

/// Whether two pieces have an element in common. Sorted along the first axis that is cut, so that the usual cut along
/// one axis compares neighbours only.
template <class = void> auto overlap(const StoredTensor& tensor) -> bool {
  std::size_t axis = 0;
  const auto is_cut = [&](const StoredPiece& piece) { return piece.slice.extents[axis] != tensor.shape[axis]; };
  while (axis < tensor.shape.rank() && std::none_of(tensor.pieces.begin(), tensor.pieces.end(), is_cut)) ++axis;
  if (axis == tensor.shape.rank()) return tensor.pieces.size() > 1 && tensor.shape.elements() > 0;

  std::vector<const Slice*> sorted;
  for (const StoredPiece& piece : tensor.pieces)
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

template <class = void> auto covered(const StoredTensor& tensor) -> bool {
  std::int64_t elements = 0;
  for (const StoredPiece& piece : tensor.pieces) elements += piece.slice.extents.elements();
  return elements == tensor.shape.elements();
}

/// Whether the entry's size is possible for what it says to hold.
template <class = void> auto plausible(const BundleEntry& entry, std::uint64_t shards) -> bool {
  if (entry.shard >= shards) return false;
  const auto elements = static_cast<std::uint64_t>(entry.shape.elements());
  const std::uint64_t element_bytes = size_bytes(entry.dtype);
  if (element_bytes != 0) return entry.size % element_bytes == 0 && entry.size / element_bytes == elements;
  return elements <= entry.size;  // string: each element has a length, of a byte at least
}

using Entries = std::map<std::string, BundleEntry>;

template <class = void>
auto join_entries(const std::string& name, const BundleEntry& entry, const Entries& entries, std::uint64_t shards,
                  StoredTensor& tensor, Error& error) -> bool {
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

/// Reads the content of an index file (`PREFIX.index`) that TensorFlow or `plan_bundle` wrote. Performs no I/O.
/// False: `error` says why (`bad_magic`, `corrupt_index`, `unsupported`) and where. Memory: bounded by the file's size.
template <class = void> [[nodiscard]] auto parse_bundle_index(ByteView file, BundleIndex& index, Error& error) -> bool {
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
                  "the file asks for bundle version " + std::to_string(header.min_consumer) + ", this reader has " +
                      std::to_string(detail::bundle_version));

  index.shards = header.shards;
  for (const auto& [name, entry] : entries) {
    if (name.front() == '\0') continue;  // a slice; the tensor's own entry names it
    StoredTensor tensor;
    if (!detail::join_entries(name, entry, entries, header.shards, tensor, error)) return false;
    index.tensors.push_back(std::move(tensor));
  }
  return true;
}

}  // namespace v0
}  // namespace distrib
