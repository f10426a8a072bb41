// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/rpc/call_observer.hpp>
#include <distrib/rpc/latency_histogram.hpp>
#include <distrib/rpc/method.hpp>
#include <distrib/rpc/remote_error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace distrib {
inline namespace v0 {

/// The counters of one method. A value: plain numbers.
struct MethodMetrics {
  std::uint64_t started = 0;  ///< Number of calls that have begun.
  std::uint64_t ended = 0;  ///< Number of calls that have ended, also with an error.
  std::uint64_t request_bytes = 0;  ///< Sum over all calls that have ended.
  std::uint64_t reply_bytes = 0;  ///< Sum over all calls that have ended.
  /// How many calls have ended: index 0 without an error, index `failure` with an error of this condition
  /// (`failure::io` also if the code has no shared condition).
  std::array<std::uint64_t, 11> outcomes{};
  LatencyHistogram latency;  ///< Durations of the calls that have ended without an error.

  /// Returns the number of calls that are not over.
  [[nodiscard]] auto in_flight() const noexcept -> std::uint64_t { return started - ended; }

  /// Returns how many calls have failed.
  [[nodiscard]] auto failed() const noexcept -> std::uint64_t { return ended - outcomes[0]; }
  /// Returns how many calls have failed with this condition.
  [[nodiscard]] auto failed(failure condition) const noexcept -> std::uint64_t {
    return outcomes[static_cast<std::size_t>(condition)];
  }

  /// Adds each number of `other` to the same number here.
  DISTRIB_DECL auto operator+=(const MethodMetrics& other) noexcept -> MethodMetrics&;
  [[nodiscard]] auto operator==(const MethodMetrics&) const -> bool = default;
};

/// Counts calls by method. It is a `CallObserver` for the servers, clients and pools of one thread.
///
///     RpcMetrics<Push, Pull> metrics;
///     RpcServer server{executor, address, router, {}, metrics};
///     ...
///     metrics.of<Push>().latency.quantile(0.99);
///
/// A value: a `MethodMetrics` for each method and one for all other methods (2184 bytes each). Allocates no memory. To
/// take a snapshot, copy it on the executor; `+=` adds the snapshots of several threads together.
///
/// Threads: one at a time.
template <detail::RpcMethod... Methods> class RpcMetrics {
 public:
  /// Returns the number of methods.
  [[nodiscard]] static constexpr auto methods() noexcept -> std::size_t { return sizeof...(Methods); }
  /// Returns the name of method `i`; "other" for i == methods(). A larger `i` is not allowed (not checked).
  [[nodiscard]] static constexpr auto name(std::size_t i) noexcept -> std::string_view {
    constexpr std::array<std::string_view, sizeof...(Methods) + 1> names{Methods::name..., "other"};
    return names[i];
  }

  /// Returns the counters of method `M`.
  template <detail::RpcMethod M>
    requires(std::is_same_v<M, Methods> || ...)
  [[nodiscard]] auto of() const noexcept -> const MethodMetrics& {
    return counts_[index(M::id)];
  }
  /// Returns the counters of method `i`; for i == methods() the counters of all other methods. A larger `i` is not
  /// allowed (not checked).
  [[nodiscard]] auto operator[](std::size_t i) const noexcept -> const MethodMetrics& { return counts_[i]; }

  /// Adds the counters of `other`, method by method.
  auto operator+=(const RpcMetrics& other) noexcept -> RpcMetrics& {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    return *this;
  }
  [[nodiscard]] auto operator==(const RpcMetrics&) const -> bool = default;

  // --- CallObserver ---

  /// Count a call that begins, and one that ends, under its method. A method that is not among `Methods` counts as
  /// "other".
  void started(const ObservedCall& call) noexcept { ++counts_[index(call.method)].started; }
  void ended(const ObservedCall& call, const std::error_code& code) noexcept {
    MethodMetrics& counts = counts_[index(call.method)];
    ++counts.ended;
    counts.request_bytes += call.request_bytes;
    counts.reply_bytes += call.reply_bytes;
    if (code) [[unlikely]] {
      ++counts.outcomes[static_cast<std::size_t>(detail::condition_of(code))];
    } else {
      ++counts.outcomes[0];
      counts.latency.add(call.ended - call.began);
    }
  }

 private:
  static constexpr auto index(std::uint32_t method) noexcept -> std::size_t {
    std::size_t at = 0;
    (void)((method == Methods::id || (++at, false)) || ...);
    return at;
  }

  std::array<MethodMetrics, sizeof...(Methods) + 1> counts_{};
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/impl/rpc_metrics.ipp>
#endif
