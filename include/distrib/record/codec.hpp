// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/record/compression.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/record.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Returns the compression that TensorFlow calls `name`: "", "GZIP" or "ZLIB"; case counts. For any other name sets
/// `ec` to `record_errc::unknown_compression` and returns `none`; the overload without `ec` throws `std::system_error`.
/// (TensorFlow's data sets do not fail: they read the file as if it were not compressed.)
[[nodiscard]] DISTRIB_DECL auto parse_compression(std::string_view name, std::error_code& ec) noexcept -> Compression;

[[nodiscard]] DISTRIB_DECL auto parse_compression(std::string_view name) -> Compression;

/// Returns TensorFlow's name of `compression`, which `parse_compression` accepts.
[[nodiscard]] constexpr auto compression_name(Compression compression) noexcept -> std::string_view {
  if (compression == Compression::none) return "";
  return compression == Compression::gzip ? "GZIP" : "ZLIB";
}

/// The only compression method of gzip and zlib files: deflate, with its number in RFC 1950 and RFC 1952.
inline constexpr int deflate_method = 8;

/// Number of bytes that `detect_compression` needs.
inline constexpr std::size_t detection_bytes = record_header_bytes;

/// Returns how a record file is compressed. `head` is its first `detection_bytes` bytes, or all of a shorter file; the
/// file's name does not count. A record header with the right checksum means `none` (wrong once in 2^32). Otherwise the
/// magic bytes of gzip or zlib decide. Any other file is `none` too, so that the reader reports it as damaged.
[[nodiscard]] DISTRIB_DECL auto detect_compression(ByteView head) noexcept -> Compression;

/// Returns an empty code if a compressor accepts these options, otherwise `record_errc::bad_level` or
/// `bad_deflate_option`.
[[nodiscard]] DISTRIB_DECL auto check_options(const DeflateOptions& options) noexcept -> std::error_code;

/// A decompressor for bytes that arrive in pieces: of a gzip file (all its members, one after another), or of one zlib
/// stream. It is constructed for one of the two.
///
/// `inflate(in, out, ec)` removes the bytes that it uses from the front of `in`, writes to `out`, and returns how many
/// bytes it wrote. If it wrote less than all of `out`, all of `in` is used. Damaged data, or bytes after the end of a
/// zlib stream, set `ec` to `record_errc::corrupt_compression`: then `in` may still have bytes that were used, and the
/// object must not be used any more. Otherwise it clears `ec`. Its memory does not grow with the input.
///
/// `complete()` is true if the bytes so far end exactly where a stream or a member ends, and its trailer matched.
template <class T>
concept Inflates = std::constructible_from<T, Compression> &&
                   requires(T inflater, const T& same, ByteView& in, std::span<std::byte> out, std::error_code& ec) {
                     { inflater.inflate(in, out, ec) } -> std::same_as<std::size_t>;
                     { same.complete() } -> std::same_as<bool>;
                   };

/// A compressor for bytes that arrive in pieces. It makes gzip members or a zlib stream; it is constructed for one of
/// the two, with options that `check_options` accepts.
///
/// `deflate(in, out, flush)` removes the bytes that it uses from the front of `in`, writes to `out`, and returns how
/// many bytes it wrote. If it filled all of `out`, call it again with the same `flush`; otherwise all of `in` is used
/// and the flush is done. It cannot fail.
///
/// `reset()` begins another member or stream with the same options. A member must begin with gzip's shortest header: 10
/// bytes, without a name, a time or an extra field.
template <class T>
concept Deflates = std::constructible_from<T, Compression, const DeflateOptions&> &&
                   requires(T deflater, ByteView& in, std::span<std::byte> out, DeflateOptions::Flush flush) {
                     { deflater.deflate(in, out, flush) } -> std::same_as<std::size_t>;
                     deflater.reset();
                   };

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/record/impl/codec.ipp>
#endif
