// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/detail/table_format.hpp>
#include <distrib/checkpoint/error.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/protowire.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How a block of a table is stored, with LevelDB's numbers.
enum class BlockKind : std::uint8_t {
  plain = 0,
  snappy = 1,  ///< Used by old writers; this library never compresses a checkpoint.
};

namespace detail {

struct BlockHandle {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

inline auto read_handle(ByteView& rest, BlockHandle& handle) -> bool {
  return read_varint(rest, handle.offset) && read_varint(rest, handle.size);
}

inline auto refuse(Error& error, checkpoint_errc code, std::string where) -> bool {
  error = {code, std::move(where)};
  return false;
}

/// Verifies one block and points `block` at its content: into the file, or into `unpacked` if it was compressed. On
/// failure returns false and sets `error`.
DISTRIB_DECL auto read_block(ByteView file, BlockHandle handle, std::vector<std::byte>& unpacked, ByteView& block,
                             BlockKind& kind, Error& error) -> bool;

/// Calls `visit(key, value)` for each entry of a block. Returns false if a call returned false, or if the block is
/// damaged. `key_budget` shrinks by the bytes of each key: without this limit, short entries could repeat a long key
/// without end.
template <class Visit> auto walk_block(ByteView block, std::uint64_t& key_budget, Visit&& visit) -> bool {
  if (block.size() < 4) return false;
  const auto restarts = std::uint64_t{load_le<std::uint32_t>(block.data() + block.size() - 4)};
  if (4 * restarts + 4 > block.size()) return false;
  ByteView rest = block.first(block.size() - static_cast<std::size_t>(4 * restarts + 4));
  std::string key;
  while (!rest.empty()) {
    std::uint64_t shared = 0;
    std::uint64_t own = 0;
    std::uint64_t value_size = 0;
    if (!read_varint(rest, shared) || !read_varint(rest, own) || !read_varint(rest, value_size)) return false;
    if (shared > key.size() || own > rest.size() || value_size > rest.size() - own) return false;
    if (shared + own > key_budget) return false;
    key_budget -= shared + own;
    key.resize(static_cast<std::size_t>(shared));
    key += as_text(rest.first(static_cast<std::size_t>(own)));
    const ByteView value = rest.subspan(static_cast<std::size_t>(own), static_cast<std::size_t>(value_size));
    rest = rest.subspan(static_cast<std::size_t>(own + value_size));
    if (!visit(std::string_view{key}, value)) return false;
  }
  return true;
}

}  // namespace detail

/// Reads a sorted string table of LevelDB's format and calls `visit(std::string_view key, ByteView value) -> bool` for
/// each entry, in ascending order of the keys; both are valid only during the call. Stops if `visit` returns false;
/// `visit` must then have set `error`. Verifies the checksum of every block that it reads (the meta-index block has no
/// use here and is not read), and checks lengths before it allocates memory.
///
/// On failure returns false; `error` says why (`bad_magic`, `corrupt_index`, `unsupported`) and at which byte. Throws
/// only `std::bad_alloc`. `first_kind` is set to how the first block of entries is stored; it stays as it is if there
/// is none.
template <class Visit>
[[nodiscard]] auto read_table(ByteView file, Visit&& visit, BlockKind& first_kind, Error& error) -> bool {
  using detail::refuse;
  error = {};
  if (file.size() < detail::table_footer_bytes)
    return refuse(error, checkpoint_errc::corrupt_index, "too short for a table");
  if (load_le<std::uint64_t>(file.data() + file.size() - 8) != detail::table_magic)
    return refuse(error, checkpoint_errc::bad_magic, "offset " + std::to_string(file.size() - 8));

  ByteView footer = file.last(detail::table_footer_bytes).first(detail::table_handles_bytes);
  detail::BlockHandle meta_index;
  detail::BlockHandle index;
  std::vector<std::byte> index_bytes;
  ByteView index_block;
  if (!detail::read_handle(footer, meta_index) || !detail::read_handle(footer, index))
    return refuse(error, checkpoint_errc::corrupt_index, "footer");
  BlockKind kind{};
  if (!detail::read_block(file, index, index_bytes, index_block, kind, error)) return false;

  std::vector<std::byte> unpacked;
  std::string last_key;
  bool first = true;
  bool first_block = true;
  std::uint64_t index_budget = 64 * std::uint64_t{file.size()};
  std::uint64_t budget = index_budget;
  const bool whole = detail::walk_block(index_block, index_budget, [&](std::string_view, ByteView value) {
    detail::BlockHandle handle;
    ByteView block;
    if (!detail::read_handle(value, handle))
      return refuse(error, checkpoint_errc::corrupt_index, "block at " + std::to_string(index.offset));
    if (!detail::read_block(file, handle, unpacked, block, kind, error)) return false;
    if (std::exchange(first_block, false)) first_kind = kind;
    const bool walked = detail::walk_block(block, budget, [&](std::string_view key, ByteView entry) {
      if (!first && key <= last_key) return false;
      first = false;
      last_key = key;
      return visit(key, entry);
    });
    if (!walked && !error)
      return refuse(error, checkpoint_errc::corrupt_index, "block at " + std::to_string(handle.offset));
    return walked;
  });
  if (!whole && !error)
    return refuse(error, checkpoint_errc::corrupt_index, "block at " + std::to_string(index.offset));
  return whole;
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/table_reader.ipp>
#endif
