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

/// What is counted of the calls of one method. A value: plain numbers.
struct MethodMetrics {
  std::uint64_t started = 0;
  std::uint64_t ended = 0;
  std::uint64_t request_bytes = 0;  ///< Of calls that ended.
  std::uint64_t reply_bytes = 0;    ///< The same.
  std::array<std::uint64_t, 11> outcomes{};  ///< Of calls that ended: 0: well; else failed, by the `failure`.
  LatencyHistogram latency;                  ///< Of calls that ended well.

  /// Calls that are not over.
  [[nodiscard]] auto in_flight() const noexcept -> std::uint64_t { return started - ended; }

  [[nodiscard]] auto failed() const noexcept -> std::uint64_t { return ended - outcomes[0]; }
  [[nodiscard]] auto failed(failure condition) const noexcept -> std::uint64_t {
    return outcomes[static_cast<std::size_t>(condition)];
  }

  DISTRIB_DECL auto operator+=(const MethodMetrics& other) noexcept -> MethodMetrics&;
  [[nodiscard]] auto operator==(const MethodMetrics&) const -> bool = default;
};

/// Counts calls by method: a `CallObserver` for a server, clients or pools of one thread.
///
///     RpcMetrics<Push, Pull> metrics;
///     RpcServer server{executor, address, router, {}, metrics};
///     ...
///     metrics.of<Push>().latency.quantile(0.99);
///
/// A value of 2.2 KiB a method: a snapshot is a copy, taken on the executor; those of several threads are put together
/// by `+=`. Nothing is allocated. Threads: one at a time.
template <detail::RpcMethod... Methods> class RpcMetrics {
 public:
  [[nodiscard]] static constexpr auto methods() noexcept -> std::size_t { return sizeof...(Methods); }
  /// Of the i-th; "other" for i == methods().
  [[nodiscard]] static constexpr auto name(std::size_t i) noexcept -> std::string_view {
    constexpr std::array<std::string_view, sizeof...(Methods) + 1> names{Methods::name..., "other"};
    return names[i];
  }

  template <detail::RpcMethod M>
    requires(std::is_same_v<M, Methods> || ...)
  [[nodiscard]] auto of() const noexcept -> const MethodMetrics& {
    return counts_[index(M::id)];
  }
  /// The i-th; for i == methods() what belongs to none of them.
  [[nodiscard]] auto operator[](std::size_t i) const noexcept -> const MethodMetrics& { return counts_[i]; }

  auto operator+=(const RpcMetrics& other) noexcept -> RpcMetrics& {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    return *this;
  }
  [[nodiscard]] auto operator==(const RpcMetrics&) const -> bool = default;

  // --- CallObserver ---

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
