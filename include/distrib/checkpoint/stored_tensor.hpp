// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/slice.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// One tensor of a checkpoint. A tensor that is saved whole has one piece; a partitioned variable has several.
struct StoredTensor {
  /// How damage of a piece is found.
  enum class Checksum : std::uint8_t {
    masked_crc32c,  ///< As TensorFlow's checkpoints have it.
    crc32,  ///< As archives (zip) have it, not masked.
    none,  ///< The file has no checksum of these bytes.
  };

  /// A run of bytes in a data file: a whole tensor or one slice of it, row-major.
  struct Piece {
    Slice slice;  ///< Which part of the tensor it is.
    std::uint64_t shard = 0;  ///< Number of its data file.
    std::uint64_t offset = 0;  ///< Where its bytes begin in the data file.
    std::uint64_t size_bytes = 0;  ///< Number of its bytes.
    /// Masked CRC-32C of its bytes; for texts and variants in the special forms of
    /// TensorFlow, where each length counts with a fixed size. Another checksum if
    /// `checksum` says so.
    std::uint32_t masked_crc = 0;
    Checksum checksum = Checksum::masked_crc32c;
    /// Not row-major: for each axis the distance of neighbours in the file, in elements, not negative. Empty:
    /// row-major.
    std::vector<std::int64_t> strides = {};
  };

  std::string name;  ///< Name of the whole tensor, as in the file.
  DType dtype{};  ///< May be the number of a type that is no DType: see `is_readable`.
  Shape shape;  ///< Shape of the whole tensor.
  std::vector<Piece> pieces;  ///< No two pieces overlap.
  bool complete = true;  ///< True if the pieces cover the whole tensor.
  /// float16 or bfloat16: the pieces hold this type, and are read as `dtype`, which is float32. Empty: they hold
  /// `dtype`.
  std::optional<DType> stored_as = {};
  std::string other_type = {};  ///< The name of its type, if neither `DType` nor TensorFlow has the type: "F8_E8M0".

  /// True if its values can be read. For other types ("complex64", "variant") only the checksums can be verified.
  [[nodiscard]] auto is_readable() const noexcept -> bool {
    return dtype == DType::string || distrib::size_bytes(dtype) != 0;
  }

  /// Returns the type of the elements in the pieces.
  [[nodiscard]] auto stored_dtype() const noexcept -> DType { return stored_as.value_or(dtype); }

  /// Returns TensorFlow's name of its type, also for a type that is no DType; `other_type` if that is set; "type 99" if
  /// this library has no name for it.
  [[nodiscard]] DISTRIB_DECL auto type_name() const -> std::string;

  /// Returns the slices of the pieces, in the order in which they are stored.
  [[nodiscard]] auto slices() const -> std::vector<Slice> {
    std::vector<Slice> list;
    for (const Piece& piece : pieces) list.push_back(piece.slice);
    return list;
  }
};

namespace detail {

/// Sorts tensors by their names. Returns the first one whose name occurs again; nullptr if each name occurs once.
DISTRIB_DECL auto sort_by_name(std::vector<StoredTensor>& tensors) -> const StoredTensor*;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/stored_tensor.ipp>
#endif
