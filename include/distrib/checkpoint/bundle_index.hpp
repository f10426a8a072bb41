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
  BlockKind first_block = BlockKind::plain;  ///< How the index itself is stored, told by its first block.

  /// The tensor called `name`; nullptr when there is none.
  [[nodiscard]] auto find(std::string_view name) const noexcept -> const StoredTensor* {
    const auto at =
        std::lower_bound(tensors.begin(), tensors.end(), name,
                         [](const StoredTensor& tensor, std::string_view wanted) { return tensor.name < wanted; });
    return at != tensors.end() && at->name == name ? &*at : nullptr;
  }
};

namespace detail {

/// Whether two pieces have an element in common. Sorted along the first axis that is cut, so that the usual cut along
/// one axis compares neighbours only.
DISTRIB_DECL auto overlap(const StoredTensor& tensor) -> bool;

inline auto covered(const StoredTensor& tensor) -> bool {
  std::int64_t elements = 0;
  for (const StoredTensor::Piece& piece : tensor.pieces) elements += piece.slice.extents.elements();
  return elements == tensor.shape.elements();
}

using Entries = std::map<std::string, BundleEntry>;

}  // namespace detail

/// Reads the content of an index file (`PREFIX.index`) that TensorFlow or `plan_bundle` wrote. Performs no I/O.
/// False: `error` says why (`bad_magic`, `corrupt_index`, `unsupported`) and where. Memory: bounded by the file's size.
[[nodiscard]] DISTRIB_DECL auto parse_bundle_index(ByteView file, BundleIndex& index, Error& error) -> bool;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/bundle_index.ipp>
#endif
