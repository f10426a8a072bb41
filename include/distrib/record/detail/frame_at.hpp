// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/record/error.hpp>
#include <distrib/record/frame.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Returns the payload bytes of the record at `offset` if its header is valid and the whole frame lies in `file`;
/// otherwise nothing.
inline auto frame_at(ByteView file, std::uint64_t offset) noexcept -> std::optional<std::uint64_t> {
  if (offset > file.size() || file.size() - offset < record_frame_bytes) return std::nullopt;
  const ByteView rest = file.subspan(static_cast<std::size_t>(offset));
  const std::uint64_t length = load_le<std::uint64_t>(rest.data());
  if (length > rest.size() - record_frame_bytes || !parse_record_header(rest.first<record_header_bytes>()))
    return std::nullopt;
  return length;
}

/// Returns why no frame begins at `offset`, if `frame_at` found none there. `offset` is at most `file.size()`.
inline auto frame_error(ByteView file, std::uint64_t offset) noexcept -> std::error_code {
  const ByteView rest = file.subspan(static_cast<std::size_t>(offset));
  if (rest.size() < record_header_bytes) return record_errc::truncated_header;
  if (!parse_record_header(rest.first<record_header_bytes>())) return record_errc::corrupt_length;
  return record_errc::truncated_payload;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
