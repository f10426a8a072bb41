// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/snappy.hpp>

#include <distrib/core/protowire.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto unpack_snappy(ByteView packed, std::vector<std::byte>& to) -> bool {
  std::uint64_t size = 0;
  if (!detail::read_varint(packed, size, 5)) return false;
  if (size > 32 * std::uint64_t{packed.size()}) return false;  // 3 bytes make at most 64
  to.clear();
  to.reserve(static_cast<std::size_t>(size));

  const auto take = [&packed](std::size_t bytes, std::size_t& value) {  // takes a little-endian number off the front
    if (packed.size() < bytes) return false;
    value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value |= static_cast<std::size_t>(packed[i]) << (8 * i);
    packed = packed.subspan(bytes);
    return true;
  };

  while (!packed.empty()) {
    const auto tag = static_cast<std::size_t>(packed.front());
    packed = packed.subspan(1);
    std::size_t length = (tag >> 2) + 1;
    std::size_t distance = 0;
    switch (tag & 3) {
      case 0:  // literal; lengths above 60 follow in 1 to 4 bytes
        if (length > 60) {
          if (!take(length - 60, length)) return false;
          ++length;
        }
        if (length > packed.size() || length > size - to.size()) return false;
        to.insert(to.end(), packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(length));
        packed = packed.subspan(length);
        continue;
      case 1:
        if (!take(1, distance)) return false;
        distance |= tag >> 5 << 8;
        length = (tag >> 2 & 7) + 4;
        break;
      case 2:
        if (!take(2, distance)) return false;
        break;
      default:
        if (!take(4, distance)) return false;
        break;
    }
    if (distance == 0 || distance > to.size() || length > size - to.size()) return false;
    // one byte at a time, because the copy may overlap itself
    for (; length > 0; --length) to.push_back(to[to.size() - distance]);
  }
  return to.size() == size;
}

}  // namespace v0
}  // namespace distrib
