// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_index.hpp>
#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/cut/cut_object_names.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

// What is in the objects of `CutObjectNames`. All that is read here may be damaged or foreign: every length is checked
// before it is used.

/// The content of a claim: who has the shard. A value. Four lines of at most 256 bytes each.
struct ClaimOwner {
  std::string task;  ///< "ps 0".
  std::string host;
  std::string process;  ///< The number of the process on its host.
  std::string address;  ///< Where it answers, "host:port"; empty: unknown.

  [[nodiscard]] auto operator==(const ClaimOwner&) const -> bool = default;
};

/// Returns the content of a claim. What would end a line is left out, and what is beyond 256 bytes of a line.
[[nodiscard]] DISTRIB_DECL auto encode_claim(const ClaimOwner& owner) -> std::vector<std::byte>;
/// Reads a claim; returns nothing if `object` is none.
[[nodiscard]] DISTRIB_DECL auto parse_claim(ByteView object) -> std::optional<ClaimOwner>;

/// Most bytes of a claim or base that are read.
inline constexpr std::uint64_t most_claim_bytes = 4096;

/// What a cut object has after its data: where its table is, and the sum of the table. A value.
struct CutTail {
  static constexpr std::size_t footer_bytes = 24;
  std::uint64_t table_offset = 0;  ///< Also the number of bytes of data.
  std::uint64_t table_bytes = 0;
  std::uint32_t table_crc = 0;  ///< CRC-32C of the table, masked as in records.

  [[nodiscard]] auto operator==(const CutTail&) const -> bool = default;
};

/// Returns the object of a cut: the bytes of the data file of shard `shard` of `shards`, the table of its tensors as a
/// part file has it, and a footer of 24 bytes, little endian: offset of the table (8), its masked CRC-32C (4), zero
/// (4), magic number (8). The whole cut is in memory once more.
///
/// On failure the result is empty and `error` names the tensor, as with `plan_part`.
[[nodiscard]] DISTRIB_DECL auto encode_cut_object(const BundlePart& part, std::uint32_t shard, std::uint32_t shards,
                                                  Error& error) -> std::vector<std::byte>;

/// Returns one object with the cuts of all shards, one part each: that of a job in one process. Its key is that of shard
/// 0 of 1. It has the same format: the data of the shards follow each other, and the table says of each tensor where in
/// the object it is, and how many shards there are. Fails as the function above.
[[nodiscard]] DISTRIB_DECL auto encode_cut_object(std::span<const BundlePart> parts, Error& error)
    -> std::vector<std::byte>;

namespace detail {
/// Adds table and footer to an object that has the data of a cut.
DISTRIB_DECL void end_cut_object(std::vector<std::byte>& object, ByteView table);
}  // namespace detail

/// Reads the footer. `end`: the last bytes of the object, at least 24 of them; `object_bytes`: the size of the whole
/// object. Fails with `checkpoint_errc::corrupt_data`.
[[nodiscard]] DISTRIB_DECL auto parse_cut_footer(ByteView end, std::uint64_t object_bytes, Error& error) -> CutTail;

/// Reads the table of a cut of `shards` shards. `end`: the last bytes of the object, at least its table and footer.
/// Fails as `parse_bundle_index`, or with `checkpoint_errc::corrupt_data` if the table has another sum, is of another
/// number of shards, or names data that the object does not have. If `shards` is 1, it may be the object of all shards
/// of a job in one process: `BundleIndex::shards` says of how many.
[[nodiscard]] DISTRIB_DECL auto parse_cut_table(ByteView end, const CutTail& tail, std::uint32_t shard,
                                                std::uint32_t shards, Error& error) -> BundleIndex;

/// A cut that is part of a checkpoint. A value.
struct CheckpointCut {
  CutKey key;
  std::uint64_t bytes = 0;  ///< Size of its object.
  std::uint32_t table_crc = 0;  ///< Of `CutTail`: the table has the sums of all tensors.

  [[nodiscard]] auto operator==(const CheckpointCut&) const -> bool = default;
};

/// Returns the index of a checkpoint: what `merge_parts` returns, and in field 1000 of its header, which TensorFlow
/// passes over, the names, sizes and sums of its cuts, in the order of the shards. Fails as `merge_parts`.
[[nodiscard]] DISTRIB_DECL auto encode_checkpoint_index(std::span<const CheckpointCut> cuts,
                                                        std::span<const BundleIndex> parts, Error& error)
    -> std::vector<std::byte>;

/// Returns the cuts that an index names, in the order of the shards: all of one step, one of each shard. On failure the
/// result is empty, and `error` is as that of `read_table`, or `checkpoint_errc::corrupt_index`.
[[nodiscard]] DISTRIB_DECL auto parse_checkpoint_index(ByteView object, Error& error) -> std::vector<CheckpointCut>;

/// Most bytes of an index that are read.
inline constexpr std::uint64_t most_index_bytes = std::uint64_t{1} << 28;

/// Returns the number that the name of an index has: the first 8 bytes of the SHA-256 of its content.
[[nodiscard]] DISTRIB_DECL auto checkpoint_hash(ByteView index) -> std::uint64_t;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/cut/impl/cut_object.ipp>
#endif
