// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/detail/table_format.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/protowire.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// One block of a table: entries whose keys leave out what they share with the key before, then the offsets of the keys
/// that are whole.
class BlockBuilder {
 public:
  explicit BlockBuilder(std::size_t interval) : interval_{interval} {}

  DISTRIB_DECL void add(std::string_view key, ByteView value);

  [[nodiscard]] auto empty() const noexcept -> bool { return out_.size() == 0; }
  [[nodiscard]] auto size() const noexcept -> std::size_t { return out_.size() + 4 * restarts_.size() + 4; }

  /// Returns the finished block; the builder is then empty.
  [[nodiscard]] DISTRIB_DECL auto finish() -> std::vector<std::byte>;

 private:
  std::size_t interval_;
  WireWriter out_;
  std::vector<std::uint32_t> restarts_{0};
  std::size_t since_restart_ = 0;
  std::string last_key_;
};

/// Returns a text that is not before `last`, but before `next`, and is shorter than `last` if LevelDB's rule finds one.
DISTRIB_DECL auto separator(std::string last, std::string_view next) -> std::string;

/// Returns a text that is not before `last`, and is shorter if LevelDB's rule finds one.
DISTRIB_DECL auto successor(std::string last) -> std::string;

}  // namespace detail

/// Writes a sorted string table of LevelDB's format into memory, byte for byte as TensorFlow does.
///
/// Threads: one at a time.
class TableWriter {
 public:
  /// A block is closed when it holds at least `block_bytes`.
  explicit TableWriter(std::size_t block_bytes = detail::table_block_bytes) : block_bytes_{block_bytes} {}

  /// Adds an entry. Keys must be added in ascending order of their bytes; this is asserted.
  DISTRIB_DECL void add(std::string_view key, ByteView value);

  /// Returns the whole file. The writer must not be used after that.
  [[nodiscard]] DISTRIB_DECL auto finish() -> std::vector<std::byte>;

 private:
  struct Handle {
    std::uint64_t offset;
    std::uint64_t size;
  };

  static void write_handle(WireWriter& to, Handle handle) {
    to.raw_varint(handle.offset);
    to.raw_varint(handle.size);
  }

  DISTRIB_DECL auto write_block(const std::vector<std::byte>& block) -> Handle;

  void close_block() {
    handle_.clear();
    write_handle(handle_, write_block(block_.finish()));
    pending_ = true;  // its index entry waits for the next key, which decides how short the separator can be
  }

  std::size_t block_bytes_;
  WireWriter file_;
  detail::BlockBuilder block_{detail::restart_interval};
  detail::BlockBuilder index_{1};
  WireWriter handle_;
  std::string last_key_;
  bool pending_ = false;
  bool first_ = true;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/table_writer.ipp>
#endif
