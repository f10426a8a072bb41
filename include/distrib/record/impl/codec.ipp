// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/record/codec.hpp>

#include <distrib/core/error.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/frame.hpp>

#include <string>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto parse_compression(std::string_view name, std::error_code& ec) noexcept -> Compression {
  ec.clear();
  if (name == "GZIP") return Compression::gzip;
  if (name == "ZLIB") return Compression::zlib;
  if (!name.empty()) ec = record_errc::unknown_compression;
  return Compression::none;
}

DISTRIB_DECL auto parse_compression(std::string_view name) -> Compression {
  std::error_code ec;
  const Compression compression = parse_compression(name, ec);
  if (ec) throw_error(ec, "compression \"" + std::string{name} + '"');
  return compression;
}

DISTRIB_DECL auto detect_compression(ByteView head) noexcept -> Compression {
  if (head.size() >= record_header_bytes && parse_record_header(head.first<record_header_bytes>()))
    return Compression::none;
  if (head.size() < 2) return Compression::none;
  const auto first = static_cast<unsigned>(head[0]);
  const auto second = static_cast<unsigned>(head[1]);
  if (first == 0x1F && second == 0x8B) return Compression::gzip;
  // Method 8, a window of at most 32 KiB, no preset dictionary, valid check bits.
  const bool good_check = (first * 256 + second) % 31 == 0;
  if ((first & 0x0F) == unsigned{deflate_method} && first < 0x80 && (second & 0x20) == 0 && good_check)
    return Compression::zlib;
  return Compression::none;
}

DISTRIB_DECL auto check_options(const DeflateOptions& options) noexcept -> std::error_code {
  if (options.level < -1 || options.level > 9) return record_errc::bad_level;
  const auto strategy = static_cast<int>(options.strategy);
  const bool flushes = options.flush == DeflateOptions::Flush::none || options.flush == DeflateOptions::Flush::sync;
  const bool good = flushes && options.memory_level >= 1 && options.memory_level <= 9 && options.window_bits >= 9 &&
                    options.window_bits <= 15 && strategy >= 0 && strategy <= 4;
  return good ? std::error_code{} : make_error_code(record_errc::bad_deflate_option);
}

}  // namespace v0
}  // namespace distrib
