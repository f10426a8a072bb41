// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/slice.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The two messages of a checkpoint's index (tensorflow/core/protobuf/tensor_bundle.proto).

namespace distrib {
inline namespace v0 {
namespace detail {

/// Value of the key "": the number of data files, and how they are written.
struct BundleHeader {
  std::uint64_t shards = 0;
  bool big_endian = false;
  std::int32_t min_consumer = 0;  ///< Version of the oldest reader that may read the file; this one is version 1.
  /// True if this reader's version is in the file's list of bad readers.
  bool refuses_us = false;
};

inline constexpr std::int32_t bundle_version = 1;

DISTRIB_DECL auto encode_header(std::uint64_t shards) -> std::vector<std::byte>;

/// Reads a header. Returns false if `bytes` is damaged.
DISTRIB_DECL auto decode_header(ByteView bytes, BundleHeader& header) -> bool;

/// Value of every other key: a tensor, a slice, or (with `slices`) a tensor that is stored in slices.
struct BundleEntry {
  DType dtype{};
  Shape shape;
  std::uint64_t shard = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t masked_crc = 0;
  std::vector<Slice> slices;
  /// The keys of the slices in the index. Only in decoded entries.
  std::vector<std::string> slice_keys;
};

DISTRIB_DECL auto encode_entry(const BundleEntry& entry) -> std::vector<std::byte>;

/// Extents as they are read from a file, before it is known whether they make a Shape.
struct Extents {
  std::array<std::int64_t, Shape::max_rank> values{};
  std::size_t rank = 0;

  [[nodiscard]] auto add(std::int64_t value) noexcept -> bool {
    if (rank == Shape::max_rank) return false;
    values[rank++] = value;
    return true;
  }
  [[nodiscard]] auto span() const noexcept -> std::span<const std::int64_t> { return {values.data(), rank}; }
};

/// Reads the entry of the tensor or slice `name`. Returns false if `bytes` is damaged.
DISTRIB_DECL auto decode_entry(std::string_view name, ByteView bytes, BundleEntry& entry) -> bool;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/detail/impl/bundle_entry.ipp>
#endif
