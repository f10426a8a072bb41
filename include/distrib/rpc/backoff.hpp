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

/// When something that failed is tried again: pauses grow, and are spread over their later half, so that clients that
/// lost the same server do not all come back at once.
///
/// A pause is counted from the begin of the try that failed: one that took long, or a connection that held long, is
/// followed by the next at once. A server that greets and breaks is not asked more often than the first pause allows.
/// A value; the same seed gives the same pauses. Memory: none of its own.
class Backoff {
 public:
  explicit Backoff(const BackoffOptions& options, std::uint64_t seed = 0, std::uint32_t sequence = 0) noexcept
      : first_{std::max(options.first, std::chrono::milliseconds{1})},
        longest_{std::max(options.longest, first_)},
        random_{seed, 0, sequence} {}

  /// A try begins.
  void begin(Instant now) noexcept { begun_ = now; }

  /// It went well: the next failure is a first one.
  void succeeded() noexcept { pause_ = {}; }

  /// It failed, or what it brought has ended. Returns when the next one may begin, `now` at the earliest.
  [[nodiscard]] DISTRIB_DECL auto failed(Instant now) noexcept -> Instant;

 private:
  std::chrono::milliseconds first_;
  std::chrono::milliseconds longest_;
  std::chrono::milliseconds pause_{};  // the last one; 0: there was none since a success
  Philox random_;
  Instant begun_{};
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/impl/backoff.ipp>
#endif
