// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace distrib {
inline namespace v0 {

namespace detail {
template <class S>
concept CountsShards = requires(const S& sharding) {
  { sharding.num_shards() } -> std::convertible_to<std::uint32_t>;
};
template <class S>
concept ShardsKeys = requires(const S& sharding, std::uint64_t key) {
  { sharding.shard(key) } -> std::convertible_to<std::uint32_t>;
};
}  // namespace detail

/// Says on which shard the row of a key is: a copyable type with `num_shards() const -> std::uint32_t` and
/// `shard(std::uint64_t key) const -> std::uint32_t`, which returns a number below `num_shards()` for every key.
///
/// Semantics: a pure function of the key and of the value itself, so that all processes agree without communication.
template <class S>
concept KeySharding = std::copy_constructible<S> && detail::CountsShards<S> && detail::ShardsKeys<S>;

namespace detail {
/// Reports one sentence for each thing that `S` lacks. For the twins of functions that take a KeySharding.
template <class S> constexpr void explain_key_sharding() {
  // a variable of its own, so that compilers do not add why the concept failed
  constexpr bool counts = CountsShards<S>;
  constexpr bool shards = ShardsKeys<S>;
  constexpr bool copies = std::copy_constructible<S>;
  static_assert(counts, "distrib: a KeySharding needs num_shards() const that returns the number of shards");
  static_assert(shards,
                "distrib: a KeySharding needs shard(std::uint64_t key) const that returns the index of a shard");
  static_assert(copies, "distrib: a KeySharding must be copyable");
}
}  // namespace detail

/// Writes the shard of each key to `shards`, in the order of `keys`. Both must have the same length (programmer error
/// otherwise; asserted).
template <KeySharding S>
void shards_of(const S& sharding, std::span<const std::uint64_t> keys, std::span<std::uint32_t> shards) {
  assert(keys.size() == shards.size());
  std::transform(keys.begin(), keys.end(), shards.begin(),
                 [&](std::uint64_t key) -> std::uint32_t { return sharding.shard(key); });
}

// The twin with the same parameter list, which reports what is missing. The constrained one is chosen if its concept
// holds.
template <class S> void shards_of(const S&, std::span<const std::uint64_t>, std::span<std::uint32_t>) {
  detail::explain_key_sharding<S>();
}

}  // namespace v0
}  // namespace distrib
