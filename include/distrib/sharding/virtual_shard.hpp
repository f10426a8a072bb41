// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/philox.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// Into how many pieces the rows of a hashed table are dealt before anybody asks how many tasks there are. Part of what
/// is stored and sent: it never changes.
inline constexpr std::uint32_t num_virtual_shards = 1024;

/// 64 bits that look as if they had nothing to do with `key`; different keys give different ones. The first number that
/// splitmix64 gives for the state `key` (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
/// Part of what is stored and sent: it never changes. No protection against keys that are chosen to collide.
[[nodiscard]] constexpr auto hash_key(std::uint64_t key) noexcept -> std::uint64_t {
  return detail::mix_bits(key + 0x9E3779B97F4A7C15U);
}

/// The virtual shard of a key: the top ten bits of its hash. The bits below are free for the hash table of the shard.
[[nodiscard]] constexpr auto virtual_shard(std::uint64_t key) noexcept -> std::uint32_t {
  return static_cast<std::uint32_t>(hash_key(key) >> 54);
}

}  // namespace v0
}  // namespace distrib
