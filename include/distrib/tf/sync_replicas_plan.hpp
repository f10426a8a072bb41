// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/job/error.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// The numbers of TensorFlow's SyncReplicasOptimizer. With R replicas to aggregate and N workers: N = R is plain
/// synchronous training; N > R has N - R backup workers, whose gradients come too late; with N < R each worker gives
/// several gradients an update.
struct SyncReplicasPlan {
  std::int64_t replicas_to_aggregate = 1;             ///< R: gradients of one update.
  std::optional<std::int64_t> total_num_replicas{};   ///< N; R when not given.

  /// N.
  [[nodiscard]] constexpr auto workers() const noexcept -> std::int64_t {
    return total_num_replicas.value_or(replicas_to_aggregate);
  }
  /// How many tokens an update makes: max(N, R), so that every worker gets one and R gradients can come.
  [[nodiscard]] constexpr auto tokens_per_step() const noexcept -> std::int64_t {
    return std::max(workers(), replicas_to_aggregate);
  }
  /// The least to begin with: R - N, or 0.
  [[nodiscard]] constexpr auto minimum_initial_tokens() const noexcept -> std::int64_t {
    return std::max<std::int64_t>(0, replicas_to_aggregate - workers());
  }

  /// Fails with `ps_errc::not_positive` when R or N is below 1.
  void check(std::error_code& ec) const noexcept {
    ec.clear();
    if (replicas_to_aggregate < 1 || workers() < 1) ec = ps_errc::not_positive;
  }
  void check() const {
    std::error_code ec;
    check(ec);
    if (ec) throw_error(ec, describe());
  }

  /// How many tokens are there at the beginning: `num_tokens`, or R when not given. Fails with `ps_errc::not_positive`,
  /// and with `ps_errc::too_few_tokens` below the minimum.
  [[nodiscard]] DISTRIB_DECL auto initial_tokens(std::optional<std::int64_t> num_tokens,
                                                 std::error_code& ec) const noexcept -> std::int64_t;
  [[nodiscard]] DISTRIB_DECL auto initial_tokens(std::optional<std::int64_t> num_tokens = {}) const -> std::int64_t;

  /// "replicas_to_aggregate 6, total_num_replicas 3".
  [[nodiscard]] auto describe() const -> std::string {
    return "replicas_to_aggregate " + std::to_string(replicas_to_aggregate) + ", total_num_replicas " +
           std::to_string(workers());
  }

  [[nodiscard]] auto operator==(const SyncReplicasPlan&) const -> bool = default;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/tf/impl/sync_replicas_plan.ipp>
#endif
