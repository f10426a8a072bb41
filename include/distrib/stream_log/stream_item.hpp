// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace distrib {
inline namespace v0 {

/// 128 bits of a hash: of the records of a source up to a place, or of the items of a log up to an item. A value.
struct StreamSum {
  std::uint64_t high = 0;  ///< The upper half.
  std::uint64_t low = 0;  ///< The lower half.

  [[nodiscard]] auto operator<=>(const StreamSum&) const = default;
};

/// The end of a source as a log has it: how many records are logged, and the sum of all of them. A value.
struct SourceEnd {
  std::uint64_t records = 0;  ///< Number of the first record that is not logged.
  StreamSum sum;  ///< Sum of the records before it.
  std::uint64_t offset = 0;  ///< `StreamRange::end_offset` of its last range.
  std::string version = {};  ///< `StreamRange::version` of its last range.

  [[nodiscard]] auto operator==(const SourceEnd&) const -> bool = default;
};

/// An item of a stream log: the records [first, end) of a source follow. A value.
struct StreamRange {
  std::string source;  ///< Name of the source: a file, or a partition.
  std::uint64_t first = 0;  ///< Number of the first record in its source.
  std::uint64_t end = 0;  ///< Number of the first record behind the range; above `first`.
  StreamSum before;  ///< Sum of the records of the source before `first`.
  StreamSum after;  ///< Sum of the records of the source before `end`.
  /// What the store called the content when it was logged: an ETag, for messages. Empty for a source without such
  /// names.
  std::string version = {};
  /// Where the records are found, if their numbers do not say it: they have offsets from `first_offset` on, below
  /// `end_offset`, perhaps with gaps. Both 0 for a source whose records are found by their numbers.
  std::uint64_t first_offset = 0;
  std::uint64_t end_offset = 0;  ///< See `first_offset`.

  [[nodiscard]] auto operator==(const StreamRange&) const -> bool = default;
};

/// An item of a stream log: from a step on, these ranks make contributions. A value.
struct StreamRanks {
  std::uint64_t from_step = 1;  ///< The first step that these ranks make, if no later item says otherwise.
  std::vector<std::uint32_t> ranks;  ///< In ascending order, at least one.

  [[nodiscard]] auto operator==(const StreamRanks&) const -> bool = default;
};

/// An item of a stream log: nothing follows. A value.
struct StreamEnd {
  [[nodiscard]] auto operator==(const StreamEnd&) const -> bool = default;
};

/// What a log consists of. A kind that is added later gets a number of its own in `append_stream_item`.
using StreamItem = std::variant<StreamRange, StreamRanks, StreamEnd>;

/// Limits of what is read from a file or a peer.
inline constexpr std::size_t max_source_name_bytes = 4096;  ///< Most bytes of the name of a source.
inline constexpr std::size_t max_source_version_bytes = 1024;  ///< Most bytes of the version of a source.
inline constexpr std::size_t max_stream_ranks = 65'536;  ///< Most ranks of a step.

/// Appends the bytes of an item to `to`: a protobuf message, the same bytes for equal items.
DISTRIB_DECL void append_stream_item(const StreamItem& item, std::vector<std::byte>& to);

/// Reads the bytes of an item. On failure returns nothing, and `code` is `bad_log`, or `newer_version` for a kind of
/// item that this version does not know.
[[nodiscard]] DISTRIB_DECL auto parse_stream_item(ByteView bytes, std::error_code& code) -> std::optional<StreamItem>;

/// True if a range or ranks can be in a log: limits are kept, `end` is above `first`, ranks ascend.
[[nodiscard]] DISTRIB_DECL auto is_valid_stream_item(const StreamItem& item) noexcept -> bool;

/// What a process proposes for the log, with what it knows of the place where that belongs. The log takes a proposal
/// only if this is still so.
struct ProposedRange {
  StreamRange range;  ///< The records that follow.
  /// True: the log has `first`, `before` and `first_offset` as the end of the source. False: it has nothing.
  bool continues = false;

  [[nodiscard]] auto operator==(const ProposedRange&) const -> bool = default;
};

/// Proposes the end, for a log that has exactly so many records. A value.
struct ProposedEnd {
  std::uint64_t records = 0;  ///< Number of records of the log.

  [[nodiscard]] auto operator==(const ProposedEnd&) const -> bool = default;
};

/// A proposal for a log.
using StreamProposal = std::variant<ProposedRange, StreamRanks, ProposedEnd>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/stream_log/impl/stream_item.ipp>
#endif
