// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/table_reader.hpp>

#include <distrib/checkpoint/snappy.hpp>
#include <distrib/core/crc32c.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto read_block(ByteView file, BlockHandle handle, std::vector<std::byte>& unpacked, ByteView& block,
                             BlockKind& kind, Error& error) -> bool {
  const auto where = [&] { return "block at " + std::to_string(handle.offset); };
  const std::size_t end = file.size() - table_footer_bytes;
  if (handle.offset > end || handle.size > end - handle.offset ||
      end - handle.offset - handle.size < block_trailer_bytes)
    return refuse(error, checkpoint_errc::corrupt_index, where());
  const ByteView stored = file.subspan(static_cast<std::size_t>(handle.offset), static_cast<std::size_t>(handle.size));
  const ByteView checked{stored.data(), stored.size() + 1};
  if (mask_crc(crc32c(checked)) != load_le<std::uint32_t>(checked.data() + checked.size()))
    return refuse(error, checkpoint_errc::corrupt_index, where());
  kind = static_cast<BlockKind>(checked.back());
  switch (kind) {
    case BlockKind::plain: block = stored; return true;
    case BlockKind::snappy:
      if (!unpack_snappy(stored, unpacked)) return refuse(error, checkpoint_errc::corrupt_index, where());
      block = unpacked;
      return true;
  }
  return refuse(error, checkpoint_errc::unsupported, where() + " is compressed in an unknown way");
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
