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

/// The compression that TensorFlow calls `name`: "", "GZIP" or "ZLIB", case counts. Another name is an error, where
/// TensorFlow's data sets read on without compression. Throws `std::system_error`: `record_errc::unknown_compression`.
[[nodiscard]] DISTRIB_DECL auto parse_compression(std::string_view name, std::error_code& ec) noexcept -> Compression;

[[nodiscard]] DISTRIB_DECL auto parse_compression(std::string_view name) -> Compression;

/// TensorFlow's name for it; what `parse_compression` takes.
[[nodiscard]] constexpr auto compression_name(Compression compression) noexcept -> std::string_view {
  if (compression == Compression::none) return "";
  return compression == Compression::gzip ? "GZIP" : "ZLIB";
}

/// The only method that gzip and zlib have: deflate, as RFC 1950 and 1952 number it.
inline constexpr int deflate_method = 8;

/// Bytes that `detect_compression` wants to see.
inline constexpr std::size_t detection_bytes = record_header_bytes;

/// How a record file is wrapped, from its first `detection_bytes` (fewer if it is shorter), never from its name: a
/// record header with the right checksum is plain (wrong once in 2^32), then the magic of gzip or zlib decides, and
/// what is neither is plain too, so that the reader calls it damaged.
[[nodiscard]] DISTRIB_DECL auto detect_compression(ByteView head) noexcept -> Compression;

/// Success, or why no compressor takes these options: `record_errc::bad_level`, `bad_deflate_option`.
[[nodiscard]] DISTRIB_DECL auto check_options(const DeflateOptions& options) noexcept -> std::error_code;

/// Inflates a gzip file (all members that follow each other) or one zlib stream that comes in pieces; made for either.
///
/// `inflate(in, out, ec)` takes bytes off the front of `in` and returns how many it wrote to `out`. Less than all of
/// `out` means that `in` is used up. What is damaged, or follows the end, is `record_errc::corrupt_compression`, and
/// the object is of no more use. Memory does not grow with what comes in.
/// `complete()`: the bytes so far end exactly where a stream or a member ends, with a trailer that matched.
template <class T>
concept Inflates = std::constructible_from<T, Compression> &&
                   requires(T inflater, const T& same, ByteView& in, std::span<std::byte> out, std::error_code& ec) {
                     { inflater.inflate(in, out, ec) } -> std::same_as<std::size_t>;
                     { same.complete() } -> std::same_as<bool>;
                   };

/// Deflates bytes that come in pieces into gzip members or a zlib stream; made for either, with options that
/// `check_options` lets pass.
///
/// `deflate(in, out, flush)` takes bytes off the front of `in` and returns how many it wrote to `out`. When that is all
/// of `out`, call again with the same `flush`; else `in` is used up and `flush` is done. It cannot fail.
/// `reset()` begins another stream, with the same options. A member has gzip's shortest header, 10 bytes without name,
/// time and extra field.
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
