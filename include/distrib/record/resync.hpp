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

/// Where a walk from header to header came to.
struct HeaderWalk {
  std::uint64_t offset = 0;   ///< Behind the last frame that was in order.
  std::uint64_t records = 0;  ///< Frames passed.
  bool broken = false;        ///< No frame begins at `offset`, and it is not the end of the file.
};

/// Walks the headers of a plain TFRecord file from `offset` on, until it stands at `until` or behind, has passed
/// `records` frames, or can go no further. Headers are verified, payloads are not touched.
[[nodiscard]] DISTRIB_DECL auto walk_headers(ByteView file, std::uint64_t offset,
                                             std::uint64_t until = std::numeric_limits<std::uint64_t>::max(),
                                             std::uint64_t records = std::numeric_limits<std::uint64_t>::max()) noexcept
    -> HeaderWalk;

/// A place where a record seems to begin: length, header and payload are in order there.
struct RecordStart {
  std::uint64_t offset = 0;        ///< Where its header begins.
  std::uint64_t chain_end = 0;     ///< How far headers lead from there, one behind the other.
  bool chain_reaches_end = false;  ///< They lead exactly to the end of the file: practically certain.
};

/// Finds records in the bytes of a plain TFRecord file when it is not known where they begin: behind damage, or in the
/// middle of the file. The format has no marks, but checksums: header and payload are in order by chance at less than
/// one of 10^15 offsets. What looks like a record and is none: a payload that holds TFRecords itself shows inner
/// records, whose chain of headers ends with that payload; `chain_reaches_end` tells those from the records of the
/// file. (A payload of 8 bytes and its checksum look like a header, but hardly ever one with a payload.) No local rule
/// is a proof, since whoever writes payloads may write anything into them: `stitch_splits` gives one.
///
/// Work is bounded for all searches of one finder together, by 10 times the bytes of the file; a file made to cost more
/// is given up (`exhausted`). A file without such intent costs a fraction. No memory. `file` must outlive the finder.
/// Threads: one at a time.
class RecordFinder {
 public:
  explicit RecordFinder(ByteView file) noexcept
      : file_{file}, budget_{8 * std::uint64_t{file.size()} + (1U << 20)}, lone_budget_{file.size()} {}

  /// The first record that begins in [from, to), and where its chain leads. One that no other record follows, because
  /// of damage, is found as well, as long as looking at such does not cost more than the bytes of the file.
  [[nodiscard]] auto next(std::uint64_t from, std::uint64_t to = no_limit) noexcept -> std::optional<RecordStart> {
    for (; true; ++from) {
      from = find_header(from, to);
      if (from == detail::no_offset) return std::nullopt;
      if ((is_followed(from) || may_be_lone(from)) && payload_in_order(from)) return follow(from, no_limit).start;
    }
  }

  /// The first record that begins in [from, to) and whose headers lead to the end of the file exactly; or on over
  /// `enough` records, which costs less.
  [[nodiscard]] DISTRIB_DECL auto next_chained(std::uint64_t from, std::uint64_t to = no_limit,
                                               std::uint64_t enough = no_limit) noexcept -> std::optional<RecordStart>;

  /// Whether a search was given up because the file made it cost too much; what was not found may be there.
  [[nodiscard]] auto exhausted() const noexcept -> bool { return budget_ == 0; }

 private:
  static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint64_t hop_cost = 32;  // a header counts as so many bytes

  /// What is left of a chain of headers that is known to break.
  struct Chain {
    std::uint64_t at = 0;
    std::uint64_t records = 0;
  };
  struct Follow {
    RecordStart start;
    std::uint64_t records = 0;
  };

  /// Takes `cost` off the budget; false when nothing is left.
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

  /// Whether the frame at `offset` ends where another header is in order, or the file ends.
  auto is_followed(std::uint64_t offset) const noexcept -> bool {
    const std::uint64_t end = offset + record_frame_bytes + length(offset);
    return end == file_.size() || detail::frame_at(file_, end);
  }

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

  /// Whether `offset` is a record of `chain`; asked with growing offsets.
  auto passes(Chain& chain, std::uint64_t offset) noexcept -> bool {
    while (chain.at < offset && chain.records > 0 && spend(hop_cost)) {
      chain.at += record_frame_bytes + length(chain.at);
      --chain.records;
    }
    return chain.at == offset && chain.records > 0;
  }

  ByteView file_;
  std::uint64_t budget_;  // what searches may still cost, in bytes
  std::uint64_t lone_budget_;  // and what looking at records that nothing follows may
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/record/impl/resync.ipp>
#endif
