// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/string_tensor.hpp>

#include <distrib/core/protowire.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto append_strings(std::vector<std::byte>& to, std::span<const std::string> values) -> std::uint32_t {
  WireWriter out;
  std::uint32_t crc = 0;
  for (const std::string& value : values) {
    out.raw_varint(value.size());
    crc = detail::extend_by_length(crc, value.size());
  }
  std::array<std::byte, 4> lengths_crc{};
  store_le(lengths_crc.data(), mask_crc(crc));
  out.raw(lengths_crc);
  crc = detail::crc32c_extend(crc, lengths_crc);
  for (const std::string& value : values) {
    out.raw(as_bytes(value));
    crc = detail::crc32c_extend(crc, as_bytes(value));
  }
  to.insert(to.end(), out.view().begin(), out.view().end());
  return mask_crc(crc);
}

DISTRIB_DECL auto parse_strings(ByteView bytes, std::uint64_t count, std::uint32_t masked_crc,
                                std::vector<std::string>& values) -> bool {
  values.clear();
  if (count > bytes.size()) return false;
  std::vector<std::uint64_t> lengths(static_cast<std::size_t>(count));
  std::uint32_t crc = 0;
  for (std::uint64_t& length : lengths) {
    if (!detail::read_varint(bytes, length)) return false;
    crc = detail::extend_by_length(crc, length);
  }
  if (bytes.size() < 4 || load_le<std::uint32_t>(bytes.data()) != mask_crc(crc)) return false;
  if (mask_crc(detail::crc32c_extend(crc, bytes)) != masked_crc) return false;
  bytes = bytes.subspan(4);
  values.reserve(lengths.size());
  for (const std::uint64_t length : lengths) {
    if (length > bytes.size()) return false;
    values.emplace_back(as_text(bytes.first(static_cast<std::size_t>(length))));
    bytes = bytes.subspan(static_cast<std::size_t>(length));
  }
  return bytes.empty();
}

}  // namespace v0
}  // namespace distrib
