// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/store/gradient_block.hpp>

#include <distrib/core/dtype.hpp>
#include <distrib/core/int8_blocks.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void gather_gradient(const ShardLayout& layout, const ShardLayout::Entry& entry,
                                  const GradientRounding& rounding, const std::byte* variable, std::byte* to_send) {
  if (!layout.int8_gradients()) return gather_to_send(layout, entry, variable, to_send);
  if (detail::is_counter(entry.dtype)) {
    detail::copy_overlap(Slice::whole(entry.whole), variable, entry.slice, to_send + gradient_offset(layout, entry),
                         size_bytes(entry.dtype));
    return;
  }
  const std::span whole{reinterpret_cast<const float*>(variable), static_cast<std::size_t>(entry.whole.elements())};
  std::byte* const scales = to_send + entry.first_scale * sizeof(float);
  std::byte* const bytes = to_send + layout.scale_bytes() + entry.offset_bytes / sizeof(float);
  const std::uint64_t random = rounding.of_variable(entry.name);
  float scale = 0;
  std::size_t written = 0;  // number of scales
  detail::for_each_int8_run(entry.slice, entry.whole,
                            [&](std::size_t at, std::size_t in_whole, std::size_t count, std::size_t number) {
                              if (number == written) {
                                const std::size_t begin = in_whole - in_whole % int8_block;
                                scale = int8_scale(whole.subspan(begin, std::min(int8_block, whole.size() - begin)));
                                std::memcpy(scales + number * sizeof scale, &scale, sizeof scale);
                                ++written;
                              }
                              encode_int8(whole.subspan(in_whole, count), scale, random, in_whole, bytes + at);
                            });
}

DISTRIB_DECL void decode_gradients(const ShardLayout& layout, ByteView received, std::span<std::byte> to) noexcept {
  if (!layout.int8_gradients()) return decode_block(layout, received, to);
  for (const ShardLayout::Entry& entry : layout.trained()) {
    const std::byte* const scales = received.data() + entry.first_scale * sizeof(float);
    const std::byte* const bytes = received.data() + layout.scale_bytes() + entry.offset_bytes / sizeof(float);
    const std::span part{reinterpret_cast<float*>(to.data() + entry.offset_bytes), entry.size_bytes / sizeof(float)};
    detail::for_each_int8_run(entry.slice, entry.whole,
                              [&](std::size_t at, std::size_t, std::size_t count, std::size_t number) {
                                float scale = 0;
                                std::memcpy(&scale, scales + number * sizeof scale, sizeof scale);
                                decode_int8(bytes + at, scale, part.subspan(at, count));
                              });
    const std::span<std::byte> with_gap = to.subspan(entry.offset_bytes, detail::aligned_size(entry.size_bytes));
    std::ranges::fill(with_gap.subspan(entry.size_bytes), std::byte{0});
  }
  const ByteView counters = received.first(layout.gradient_block_bytes()).subspan(layout.gradient_float_bytes());
  std::copy(counters.begin(), counters.end(), to.begin() + static_cast<std::ptrdiff_t>(layout.float_bytes()));
}

}  // namespace v0
}  // namespace distrib
