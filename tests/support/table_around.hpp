// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/table_writer.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/core/protowire.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace support {

/// Returns a table in LevelDB's format with one block of this kind and correct checksums. With wrong checksums the code
/// under test would stop before it reads the block.
inline auto table_around(distrib::ByteView block, std::uint8_t kind = 0) -> std::vector<std::byte> {
  distrib::WireWriter file;
  const auto add = [&](distrib::ByteView content, std::uint8_t block_kind) {
    const std::size_t start = file.size();
    file.raw(content);
    file.raw_number(block_kind);
    file.raw_number(distrib::mask_crc(distrib::crc32c(file.view().subspan(start))));
    return std::pair{start, content.size()};
  };
  const auto data = add(block, kind);
  distrib::detail::BlockBuilder index{1};
  distrib::WireWriter handle;
  handle.raw_varint(data.first);
  handle.raw_varint(data.second);
  index.add("\xFF", handle.view());
  const auto at = add(index.finish(), 0);
  const std::size_t footer = file.size();
  for (const std::size_t number : {std::size_t{0}, std::size_t{0}, at.first, at.second}) file.raw_varint(number);
  while (file.size() < footer + distrib::detail::table_handles_bytes) file.raw_number(std::uint8_t{0});
  file.raw_number(distrib::detail::table_magic);
  return file.take();
}

}  // namespace support
