// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/slice.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// One tensor of a checkpoint. A tensor that is saved whole has one piece; a partitioned variable has several.
struct StoredTensor {
  /// A run of bytes in a data file: a whole tensor or one slice of it, row-major.
  struct Piece {
    Slice slice;  ///< Which part of the tensor it is.
    std::uint64_t shard = 0;  ///< Number of its data file.
    std::uint64_t offset = 0;  ///< Where its bytes begin in the data file.
    std::uint64_t size_bytes = 0;  ///< Number of its bytes.
    /// Masked CRC-32C of its bytes; for texts see `parse_strings`, for variants `VariantSum`.
    std::uint32_t masked_crc = 0;
  };

  std::string name;
  DType dtype{};  ///< May be the number of a type that is no DType: see `is_readable`.
  Shape shape;
  std::vector<Piece> pieces;  ///< No two pieces overlap.
  bool complete = true;  ///< True if the pieces cover the whole tensor.

  /// True if its values can be read. For other types ("complex64", "variant") only the checksums can be verified.
  [[nodiscard]] auto is_readable() const noexcept -> bool {
    return dtype == DType::string || distrib::size_bytes(dtype) != 0;
  }

  /// Returns TensorFlow's name of its type, also for a type that is no DType; "type 99" if this library has no name for
  /// it.
  [[nodiscard]] DISTRIB_DECL auto type_name() const -> std::string;

  /// Returns the slices of the pieces, in the order in which they are stored.
  [[nodiscard]] auto slices() const -> std::vector<Slice> {
    std::vector<Slice> list;
    for (const Piece& piece : pieces) list.push_back(piece.slice);
    return list;
  }
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/stored_tensor.ipp>
#endif
