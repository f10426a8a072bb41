// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace distrib {
inline namespace v0 {

// RecordWriter cuts a gzip file into members at the borders of records, and says in the header of each how long it is,
// so that readers jump from member to member without inflating. To everybody else they are ordinary members (RFC 1952):
//
//   0  1F 8B 08 04   gzip, deflate, an extra field
//   4  00 00 00 00   no time
//   8  ..            of no meaning here: how hard the compressor worked; FF, no system
//  10  1C 00         the extra field has 28 bytes: one subfield
//  12  'D' 'R' 18 00 its name, and its 24 bytes:
//  16  u64           bytes of the member, all of it
//  24  u64           bytes that it inflates to
//  32  u64           records in it
//  40                deflate data; then CRC-32 and size as always

/// Bytes before the deflate data of a member that `RecordWriter` wrote.
inline constexpr std::size_t gzip_member_header_bytes = 40;

/// One member of a gzip file, as its header announces it. `offset`, `inflated_offset` and `first_record` are sums over
/// the members before it.
struct GzipMember {
  std::uint64_t offset = 0;  ///< Where it begins in the file.
  std::uint64_t size = 0;  ///< Its bytes in the file.
  std::uint64_t inflated_offset = 0;  ///< Where what it inflates to begins in what the file inflates to.
  std::uint64_t inflated_size = 0;  ///< Bytes that it inflates to.
  std::uint64_t first_record = 0;  ///< Records before it.
  std::uint64_t records = 0;  ///< Records in it.
};

namespace detail {

inline constexpr std::size_t plain_gzip_header_bytes = 10;
/// The extra field, with its length before it.
inline constexpr std::size_t gzip_extra_bytes = gzip_member_header_bytes - plain_gzip_header_bytes;

/// Makes an ordinary member, which begins `gzip_extra_bytes` behind the front of `room` and has the shortest header,
/// one that begins at the front and announces what is in it.
DISTRIB_DECL void announce_gzip_member(std::span<std::byte> room, std::uint64_t inflated_size,
                                       std::uint64_t records) noexcept;

}  // namespace detail

/// What the member announces that begins at the front of `bytes`, its sums 0. Empty: no member, or none of
/// `RecordWriter`, or one that announces what cannot be. The rest may still be a lie: bound `size` by the bytes that are
/// there, and believe only what was inflated.
[[nodiscard]] DISTRIB_DECL auto parse_gzip_member(ByteView bytes) noexcept -> std::optional<GzipMember>;

/// Where the next member of `RecordWriter` begins in `bytes`; their size when none does. Chance looks like its 16 fixed
/// bytes once in 2^100. For going on behind damage.
[[nodiscard]] DISTRIB_DECL auto find_gzip_member(ByteView bytes) noexcept -> std::size_t;

/// Walks the members of a gzip file by their headers and inflates nothing: a page is touched for each.
///
/// `complete()` at the end says that the chain of members is unbroken from the first byte to the last, all of them
/// written by `RecordWriter`; then the last one's sums are those of the file. Otherwise the file is somebody else's, or
/// damaged: read it as one stream. The bytes must outlive the walk. A value.
class GzipMembers {
 public:
  /// `file`: all bytes of it.
  explicit GzipMembers(ByteView file) noexcept : file_{file} {}

  /// The next member, which lies within the file; nothing at the end of the chain.
  [[nodiscard]] DISTRIB_DECL auto try_next() noexcept -> std::optional<GzipMember>;

  /// Whether the members returned so far are the whole file. An empty file has none.
  [[nodiscard]] auto complete() const noexcept -> bool { return !file_.empty() && sums_.offset == file_.size(); }

  /// Records in the members returned so far, as they announce it.
  [[nodiscard]] auto records() const noexcept -> std::uint64_t { return sums_.first_record; }

  /// Bytes that they inflate to, as they announce it.
  [[nodiscard]] auto inflated_size() const noexcept -> std::uint64_t { return sums_.inflated_offset; }

 private:
  ByteView file_;
  GzipMember sums_;  // of the members before
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/record/impl/gzip_members.ipp>
#endif
