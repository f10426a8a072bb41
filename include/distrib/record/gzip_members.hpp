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

// RecordWriter cuts a gzip file into members that end where a record ends, and writes into the header of each how long
// it is, so that readers can jump from member to member without inflating. For other programs these are ordinary
// members (RFC 1952):
//
//   0  1F 8B 08 04   gzip, deflate, an extra field
//   4  00 00 00 00   no time
//   8  .. ..         any bytes: compression level and operating system
//  10  1C 00         the extra field has 28 bytes: one subfield
//  12  'D' 'R' 18 00 name of the subfield, and its length, 24 bytes:
//  16  u64           bytes of the whole member
//  24  u64           bytes that it inflates to
//  32  u64           records in it
//  40                deflate data; then CRC-32 and size as always

/// Bytes before the deflate data of a member that `RecordWriter` wrote.
inline constexpr std::size_t gzip_member_header_bytes = 40;

/// One member of a gzip file, as its header announces it. `offset`, `inflated_offset` and `first_record` are sums over
/// the members before it.
struct GzipMember {
  std::uint64_t offset = 0;  ///< Where it begins in the file.
  std::uint64_t size = 0;  ///< Its length in the file, in bytes.
  std::uint64_t inflated_offset = 0;  ///< Where its inflated bytes begin, among the inflated bytes of the whole file.
  std::uint64_t inflated_size = 0;  ///< Number of bytes that it inflates to.
  std::uint64_t first_record = 0;  ///< Number of records before it.
  std::uint64_t records = 0;  ///< Number of records in it.
};

namespace detail {

inline constexpr std::size_t plain_gzip_header_bytes = 10;
/// Bytes of the extra field and of its length.
inline constexpr std::size_t gzip_extra_bytes = gzip_member_header_bytes - plain_gzip_header_bytes;

/// Changes an ordinary member into one that announces what is in it. The ordinary member has gzip's shortest header,
/// begins `gzip_extra_bytes` after the front of `room` and ends where `room` ends; the new one begins at the front of
/// `room`.
DISTRIB_DECL void announce_gzip_member(std::span<std::byte> room, std::uint64_t inflated_size,
                                       std::uint64_t records) noexcept;

}  // namespace detail

/// Returns what the member at the front of `bytes` announces, with sums of 0. Returns nothing if no member begins
/// there, `RecordWriter` did not write it, or it announces something impossible. Trap: even possible numbers may be
/// wrong. Compare `size` with the number of bytes that exist, and trust only what was inflated.
[[nodiscard]] DISTRIB_DECL auto parse_gzip_member(ByteView bytes) noexcept -> std::optional<GzipMember>;

/// Returns where the next member of `RecordWriter` begins in `bytes`; their size if there is none. For continuing after
/// damage. By chance, its 14 fixed bytes occur less than once in 2^100 positions.
[[nodiscard]] DISTRIB_DECL auto find_gzip_member(ByteView bytes) noexcept -> std::size_t;

/// Walks over the members of a gzip file by their headers and inflates nothing: it touches one page for each member.
///
/// If `complete()` is true at the end, the chain of members is unbroken from the first byte to the last, and
/// `RecordWriter` wrote all of them: then `records()` and `inflated_size()` count the whole file. Otherwise another
/// program wrote the file, or it is damaged: read it as one stream. The bytes must outlive the walk. A value.
class GzipMembers {
 public:
  /// `file`: all bytes of the file.
  explicit GzipMembers(ByteView file) noexcept : file_{file} {}

  /// Returns the next member, which lies within the file; nothing at the end of the chain.
  [[nodiscard]] DISTRIB_DECL auto try_next() noexcept -> std::optional<GzipMember>;

  /// True if the members returned so far are the whole file. False for an empty file.
  [[nodiscard]] auto complete() const noexcept -> bool { return !file_.empty() && sums_.offset == file_.size(); }

  /// Returns the number of records in the members returned so far, as they announce it.
  [[nodiscard]] auto records() const noexcept -> std::uint64_t { return sums_.first_record; }

  /// Returns the number of bytes that the members returned so far inflate to, as they announce it.
  [[nodiscard]] auto inflated_size() const noexcept -> std::uint64_t { return sums_.inflated_offset; }

 private:
  ByteView file_;
  GzipMember sums_;  // sums over the members returned so far
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/record/impl/gzip_members.ipp>
#endif
