// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/export_log/error.hpp>
#include <distrib/export_log/row_digest.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

// An export log is a set of objects in a directory or in a bucket. `head` is the only one that is replaced, always from
// the version that its writer has read. All others are written once, and the names of manifests and parts end in the
// SHA-256 of their bytes:
//
//     head                                              the newest position, and which shards may vote
//     manifests/POSITION-SHA256.json                    one position: the parts of all shards
//     parts/LABEL-sSHARD-of-SHARDS-SHA256.safetensors   what one shard has exported
//     parts/LABEL-sSHARD-of-SHARDS-base-eEPOCH-SHA256.safetensors   all its rows at that label, written beside deltas
//     votes/LABEL-sSHARD-eEPOCH.json                    which part is the shard's at a label
//
// All but parts are JSON. Numbers of 64 bits that are no counts are texts of 16 hexadecimal digits. Readers skip members
// that they do not know.

/// A position in an export log: 1 for the first one. Each position is the state of a model at one step. A job that goes
/// back to an earlier step commits the next position: steps may fall, positions never do.
using LogPosition = std::uint64_t;

/// Most bytes of an object of a log that is JSON.
inline constexpr std::size_t max_log_text_bytes = std::size_t{16} << 20;
/// Most shards of a job that exports.
inline constexpr std::uint32_t max_log_shards = 4096;

/// The object `head` of a log. A value.
struct LogHead {
  std::uint64_t log = 0;  ///< Names the log: drawn at random by the process that begins it.
  LogPosition position = 0;  ///< The newest position; 0: none yet.
  std::string manifest;  ///< Name of its manifest; empty if there is no position.
  /// For each shard, how often a process has started to export it. Only votes of the newest epoch count, so a process
  /// that was replaced, and goes on, changes nothing.
  std::vector<std::uint64_t> epochs;

  [[nodiscard]] auto operator==(const LogHead&) const -> bool = default;
};

/// A table at one position: of a whole model, or of one shard. A value.
struct LogTable {
  TableInfo info;  ///< Name, dim, rows, initializer; `kept_as`: the format of the rows in the log.
  std::uint64_t seed = 0;  ///< Seed of the job, for initial rows.
  std::uint64_t rows = 0;  ///< Number of rows.
  RowDigest digest;  ///< Of all rows, as 32-bit floats that have the values in the log.

  /// True if only `rows` and `digest` may differ.
  [[nodiscard]] auto same_settings(const LogTable& other) const -> bool {
    return info.name == other.info.name && info.dim == other.info.dim && info.rows == other.info.rows &&
           info.initializer == other.info.initializer && info.kept_as == other.info.kept_as && seed == other.seed;
  }
  [[nodiscard]] auto operator==(const LogTable&) const -> bool = default;
};

/// What one shard has in a position. A value.
struct LogPart {
  std::string name;  ///< Name of its newest part.
  std::uint64_t bytes = 0;  ///< Size of this part.
  std::string on;  ///< The part to which it is a delta; empty: it has all rows of the shard.
  RowDigest state;  ///< Of all that the shard has: equal states have equal digests.

  [[nodiscard]] auto is_full() const noexcept -> bool { return on.empty(); }
  [[nodiscard]] auto operator==(const LogPart&) const -> bool = default;
};

/// All rows of one shard at an earlier label: a part without `on` that was written beside the deltas that follow, so
/// that no position waited for it. A value.
struct LogBase {
  std::uint64_t label = 0;  ///< The label; the same for all shards.
  std::string of;  ///< Name of the shard's part at that label: the shard has the same state there.
  std::string name;  ///< Name of the part with all rows.
  std::uint64_t bytes = 0;  ///< Size of that part.

  [[nodiscard]] auto operator==(const LogBase&) const -> bool = default;
};

/// A position of a log. A value.
struct LogManifest {
  std::uint64_t log = 0;  ///< As in `LogHead`.
  LogPosition position = 1;  ///< Its position.
  std::string before;  ///< Name of the manifest of the position before; empty for the first one.
  std::uint64_t step = 0;  ///< The step that all shards had.
  std::uint64_t lineage = 0;  ///< Which settings have made the values: `Lineage::digest()`. 0 in an asynchronous job.
  std::vector<LogPart> parts;  ///< One for each shard.
  std::vector<LogTable> tables;  ///< The tables of the whole model.
  /// The newest base that was written beside deltas, one for each shard: a reader that begins takes them for the parts
  /// of the position that `is_place_of` them. Each later position repeats them, until one names newer ones, or has all
  /// rows. Empty: none.
  std::vector<LogBase> bases;
  /// Bytes of `bases`, otherwise of the parts of the newest position that has all rows: what a reader that begins must
  /// read first. 0: not known, as in logs of before, until they have another base.
  std::uint64_t base_bytes = 0;
  /// Bytes of the parts of all positions after that position; 0 at that position. With `bases`: of the parts of all
  /// positions from the first one that names them on.
  std::uint64_t delta_bytes = 0;

