// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/detail/table_format.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/core/protowire.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// One block: entries whose keys leave out what they share with the key before, then where whole keys stand.
class BlockBuilder {
 public:
  explicit BlockBuilder(std::size_t interval) : interval_{interval} {}

  template <class = void> void add(std::string_view key, ByteView value) {
    std::size_t shared = 0;
    if (since_restart_ == interval_) {
      restarts_.push_back(static_cast<std::uint32_t>(out_.size()));
      since_restart_ = 0;
    } else {
      const std::size_t limit = std::min(key.size(), last_key_.size());
      while (shared < limit && key[shared] == last_key_[shared]) ++shared;
    }
    out_.raw_varint(shared);
    out_.raw_varint(key.size() - shared);
    out_.raw_varint(value.size());
    out_.raw(as_bytes(key.substr(shared)));
    out_.raw(value);
    last_key_ = key;
    ++since_restart_;
  }

  [[nodiscard]] auto empty() const noexcept -> bool { return out_.size() == 0; }
  [[nodiscard]] auto size() const noexcept -> std::size_t { return out_.size() + 4 * restarts_.size() + 4; }

  /// The finished block; the builder is empty again.
  template <class = void> [[nodiscard]] auto finish() -> std::vector<std::byte> {
    for (const std::uint32_t offset : restarts_) out_.raw_number(offset);
    out_.raw_number(static_cast<std::uint32_t>(restarts_.size()));
    restarts_.assign(1, 0);
    since_restart_ = 0;
    last_key_.clear();
    return out_.take();
  }

 private:
  std::size_t interval_;
  WireWriter out_;
  std::vector<std::uint32_t> restarts_{0};
  std::size_t since_restart_ = 0;
  std::string last_key_;
};

/// The shortest text that is not before `last` and, if there is a `next`, before that.
inline auto separator(std::string last, std::string_view next) -> std::string {
  std::size_t shared = 0;
  while (shared < last.size() && shared < next.size() && last[shared] == next[shared]) ++shared;
  if (shared == last.size() || shared == next.size()) return last;
  const auto byte = static_cast<unsigned char>(last[shared]);
  if (byte == 0xff || byte + 1 >= static_cast<unsigned char>(next[shared])) return last;
  ++last[shared];
  last.resize(shared + 1);
  return last;
}

inline auto successor(std::string last) -> std::string {
  for (std::size_t i = 0; i < last.size(); ++i)
    if (last[i] != '\xff') {
      ++last[i];
      last.resize(i + 1);
      break;
    }
  return last;
}

}  // namespace detail

/// Writes a sorted string table of LevelDB's format, byte for byte as TensorFlow does, into memory.
///
/// Keys must be added in ascending byte order (programmer error otherwise). One thread at a time.
class TableWriter {
 public:
  /// A block is closed when it holds `block_bytes`.
  explicit TableWriter(std::size_t block_bytes = detail::table_block_bytes) : block_bytes_{block_bytes} {}

  template <class = void> void add(std::string_view key, ByteView value) {
    assert(first_ || last_key_ < key);
    first_ = false;
    if (pending_) index_.add(detail::separator(last_key_, key), handle_.view());
    pending_ = false;
    last_key_ = key;
    block_.add(key, value);
    if (block_.size() >= block_bytes_) close_block();
  }

  /// The whole file. The writer is spent.
  template <class = void> [[nodiscard]] auto finish() -> std::vector<std::byte> {
    if (!block_.empty()) close_block();
    const auto meta_index = write_block(detail::BlockBuilder{1}.finish());
    if (pending_) index_.add(detail::successor(last_key_), handle_.view());
    const auto index = write_block(index_.finish());

    WireWriter footer;
    write_handle(footer, meta_index);
    write_handle(footer, index);
    while (footer.size() < detail::table_handles_bytes) footer.raw_number(std::uint8_t{0});
    footer.raw_number(detail::table_magic);
    file_.raw(footer.view());
    return file_.take();
  }

 private:
  struct Handle {
    std::uint64_t offset;
    std::uint64_t size;
  };

  template <class = void> static void write_handle(WireWriter& to, Handle handle) {
    to.raw_varint(handle.offset);
    to.raw_varint(handle.size);
  }

  template <class = void> auto write_block(const std::vector<std::byte>& block) -> Handle {
    const Handle handle{file_.size(), block.size()};
    const std::byte kind{0};  // plain: see BlockKind
    file_.raw(block);
    file_.raw({&kind, 1});
    file_.raw_number(mask_crc(crc32c_extend(crc32c(block), {&kind, 1})));
    return handle;
  }

  template <class = void> void close_block() {
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
