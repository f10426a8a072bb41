// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/table_writer.hpp>

#include <distrib/core/crc32c.hpp>

#include <algorithm>
#include <cassert>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL void BlockBuilder::add(std::string_view key, ByteView value) {
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

DISTRIB_DECL auto BlockBuilder::finish() -> std::vector<std::byte> {
  for (const std::uint32_t offset : restarts_) out_.raw_number(offset);
  out_.raw_number(static_cast<std::uint32_t>(restarts_.size()));
  restarts_.assign(1, 0);
  since_restart_ = 0;
  last_key_.clear();
  return out_.take();
}

DISTRIB_DECL auto separator(std::string last, std::string_view next) -> std::string {
  std::size_t shared = 0;
  while (shared < last.size() && shared < next.size() && last[shared] == next[shared]) ++shared;
  if (shared == last.size() || shared == next.size()) return last;
  const auto byte = static_cast<unsigned char>(last[shared]);
  if (byte == 0xff || byte + 1 >= static_cast<unsigned char>(next[shared])) return last;
  ++last[shared];
  last.resize(shared + 1);
  return last;
}

DISTRIB_DECL auto successor(std::string last) -> std::string {
  for (std::size_t i = 0; i < last.size(); ++i)
    if (last[i] != '\xff') {
      ++last[i];
      last.resize(i + 1);
      break;
    }
  return last;
}

}  // namespace detail

DISTRIB_DECL void TableWriter::add(std::string_view key, ByteView value) {
  assert(first_ || last_key_ < key);
  first_ = false;
  if (pending_) index_.add(detail::separator(last_key_, key), handle_.view());
  pending_ = false;
  last_key_ = key;
  block_.add(key, value);
  if (block_.size() >= block_bytes_) close_block();
}

DISTRIB_DECL auto TableWriter::finish() -> std::vector<std::byte> {
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

DISTRIB_DECL auto TableWriter::write_block(const std::vector<std::byte>& block) -> Handle {
  const Handle handle{file_.size(), block.size()};
  const std::byte kind{0};  // plain: see BlockKind
  file_.raw(block);
  file_.raw({&kind, 1});
  file_.raw_number(mask_crc(detail::crc32c_extend(crc32c(block), {&kind, 1})));
  return handle;
}

}  // namespace v0
}  // namespace distrib