  /// True if the position needs no other one.
  [[nodiscard]] auto is_base() const noexcept -> bool {
    for (const LogPart& part : parts)
      if (!part.is_full()) return false;
    return true;
  }
  /// True if the bases that a later position names have the rows of this one: a reader can begin here with them.
  [[nodiscard]] DISTRIB_DECL auto is_place_of(const std::vector<LogBase>& named) const noexcept -> bool;
  /// True if a new base would be less to read than what follows the newest one.
  [[nodiscard]] auto outweighs_base() const noexcept -> bool { return base_bytes != 0 && delta_bytes > base_bytes; }
  /// Sets `base_bytes` and `delta_bytes` of a position with these parts that follows `last`; nullptr: it is the first.
  DISTRIB_DECL void add_up_bytes(const LogManifest* last) noexcept;
  [[nodiscard]] auto operator==(const LogManifest&) const -> bool = default;
};

/// A shard says which part it has at a label. A value.
struct LogVote {
  std::uint64_t label = 0;  ///< Of a synchronous job the step; otherwise the position for which it votes.
  std::uint64_t step = 0;  ///< The step of the part.
  std::uint64_t lineage = 0;  ///< As in `LogManifest`.
  std::uint32_t shard = 0;  ///< The shard that votes.
  std::uint32_t shards = 1;  ///< Number of shards of its job.
  std::uint64_t epoch = 0;  ///< The epoch of the process that votes.
  LogPart part;  ///< Its part.
  std::vector<LogTable> tables;  ///< The tables, as this shard has them.
  /// All rows at an earlier label, to which `part` leads back by deltas. A position names bases that all shards have
  /// of one label.
  std::optional<LogBase> base;

  [[nodiscard]] auto operator==(const LogVote&) const -> bool = default;
};

/// Name of the object that is replaced.
inline constexpr std::string_view log_head_name = "head";

/// Returns the text of an object. Equal values have equal texts.
[[nodiscard]] DISTRIB_DECL auto to_text(const LogHead& head) -> std::string;
[[nodiscard]] DISTRIB_DECL auto to_text(const LogManifest& manifest) -> std::string;
[[nodiscard]] DISTRIB_DECL auto to_text(const LogVote& vote) -> std::string;

/// Read the text of an object. Memory: a few times the text. No recursion, no I/O. On failure return nothing; `to` is
/// `bad_object` and says what and where in the text. Names of objects in it are checked: see `is_log_object`.
[[nodiscard]] DISTRIB_DECL auto parse_log_head(std::string_view text, ErrorRef to) -> std::optional<LogHead>;
[[nodiscard]] DISTRIB_DECL auto parse_log_manifest(std::string_view text, ErrorRef to) -> std::optional<LogManifest>;
[[nodiscard]] DISTRIB_DECL auto parse_log_vote(std::string_view text, ErrorRef to) -> std::optional<LogVote>;

/// True if `name` is one that a manifest, a part or a vote may have: one of the three folders, and in it lower-case
/// letters, digits, '-' and '.', no '.' at the beginning, at most 200 bytes. So it names no file outside of the log.
[[nodiscard]] DISTRIB_DECL auto is_log_object(std::string_view name) noexcept -> bool;

/// Returns the SHA-256 in the name of a manifest or part; empty if the name has none.
[[nodiscard]] DISTRIB_DECL auto hash_in_name(std::string_view name) noexcept -> std::optional<Sha256Digest>;

/// Returns the name of a manifest with this text.
[[nodiscard]] DISTRIB_DECL auto manifest_name(LogPosition position, std::string_view text) -> std::string;
/// Returns the name of a part with these bytes.
[[nodiscard]] DISTRIB_DECL auto part_name(std::uint64_t label, std::uint32_t shard, std::uint32_t shards,
                                          ByteView bytes) -> std::string;
/// Returns the name of a base with these bytes, which the process of this epoch writes beside deltas. No other process
/// writes an object of this name.
[[nodiscard]] DISTRIB_DECL auto base_name(std::uint64_t label, std::uint32_t shard, std::uint32_t shards,
                                          std::uint64_t epoch, ByteView bytes) -> std::string;
/// Returns the name of the vote of a shard.
[[nodiscard]] DISTRIB_DECL auto vote_name(std::uint64_t label, std::uint32_t shard, std::uint64_t epoch) -> std::string;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/export_log/impl/log_objects.ipp>
#endif
