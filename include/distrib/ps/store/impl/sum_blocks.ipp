// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/store/sum_blocks.hpp>

#include <distrib/core/rounded.hpp>
#include <distrib/optimizer/reduce.hpp>

#include <algorithm>
#include <cstdint>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void sum_blocks(const ShardLayout& layout, ByteView left, ByteView right, std::span<std::byte> to) {
  for (const ShardLayout::Group& group : layout.groups()) {
    const auto floats = [&group](const auto* bytes) {
      return std::span{reinterpret_cast<const float*>(bytes + group.offset_bytes), group.size_bytes / sizeof(float)};
    };
    reduce_sum(floats(left.data()), floats(right.data()),
               {reinterpret_cast<float*>(to.data() + group.offset_bytes), group.size_bytes / sizeof(float)});
  }
  for (const ShardLayout::Entry& counter : layout.counters()) {
    if (to.data() != left.data())
      std::copy_n(left.data() + counter.offset_bytes, counter.size_bytes, to.data() + counter.offset_bytes);
    detail::add_counter(counter.dtype, right.subspan(counter.offset_bytes, counter.size_bytes),
                        to.subspan(counter.offset_bytes));
  }
}

namespace detail {

DISTRIB_DECL void add_counter(DType dtype, ByteView part, std::span<std::byte> to) {
  using Double = Rounded<double>;
  const std::byte* const from = part.data();
  std::byte* const sums = to.data();
  for (std::size_t at = 0; at < part.size(); at += sizeof(std::uint64_t))
    if (dtype == DType::int64)
      store_le(sums + at, load_le<std::uint64_t>(sums + at) + load_le<std::uint64_t>(from + at));
    else store_le(sums + at, (Double{load_le<double>(sums + at)} + Double{load_le<double>(from + at)}).value);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
