// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/record/detail/frame_at.hpp>
#include <distrib/record/detail/header_scan.hpp>
#include <distrib/record/frame.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace distrib {
inline namespace v0 {

/// Where a walk from header to header ended.
struct HeaderWalk {
  std::uint64_t offset = 0;  ///< End of the last valid frame.
  std::uint64_t records = 0;  ///< Number of frames passed.
  bool broken = false;  ///< True if the walk stopped because no valid frame begins at `offset`.
};

/// Walks over the headers of a plain TFRecord file from `offset` on, until it stands at or after `until`, has passed
/// `records` frames, reaches the end of the file, or finds no valid frame. Verifies headers; does not read payloads.
[[nodiscard]] DISTRIB_DECL auto walk_headers(ByteView file, std::uint64_t offset,
                                             std::uint64_t until = std::numeric_limits<std::uint64_t>::max(),
                                             std::uint64_t records = std::numeric_limits<std::uint64_t>::max()) noexcept
    -> HeaderWalk;

/// A position where a record seems to begin: length, header checksum and payload checksum are valid there.
struct RecordStart {
  std::uint64_t offset = 0;  ///< Where its header begins.
  std::uint64_t chain_end = 0;  ///< How far the headers were followed from there, each to the next.
  /// True if they lead exactly to the end of the file: then it is practically certain that this is a record of the
  /// file.
  bool chain_reaches_end = false;
};

/// Finds records in the bytes of a plain TFRecord file when it is not known where they begin: after damage, or in the
/// middle of the file. The format has no marks, only checksums: header and payload are valid by chance at less than one
/// of 10^15 offsets.
///
/// A payload that holds TFRecords itself contains what looks like records but is not part of the file. Their chain of
/// headers ends with that payload, so `chain_reaches_end` distinguishes them from records of the file. (A payload of 8
/// bytes and its checksum look like a header, but hardly ever like one that a payload follows.) No rule that looks at a
/// part of the file is a proof, since a payload may contain anything; `stitch_splits` gives a proof.
///
/// All searches of one finder together cost about 10 times the bytes of the file and 1 MiB more, at most. A search in a
/// file that was made to cost more is given up (`exhausted`); other files cost a fraction of that. Allocates no memory.
/// `file` must outlive the finder.
///
/// Threads: one at a time.
class RecordFinder {
 public:
  explicit RecordFinder(ByteView file) noexcept
      : file_{file}, budget_{8 * std::uint64_t{file.size()} + (1U << 20)}, lone_budget_{file.size()} {}

  /// Returns the first record that begins in [from, to), and how far its chain of headers leads; nothing if there is
  /// none, or if the search was given up. A record that no other record follows, because of damage, is found too, until
  /// looking at such records has cost as much as the bytes of the file.
  [[nodiscard]] auto next(std::uint64_t from, std::uint64_t to = no_limit) noexcept -> std::optional<RecordStart> {
    for (; true; ++from) {
      from = find_header(from, to);
      if (from == detail::no_offset) return std::nullopt;
      if ((is_followed(from) || may_be_lone(from)) && payload_in_order(from)) return follow(from, no_limit).start;
    }
  }

  /// Returns the first record that begins in [from, to) and whose headers lead exactly to the end of the file, or over
  /// `enough` records, which costs less; nothing if there is none, or if the search was given up.
  [[nodiscard]] DISTRIB_DECL auto next_chained(std::uint64_t from, std::uint64_t to = no_limit,
                                               std::uint64_t enough = no_limit) noexcept -> std::optional<RecordStart>;

  /// True if a search was given up because the file made it cost too much; there may be a record that it did not find.
  [[nodiscard]] auto exhausted() const noexcept -> bool { return budget_ == 0; }

 private:
  static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint64_t hop_cost = 32;  // cost of following one header, in bytes

  /// The rest of a chain of headers that is known to break.
  struct Chain {
    std::uint64_t at = 0;
    std::uint64_t records = 0;
  };
  struct Follow {
    RecordStart start;
    std::uint64_t records = 0;
  };

  /// Takes `cost` off the budget. Returns false if nothing is left.
  auto spend(std::uint64_t cost) noexcept -> bool {
    budget_ -= std::min(budget_, cost);
    return budget_ != 0;
  }

  auto find_header(std::uint64_t from, std::uint64_t to) noexcept -> std::uint64_t {
    return spend(hop_cost) ? detail::find_header(file_, from, to) : detail::no_offset;
  }

  auto length(std::uint64_t offset) const noexcept -> std::uint64_t {
    return load_le<std::uint64_t>(file_.data() + offset);
  }

  DISTRIB_DECL auto payload_in_order(std::uint64_t offset) noexcept -> bool;

  /// True if the frame at `offset` ends where another valid header begins, or where the file ends.
  auto is_followed(std::uint64_t offset) const noexcept -> bool {
    const std::uint64_t end = offset + record_frame_bytes + length(offset);
    return end == file_.size() || detail::frame_at(file_, end);
  }

  /// True if the record at `offset`, which no other record follows, may still be looked at.
  auto may_be_lone(std::uint64_t offset) noexcept -> bool {
    if (length(offset) > lone_budget_) return false;
    lone_budget_ -= length(offset);
    return true;
  }

  auto follow(std::uint64_t offset, std::uint64_t enough) noexcept -> Follow {
    const HeaderWalk walk = walk_headers(file_, offset, no_limit, std::min(enough, budget_ / hop_cost));
    spend(walk.records * hop_cost);
    return {{offset, walk.offset, walk.offset == file_.size()}, walk.records};
  }

  /// True if a record of `chain` begins at `offset`. Must be called with growing offsets.
  auto passes(Chain& chain, std::uint64_t offset) noexcept -> bool {
    while (chain.at < offset && chain.records > 0 && spend(hop_cost)) {
      chain.at += record_frame_bytes + length(chain.at);
      --chain.records;
    }
    return chain.at == offset && chain.records > 0;
  }

  ByteView file_;
  std::uint64_t budget_;  // what searches may still cost, in bytes
  std::uint64_t lone_budget_;  // what looking at records that no other record follows may still cost
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/record/impl/resync.ipp>
#endif
