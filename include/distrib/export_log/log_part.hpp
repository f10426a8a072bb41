// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/core/half.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/export_log/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

// A part is a safetensors file. A table NAME is four tensors: NAME/keys U64 [n], ascending; NAME/values F32 or BF16
// [n, dim]; NAME/gone U64 [m], ascending: keys that have no row any more; NAME/owned U64 [r, 2]: the ranges of virtual
// shards, or of numbered rows, that the shard has. A dense variable NAME is a tensor NAME for each of the slices that
// the shard has: NAME/slice/0, NAME/slice/1, ... whose places are in `__metadata__`, under the same names, as
// "EXTENTS SLICE", for example "[10,4] 0,5:0,4". `__metadata__` also has "step", "shard" and "on".

/// From `first` on, up to but without `end`.
struct LogRange {
  std::uint64_t first = 0;  ///< The first one in the range.
  std::uint64_t end = 0;  ///< The first one behind the range.

  [[nodiscard]] auto operator==(const LogRange&) const -> bool = default;
};

/// What a part has of a table. Views: the bytes belong to the file, or to the caller of `write_log_part`.
struct PartTable {
  std::string name;  ///< Name of the table.
  std::uint32_t dim = 1;  ///< Number of values in a row.
  FloatFormat format = FloatFormat::float32;  ///< Format of the values.
  std::vector<LogRange> owned;  ///< Virtual shards, or numbered rows, of the shard; ascending.
  ByteView keys;  ///< 8 bytes for each row that is new or changed; ascending.
  ByteView values;  ///< Their rows.
  ByteView gone;  ///< 8 bytes for each key that has no row any more; ascending.

  /// Number of rows.
  [[nodiscard]] auto rows() const noexcept -> std::size_t { return keys.size() / 8; }
  /// Key of row `at`, which must be below `rows()`.
  [[nodiscard]] auto key(std::size_t at) const noexcept -> std::uint64_t {
    return load_le<std::uint64_t>(keys.data() + 8 * at);
  }
  /// Number of keys that are gone.
  [[nodiscard]] auto gone_keys() const noexcept -> std::size_t { return gone.size() / 8; }
  /// Gone key `at`, which must be below `gone_keys()`.
  [[nodiscard]] auto gone_key(std::size_t at) const noexcept -> std::uint64_t {
    return load_le<std::uint64_t>(gone.data() + 8 * at);
  }
  /// Writes row `at` to `to`, which has `dim` elements.
  void row(std::size_t at, std::span<float> to) const noexcept {
    if (format == FloatFormat::float32) {
      std::memcpy(to.data(), values.data() + at * dim * sizeof(float), dim * sizeof(float));
      return;
    }
    for (std::size_t i = 0; i < dim; ++i)
      to[i] = detail::from_bfloat16(load_le<std::uint16_t>(values.data() + (at * dim + i) * 2));
  }
};

/// A slice of a dense variable. A view, as `PartTable`.
struct PartSlice {
  std::string name;  ///< Name of the variable.
  DType dtype = DType::float32;  ///< Its type.
  Shape shape;  ///< Shape of the whole variable.
  Slice slice;  ///< Which elements these are.
  ByteView bytes;  ///< The elements, row-major.
};

/// The contents of a part. A view, as `PartTable`.
struct PartContents {
  std::uint64_t step = 0;  ///< The step of the shard.
  std::uint32_t shard = 0;  ///< Number of the shard.
  std::string on;  ///< The part to which it is a delta; empty: it has all rows.
  std::vector<PartTable> tables;  ///< In ascending order of names.
  std::vector<PartSlice> slices;  ///< All slices of the shard, also in a delta. In ascending order of names.
};

/// Returns the bytes of a part. On failure returns nothing, and `to` names what is wrong: two tensors of one name, or a
/// number of bytes that does not fit (`checkpoint_errc::mismatch`, `duplicate`).
[[nodiscard]] DISTRIB_DECL auto write_log_part(const PartContents& contents, ErrorRef to) -> std::vector<std::byte>;

/// Reads a part. `contents` refers to `bytes`. Memory: a few times the header. On failure returns nothing, and `to` is
/// `bad_object` and says what.
[[nodiscard]] DISTRIB_DECL auto parse_log_part(ByteView bytes, ErrorRef to) -> std::optional<PartContents>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/export_log/impl/log_part.ipp>
#endif
