// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/detail/shortest_text.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace distrib::inline v0 {

/// Every step waits for the contribution of every rank and takes their mean in rank order: the same bits at any timing.
///
/// With `replicas_to_aggregate` below the number of ranks the others are backup workers: each shard completes a step with
/// the first so many contributions that it gets, still in rank order, and drops and counts those that come later. Then
/// bits depend on timing. More than there are ranks is an error when the job is made.
struct BulkSynchronousParallel {
  static constexpr std::string_view mode = "sync";
  static constexpr bool synchronous = true;
  std::uint32_t replicas_to_aggregate = 0;  ///< Contributions of a step; 0: those of all ranks.
  [[nodiscard]] auto describe() const -> std::string {
    return replicas_to_aggregate == 0
               ? "bulk_synchronous_parallel"
               : "bulk_synchronous_parallel replicas_to_aggregate=" + std::to_string(replicas_to_aggregate);
  }
  [[nodiscard]] auto operator==(const BulkSynchronousParallel&) const -> bool = default;
};

/// Every contribution is applied as it arrives; a rank waits only when it is more than `staleness` contributions ahead
/// of the slowest other one.
struct StaleSynchronousParallel {
  static constexpr std::string_view mode = "ssp";
  static constexpr bool synchronous = false;
  std::uint64_t staleness = 3;
  [[nodiscard]] auto describe() const -> std::string {
    return "stale_synchronous_parallel staleness=" + std::to_string(staleness);
  }
  [[nodiscard]] auto operator==(const StaleSynchronousParallel&) const -> bool = default;
};

/// Every contribution is applied as it arrives, and nobody waits for anybody.
struct AsynchronousParallel {
  static constexpr std::string_view mode = "async";
  static constexpr bool synchronous = false;
  static constexpr std::uint64_t staleness = std::numeric_limits<std::uint64_t>::max();
  [[nodiscard]] auto describe() const -> std::string { return "asynchronous_parallel"; }
  [[nodiscard]] auto operator==(const AsynchronousParallel&) const -> bool = default;
};

/// When contributions count. Semantics: `mode` is its short name; `describe()` is canonical text and part of the job; a
/// policy that is not `synchronous` has a bound `staleness` on how many contributions ranks may be apart.
template <class C>
concept Consistency = std::regular<C> && requires(const C& consistency) {
  { C::mode } -> std::convertible_to<std::string_view>;
  { C::synchronous } -> std::convertible_to<bool>;
  { consistency.describe() } -> std::convertible_to<std::string>;
} && (C::synchronous || requires(const C& consistency) {
  { consistency.staleness } -> std::convertible_to<std::uint64_t>;
});

static_assert(Consistency<BulkSynchronousParallel>);
static_assert(Consistency<StaleSynchronousParallel>);
static_assert(Consistency<AsynchronousParallel>);

/// What a shard has to know of a consistency. A value.
struct ConsistencyKind {
  bool synchronous = true;
  std::uint64_t staleness = 0;  ///< How many contributions ranks may be apart; of no meaning when synchronous.
  std::uint32_t replicas_to_aggregate = 0;  ///< Contributions of a step, 0: of all ranks; of meaning when synchronous.

  [[nodiscard]] auto operator==(const ConsistencyKind&) const -> bool = default;
};

/// What a shard has to know of this one.
template <Consistency C>
[[nodiscard]] auto consistency_kind(const C& consistency) -> ConsistencyKind {
  if constexpr (!C::synchronous) return {false, consistency.staleness};
  else if constexpr (requires { consistency.replicas_to_aggregate; }) return {true, 0, consistency.replicas_to_aggregate};
  else return {};
}

/// The opposite of `describe()` of the three above; empty for every other text.
[[nodiscard]] inline auto parse_consistency(std::string_view text) -> std::optional<ConsistencyKind> {
  if (text == BulkSynchronousParallel{}.describe()) return ConsistencyKind{};
  if (text == AsynchronousParallel{}.describe()) return ConsistencyKind{false, AsynchronousParallel::staleness};
  const auto number = detail::parse_shortest<std::uint64_t>(text.substr(text.rfind('=') + 1));  // npos + 1 is 0
  if (!number) return std::nullopt;
  if (text == StaleSynchronousParallel{*number}.describe()) return ConsistencyKind{false, *number};
  const auto replicas = static_cast<std::uint32_t>(*number);
  if (text != BulkSynchronousParallel{replicas}.describe()) return std::nullopt;
  return ConsistencyKind{true, 0, replicas};
}

}  // namespace distrib::inline v0
