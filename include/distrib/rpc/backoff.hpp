// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/philox.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/rpc/retry_options.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace distrib {
inline namespace v0 {

/// Decides when to try again after a failure. The pauses grow, and each pause is a random time in the second half of
/// its length, so that clients that lost the same server do not all connect again at the same time.
///
/// A pause is counted from the beginning of the attempt that failed. So after an attempt that took long, or a
/// connection that held long, the next attempt follows at once; but a server that greets and then fails is not tried
/// more often than the first pause allows.
///
/// A value: the same seed and sequence give the same pauses. Allocates no memory.
class Backoff {
 public:
  explicit Backoff(const BackoffOptions& options, std::uint64_t seed = 0, std::uint32_t sequence = 0) noexcept
      : first_{std::max(detail::bounded_time(options.first), std::chrono::milliseconds{1})},
        longest_{std::max(detail::bounded_time(options.longest), first_)},
        random_{seed, 0, sequence} {}

  /// Reports that an attempt begins.
  void begin(Instant now) noexcept { begun_ = now; }

  /// Reports that the attempt succeeded: the pause after the next failure is the first one again.
  void succeeded() noexcept { pause_ = {}; }

  /// Reports that the attempt failed, or that the connection it made has ended. Returns when the next attempt may
  /// begin; never before `now`.
  [[nodiscard]] DISTRIB_DECL auto failed(Instant now) noexcept -> Instant;

 private:
  std::chrono::milliseconds first_;
  std::chrono::milliseconds longest_;
  std::chrono::milliseconds pause_{};  // the last pause; 0: there was none since the last success
  Philox random_;
  Instant begun_{};
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/impl/backoff.ipp>
#endif
