// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why a record file could not be read or written. What the operating system refuses (a missing file, a full disk) is
/// reported with its own code of `std::generic_category()`.
enum class record_errc {
  /// A length does not match its checksum: the file is damaged, or is not a TFRecord file. Restore it.
  corrupt_length = 1,
  corrupt_payload,        ///< A record's payload does not match its checksum. Restore the file.
  /// The file ends inside a record's header. Restore it, or choose another `RecordReaderOptions::TruncatedHeader`.
  truncated_header,
  truncated_payload,  ///< The file ends inside a record's payload. Restore it, or use the records before it.
  too_large,  ///< A record is longer than the limit; nothing is damaged. Raise `RecordReaderOptions::max_record_bytes`.
  /// The gzip or zlib data is damaged, other bytes follow it, or the file is not compressed as `RecordReaderOptions`
  /// says. Restore the file, or change the option.
  corrupt_compression,
  /// The gzip or zlib data ends early: its writer was not closed, or the file was cut off. Use the records before the
  /// end.
  truncated_compression,
  compressed,  ///< Random access needs a file without compression. Write it without compression.
  not_regular,  ///< Only regular files can be mapped. Read pipes and devices with `RecordReader`.
  bad_level,  ///< A compression level is outside -1 .. 9. Choose a level inside.
  no_such_record,  ///< The index has no record of this number. Ask for a number below `size()`.
  closed,  ///< The writer was used after `close()`. Append first, close last.
  too_much_damage,  ///< More of the file is damaged than `DamagePolicy` allows. Restore the file, or raise the limits.
  unknown_compression,  ///< The name of a compression is none of "", "GZIP", "ZLIB". Use one of these; case counts.
  /// A member of `DeflateOptions` is out of range. Use memory_level 1 .. 9, window_bits 9 .. 15, a named strategy, and
  /// none or sync for flush.
  bad_deflate_option,
  no_such_shard,  ///< The number of a shard is outside 0 .. shards - 1, or there are 0 shards. Choose a number inside.
  bad_index,  ///< An index does not fit its file: it is damaged, or belongs to another file. Build it again.
  /// A split does not lie in its file, or 0 parts were asked for. Find the splits again, with at least 1 part.
  bad_split,
  uncertain_split,  ///< It is not certain where the records of a split begin. Use `split_file`.
  /// A directory is a URL, and this program cannot open URLs (`OpenObjectStore`). Link the component distrib::http and
  /// pass `s3_stores()`: by `with_object_stores`, or as `open_store` of `ServerOptions`, `FollowFiles` or
  /// `ExportSource`. Or use a path.
  no_object_store,
};

namespace detail {

inline constexpr ErrorText record_texts[] = {
    {record_errc::corrupt_length, failure::corrupt,
     "the length does not match its checksum: the file is damaged, or not a TFRecord file"},
    {record_errc::corrupt_payload, failure::corrupt, "the payload does not match its checksum: restore the file"},
    {record_errc::truncated_header, failure::corrupt,
     "the file ends inside the header of a record: restore it, or use the records before this one"},
    {record_errc::truncated_payload, failure::corrupt,
     "the file ends inside the payload of a record: restore it, or use the records before this one"},
    {record_errc::too_large, failure::exhausted,
     "the record is longer than max_record_bytes: raise that limit; nothing is damaged"},
    {record_errc::corrupt_compression, failure::corrupt,
     "the compressed data is damaged, or the file is not compressed as expected: restore the file, or correct the "
     "option"},
    {record_errc::truncated_compression, failure::corrupt,
     "the compressed data ends early: its writer was not closed, or the file was cut off"},
    {record_errc::compressed, failure::unsupported,
     "the file is compressed: random access needs a file without compression"},
    {record_errc::not_regular, failure::unsupported,
     "not a regular file, so it cannot be mapped: read it with RecordReader"},
    {record_errc::bad_level, failure::invalid_argument, "the compression level must be -1 .. 9"},
    {record_errc::no_such_record, failure::not_found,
     "the file has no record of this number: use a number below size()"},
    {record_errc::closed, failure::invalid_argument, "the writer is closed: append all records before close"},
    {record_errc::too_much_damage, failure::corrupt,
     "more of the file is damaged than the damage policy allows: restore the file, or raise the limits"},
    {record_errc::unknown_compression, failure::invalid_argument,
     "not a valid compression: use \"\", \"GZIP\" or \"ZLIB\" (case counts)"},
    {record_errc::bad_deflate_option, failure::invalid_argument,
     "memory_level must be 1 .. 9, window_bits 9 .. 15, strategy a member of DeflateOptions::Strategy, flush none or "
     "sync"},
    {record_errc::no_such_shard, failure::invalid_argument,
     "there is no shard of this number: use a number below shards()"},
    {record_errc::bad_index, failure::mismatch, "the index does not fit the file: build it again"},
    {record_errc::bad_split, failure::invalid_argument,
     "the split does not lie in the file, or there are 0 parts: find the splits again"},
    {record_errc::uncertain_split, failure::unsupported,
     "it is not certain where the records of this split begin: use split_file"},
    {record_errc::no_object_store, failure::unsupported,
     "this program cannot open object stores: link distrib::http and pass s3_stores(), as by with_object_stores"},
};

/// Returns "path: record 2 at offset 33".
DISTRIB_DECL auto record_where(std::string_view path, std::uint64_t number, std::uint64_t offset) -> std::string;

/// Returns what an error says after the position of a record that is `too_large`: ": 2000 bytes, the limit is 1000".
DISTRIB_DECL auto over_limit(std::uint64_t record_bytes, std::uint64_t limit) -> std::string;

/// The category "distrib.record".
[[nodiscard]] inline auto record_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.record", record_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(record_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::record_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::record_errc> : std::true_type {};

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/record/impl/error.ipp>
#endif
