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

/// The numbers of TensorFlow's SyncReplicasOptimizer, with R replicas to aggregate and N workers. N = R: plain
/// synchronous training. N > R: N - R backup workers, whose gradients come too late. N < R: a worker contributes
/// several gradients to an update.
struct SyncReplicasPlan {
  std::int64_t replicas_to_aggregate = 1;  ///< R: number of gradients of an update.
  std::optional<std::int64_t> total_num_replicas{};  ///< N: number of workers. Empty: R.

  /// N, the number of workers.
  [[nodiscard]] constexpr auto workers() const noexcept -> std::int64_t {
    return total_num_replicas.value_or(replicas_to_aggregate);
  }
  /// Number of tokens that an update makes: max(N, R), so that every worker gets a token, and R gradients can arrive.
  [[nodiscard]] constexpr auto tokens_per_step() const noexcept -> std::int64_t {
    return std::max(workers(), replicas_to_aggregate);
  }
  /// Least number of tokens to begin with: R - N, or 0 if that is negative.
  [[nodiscard]] constexpr auto minimum_initial_tokens() const noexcept -> std::int64_t {
    return std::max<std::int64_t>(0, replicas_to_aggregate - workers());
  }

  /// Fails with `ps_errc::not_positive` if R or N is below 1.
  void check(std::error_code& ec) const noexcept {
    ec.clear();
    if (replicas_to_aggregate < 1 || workers() < 1) ec = ps_errc::not_positive;
  }
  /// This overload throws the error as `std::system_error`.
  void check() const {
    std::error_code ec;
    check(ec);
    if (ec) throw_error(ec, describe());
  }

  /// Returns the number of tokens at the beginning: `num_tokens`, or R if it is empty.
  ///
  /// Errors: returns 0; `ps_errc::not_positive` if R or N is below 1; `ps_errc::too_few_tokens` if the number is below
  /// `minimum_initial_tokens()`.
  [[nodiscard]] DISTRIB_DECL auto initial_tokens(std::optional<std::int64_t> num_tokens,
                                                 std::error_code& ec) const noexcept -> std::int64_t;
  /// This overload throws the error as `std::system_error`.
  [[nodiscard]] DISTRIB_DECL auto initial_tokens(std::optional<std::int64_t> num_tokens = {}) const -> std::int64_t;

  /// Text for error messages: "replicas_to_aggregate 6, total_num_replicas 3".
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
