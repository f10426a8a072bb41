// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/store/wire_block.hpp>

#include <distrib/core/dtype.hpp>
#include <distrib/core/slice.hpp>

#include <algorithm>
#include <memory>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void encode_block(const ShardLayout& layout, ByteView block, std::span<std::byte> to) noexcept {
  const std::size_t floats = layout.float_bytes() / sizeof(float);
  encode_elements(layout.wire_format(), {reinterpret_cast<const float*>(block.data()), floats}, to.data());
  const auto used = to.begin() + static_cast<std::ptrdiff_t>(floats * element_bytes(layout.wire_format()));
  const auto counters = to.begin() + static_cast<std::ptrdiff_t>(layout.wire_float_bytes());
  std::fill(used, counters, std::byte{0});
  const ByteView known = block.first(layout.block_bytes()).subspan(layout.float_bytes());
  std::copy(known.begin(), known.end(), counters);
}

DISTRIB_DECL void decode_block(const ShardLayout& layout, ByteView received, std::span<std::byte> to) noexcept {
  const std::size_t floats = layout.float_bytes() / sizeof(float);
  decode_elements(layout.wire_format(), received.data(), {reinterpret_cast<float*>(to.data()), floats});
  const ByteView counters = received.first(layout.wire_block_bytes()).subspan(layout.wire_float_bytes());
  std::copy(counters.begin(), counters.end(), to.begin() + static_cast<std::ptrdiff_t>(layout.float_bytes()));
}

DISTRIB_DECL auto wire_block(const ShardLayout& layout, const SharedBuffer& block) -> SharedBuffer {
  if (layout.wire_format() == FloatFormat::float32) return block;
  auto sent = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(layout.wire_block_bytes()));
  encode_block(layout, block->bytes(), sent->bytes());
  return sent;
}

DISTRIB_DECL void spread_received(const ShardLayout& layout, const ShardLayout::Entry& entry, const std::byte* received,
                                  std::byte* variable) {
  const std::byte* const from = received + wire_offset(layout, entry);
  const Slice whole = Slice::whole(entry.whole);
  if (layout.wire_format() == FloatFormat::float32 || detail::is_counter(entry.dtype)) {
    detail::copy_overlap(entry.slice, from, whole, variable, size_bytes(entry.dtype));
    return;
  }
  const FloatFormat format = layout.wire_format();
  detail::for_each_overlap(entry.slice, whole, [&](std::size_t at, std::size_t to_at, std::size_t count) {
    decode_elements(format, from + at * element_bytes(format), {reinterpret_cast<float*>(variable) + to_at, count});
  });
}

DISTRIB_DECL void gather_to_send(const ShardLayout& layout, const ShardLayout::Entry& entry, const std::byte* variable,
                                 std::byte* to_send) {
  std::byte* const to = to_send + wire_offset(layout, entry);
  const Slice whole = Slice::whole(entry.whole);
  if (layout.wire_format() == FloatFormat::float32 || detail::is_counter(entry.dtype)) {
    detail::copy_overlap(whole, variable, entry.slice, to, size_bytes(entry.dtype));
    return;
  }
  const FloatFormat format = layout.wire_format();
  const auto* const floats = reinterpret_cast<const float*>(variable);
  detail::for_each_overlap(whole, entry.slice, [&](std::size_t at, std::size_t to_at, std::size_t count) {
    encode_elements(format, {floats + at, count}, to + to_at * element_bytes(format));
  });
}

}  // namespace v0
}  // namespace distrib
