// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/stream_log/stream_log.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What a shard keeps of the log in a file of its own, which is replaced as a whole. No Restore touches it. A value.
struct StreamFile {
  StreamLogId promised;  ///< The shard takes nothing of lives before this one.
  SharedStreamLog log;  ///< The log, perhaps of a life before; null: none yet.
  bool is_given = false;  ///< True if the log came from the shard that keeps it, not from a cut.
};

/// Most bytes of such a file.
inline constexpr std::size_t max_stream_file_bytes = std::size_t{1} << 30;

/// Returns the bytes of a file. Layout, little-endian: 0 "dstrmlog" · 8 version u32 · 12 length n of the body u32 · 16
/// body, a protobuf message (1 and 2 promised, 3 is_given, 4 log) · 16 + n CRC-32C of all bytes before.
[[nodiscard]] DISTRIB_DECL auto to_bytes(const StreamFile& file) -> std::vector<std::byte>;

/// Reads such bytes. On failure returns nothing, and `code` is `bad_log` or `newer_version`.
[[nodiscard]] DISTRIB_DECL auto parse_stream_file(ByteView bytes, std::error_code& code) -> std::optional<StreamFile>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/stream_log/impl/stream_file.ipp>
#endif
