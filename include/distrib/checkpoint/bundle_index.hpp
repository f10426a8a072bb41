// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/detail/bundle_entry.hpp>
#include <distrib/checkpoint/stored_tensor.hpp>
#include <distrib/checkpoint/table_reader.hpp>
#include <distrib/core/decl.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What the index file of a checkpoint says.
struct BundleIndex {
  std::uint64_t shards = 0;                  ///< Number of data files.
  std::vector<StoredTensor> tensors;         ///< In ascending order of the names.
  /// How the first block of the index file is stored.
  BlockKind first_block = BlockKind::plain;

  /// Returns the tensor called `name`; nullptr if there is none.
  [[nodiscard]] auto find(std::string_view name) const noexcept -> const StoredTensor* {
    const auto at =
        std::lower_bound(tensors.begin(), tensors.end(), name,
                         [](const StoredTensor& tensor, std::string_view wanted) { return tensor.name < wanted; });
    return at != tensors.end() && at->name == name ? &*at : nullptr;
  }
};

namespace detail {

/// True if two pieces have an element in common. The pieces are sorted along the first axis that is cut, so for the
/// usual cut along one axis only neighbours are compared.
DISTRIB_DECL auto overlap(const StoredTensor& tensor) -> bool;

/// True if the pieces, which must not overlap, cover the whole tensor.
inline auto covered(const StoredTensor& tensor) -> bool {
  std::int64_t elements = 0;
  for (const StoredTensor::Piece& piece : tensor.pieces) elements += piece.slice.extents.elements();
  return elements == tensor.shape.elements();
}

using Entries = std::map<std::string, BundleEntry>;

}  // namespace detail

/// Reads the content of an index file (`PREFIX.index`) that TensorFlow or `plan_bundle` wrote. Performs no I/O. On
/// failure returns false; `error` says why (`bad_magic`, `corrupt_index`, `unsupported`) and where, and `index` must
/// not be used. Memory is bounded by the size of the file.
[[nodiscard]] DISTRIB_DECL auto parse_bundle_index(ByteView file, BundleIndex& index, Error& error) -> bool;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/bundle_index.ipp>
#endif
