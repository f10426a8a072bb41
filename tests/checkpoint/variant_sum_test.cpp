// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/variant_sum.hpp>

#include <distrib/core/crc32c.hpp>

#include "checkpoint/checkpoint_support.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using distrib::VariantSum;
using support::Bytes;

namespace {

// An iterator as TensorFlow 2.21 saved it: 11 variants, then other tensors.
constexpr std::size_t iterator_bytes = 0x8d7;
constexpr std::uint32_t iterator_crc = 0xcf695a91;

auto saved_iterator() -> Bytes {
  Bytes bytes = support::read_file(support::fixtures + "iterator/ckpt-1.data-00000-of-00001");
  REQUIRE(bytes.size() > iterator_bytes);
  bytes.resize(iterator_bytes);
  return bytes;
}

auto is_right(distrib::ByteView bytes, std::uint64_t elements, std::uint32_t crc, std::size_t chunk = 1U << 20)
    -> bool {
  VariantSum sum{elements};
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(chunk, bytes.size())))
    sum.add(bytes.first(std::min(chunk, bytes.size())));
  return sum.is_right(crc);
}

}  // namespace

TEST_CASE("VariantSum: accepts an iterator that TensorFlow saved, in pieces of any size", "[checkpoint][variant_sum]") {
  const Bytes bytes = saved_iterator();
  for (const std::size_t chunk : {1U, 2U, 3U, 7U, 100U, 5000U}) CHECK(is_right(bytes, 11, iterator_crc, chunk));
  CHECK_FALSE(is_right(bytes, 10, iterator_crc));
  CHECK_FALSE(is_right(bytes, 12, iterator_crc));
  CHECK_FALSE(is_right(bytes, 11, iterator_crc + 1));
}

TEST_CASE("VariantSum: finds every flipped bit and every missing end", "[checkpoint][variant_sum]") {
  Bytes bytes = saved_iterator();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] ^= std::byte{1};
    REQUIRE_FALSE(is_right(bytes, 11, iterator_crc));
    bytes[at] ^= std::byte{1};
  }
  for (std::size_t size = 0; size < bytes.size(); ++size)
    REQUIRE_FALSE(is_right(distrib::ByteView{bytes}.first(size), 11, iterator_crc));
  bytes.push_back(std::byte{0});
  CHECK_FALSE(is_right(bytes, 11, iterator_crc));
}

TEST_CASE("VariantSum: elements without bytes, no elements, and lengths that never end", "[checkpoint][variant_sum]") {
  const std::uint32_t of_nothing = distrib::mask_crc(0);
  CHECK(is_right({}, 0, of_nothing));
  CHECK_FALSE(is_right({}, 1, of_nothing));

  // One element of no bytes: its length, and the checksum of the length.
  const Bytes length(8);
  const std::uint32_t crc = distrib::crc32c(length);
  Bytes empty(5);
  distrib::store_le(empty.data() + 1, distrib::mask_crc(crc));
  const auto whole = distrib::detail::crc32c_extend(crc, distrib::ByteView{empty}.last(4));
  CHECK(is_right(empty, 1, distrib::mask_crc(whole)));
  CHECK(is_right(empty, 1, distrib::mask_crc(whole), 1));
  CHECK_FALSE(is_right(empty, 2, distrib::mask_crc(whole)));

  CHECK_FALSE(is_right(Bytes(40, std::byte{0x80}), 1, of_nothing));
  CHECK_FALSE(is_right(Bytes(40, std::byte{0xff}), 40, of_nothing));
}
