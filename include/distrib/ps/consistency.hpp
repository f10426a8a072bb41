// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/detail/shortest_text.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

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

/// Every contribution is applied as it arrives, and nobody waits for anybody, but at barriers.
struct AsynchronousParallel {
  static constexpr std::string_view mode = "async";
  static constexpr bool synchronous = false;
  static constexpr std::uint64_t staleness = std::numeric_limits<std::uint64_t>::max();
  /// After each so many contributions of its own a rank waits for all others to have made as many; then all go on with
  /// the same values. 0: there are no barriers.
  std::uint64_t barrier_every = 0;
  [[nodiscard]] auto describe() const -> std::string {
    std::string text = "asynchronous_parallel";
    if (barrier_every != 0) text += " barrier_every=" + std::to_string(barrier_every);
    return text;
  }
  [[nodiscard]] auto operator==(const AsynchronousParallel&) const -> bool = default;
};

/// When contributions count. Semantics: `mode` is its short name; `describe()` is canonical text and part of the job; a
/// policy that is not `synchronous` has a bound `staleness` on how many contributions ranks may be apart, and may have
/// `barrier_every`, as `AsynchronousParallel` has.
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
  std::uint64_t barrier_every = 0;  ///< After so many they may not be apart at all; 0: never. The same.
  std::uint32_t replicas_to_aggregate = 0;  ///< Contributions of a step, 0: of all ranks; of meaning when synchronous.

  /// How far a rank that has made this many contributions may be ahead of the slowest other one.
  [[nodiscard]] constexpr auto bound_after(std::uint64_t contributions) const noexcept -> std::uint64_t {
    return barrier_every != 0 && contributions % barrier_every == 0 ? 0 : staleness;
  }

  /// Whether two replicas of a shard are always the same: its values must not depend on timing.
  [[nodiscard]] constexpr auto can_have_replicas() const noexcept -> bool {
    return synchronous && replicas_to_aggregate == 0;
  }

  [[nodiscard]] auto operator==(const ConsistencyKind&) const -> bool = default;
};

/// What a shard has to know of this one.
template <Consistency C>
[[nodiscard]] auto consistency_kind(const C& consistency) -> ConsistencyKind {
  ConsistencyKind kind{.synchronous = C::synchronous};
  if constexpr (!C::synchronous) kind.staleness = consistency.staleness;
  if constexpr (requires { consistency.barrier_every; }) kind.barrier_every = consistency.barrier_every;
  if constexpr (requires { consistency.replicas_to_aggregate; })
    kind.replicas_to_aggregate = consistency.replicas_to_aggregate;
  return kind;
}

/// The opposite of `describe()` of the three above; empty for every other text.
[[nodiscard]] inline auto parse_consistency(std::string_view text) -> std::optional<ConsistencyKind> {
  if (text == BulkSynchronousParallel{}.describe()) return ConsistencyKind{};
  if (text == AsynchronousParallel{}.describe()) return consistency_kind(AsynchronousParallel{});
  const auto number = detail::parse_shortest<std::uint64_t>(text.substr(text.rfind('=') + 1));  // npos + 1 is 0
  if (!number) return std::nullopt;
  const StaleSynchronousParallel stale{*number};
  if (text == stale.describe()) return consistency_kind(stale);
  const AsynchronousParallel with_barriers{*number};
  if (text == with_barriers.describe()) return consistency_kind(with_barriers);
  const BulkSynchronousParallel with_backups{static_cast<std::uint32_t>(*number)};
  if (text == with_backups.describe()) return consistency_kind(with_backups);
  return std::nullopt;
}

}  // namespace v0
}  // namespace distrib
