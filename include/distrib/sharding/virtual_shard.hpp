// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/philox.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// Number of virtual shards: the groups into which the rows of a hashed table are divided, for any number of tasks.
/// Stored data and messages depend on it: it must never change.
inline constexpr std::uint32_t num_virtual_shards = 1024;

/// Returns a hash of `key`. Different keys have different hashes. The result is the first number that splitmix64
/// returns for the state `key` (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014). Stored
/// data and messages depend on it: it must never change. It does not protect against keys that are chosen to collide.
[[nodiscard]] constexpr auto hash_key(std::uint64_t key) noexcept -> std::uint64_t {
  return detail::mix_bits(key + 0x9E3779B97F4A7C15U);
}

/// Returns the virtual shard of a key: the top ten bits of its hash. The hash table of a shard can use the bits below.
[[nodiscard]] constexpr auto virtual_shard(std::uint64_t key) noexcept -> std::uint32_t {
  return static_cast<std::uint32_t>(hash_key(key) >> 54);
}

}  // namespace v0
}  // namespace distrib
