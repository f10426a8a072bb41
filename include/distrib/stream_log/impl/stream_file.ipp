// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/stream_log/stream_file.hpp>

#include <distrib/core/crc32c.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/stream_log/error.hpp>

#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

inline constexpr std::string_view stream_file_magic = "dstrmlog";
inline constexpr std::uint32_t stream_file_version = 1;
inline constexpr std::size_t stream_file_head_bytes = 16;

}  // namespace detail

DISTRIB_DECL auto to_bytes(const StreamFile& file) -> std::vector<std::byte> {
  WireWriter body;
  body.fixed64(1, file.promised.number);
  body.fixed64(2, file.promised.random);
  body.varint(3, file.is_given ? 1 : 0);
  if (file.log != nullptr) body.bytes(4, file.log->to_bytes());
  std::vector<std::byte> bytes(detail::stream_file_head_bytes);
  std::memcpy(bytes.data(), detail::stream_file_magic.data(), detail::stream_file_magic.size());
  store_le(bytes.data() + 8, detail::stream_file_version);
  store_le(bytes.data() + 12, static_cast<std::uint32_t>(body.size()));
  bytes.insert(bytes.end(), body.view().begin(), body.view().end());
  const std::uint32_t crc = crc32c(bytes);
  bytes.resize(bytes.size() + sizeof crc);
  store_le(bytes.data() + bytes.size() - sizeof crc, crc);
  return bytes;
}

DISTRIB_DECL auto parse_stream_file(ByteView bytes, std::error_code& code) -> std::optional<StreamFile> {
  const std::size_t least = detail::stream_file_head_bytes + sizeof(std::uint32_t);
  code = stream_errc::bad_log;
  if (bytes.size() < least || bytes.size() > max_stream_file_bytes) return std::nullopt;
  if (as_text(bytes.first(8)) != detail::stream_file_magic) return std::nullopt;
  if (load_le<std::uint32_t>(bytes.data() + 12) != bytes.size() - least) return std::nullopt;
  const ByteView checked = bytes.first(bytes.size() - sizeof(std::uint32_t));
  if (load_le<std::uint32_t>(checked.data() + checked.size()) != crc32c(checked)) return std::nullopt;
  if (load_le<std::uint32_t>(bytes.data() + 8) != detail::stream_file_version) {
    code = stream_errc::newer_version;
    return std::nullopt;
  }
  StreamFile file;
  code.clear();
  WireReader reader{checked.subspan(detail::stream_file_head_bytes)};
  while (!code && reader.next()) switch (reader.tag()) {
      case wire_tag(1, WireType::fixed64): file.promised.number = reader.uint64(); break;
      case wire_tag(2, WireType::fixed64): file.promised.random = reader.uint64(); break;
      case wire_tag(3, WireType::varint): file.is_given = reader.boolean(); break;
      case wire_tag(4, WireType::bytes): {
        std::optional<StreamLog> log = StreamLog::parse(reader.bytes(), code);
        if (log) file.log = std::make_shared<const StreamLog>(*std::move(log));
        break;
      }
      default: break;
    }
  if (!code && !reader.ok()) code = stream_errc::bad_log;
  if (code) return std::nullopt;
  return file;
}

}  // namespace v0
}  // namespace distrib
