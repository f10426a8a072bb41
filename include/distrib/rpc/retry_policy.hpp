// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/rpc/retry_options.hpp>

#include <algorithm>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Decides which calls that failed are made again.
///
/// - `rpc_errc::not_sent` and `closed`: the server has not carried it out, so any method is repeated.
/// - `rpc_errc::lost` and `silent`: it may have; only idempotent methods are repeated, while there are tokens. A server
///   that breaks under its load gets no more repeats than a tenth of what it answers.
/// - All else is an answer.
///
/// Source: gRPC's retry design (A6): transparent retries, throttling by a bucket of tokens. A value.
class RetryPolicy {
 public:
  explicit RetryPolicy(const RetryOptions& options = {}) noexcept : options_{options}, tokens_{options.most_tokens} {}

  /// A call was answered.
  void succeeded() noexcept { tokens_ = std::min(options_.most_tokens, tokens_ + options_.per_success); }

  /// Whether a call that failed like this, after so many attempts, is to be made again; takes the token.
  [[nodiscard]] DISTRIB_DECL auto again(const std::error_code& code, bool idempotent, unsigned attempts) noexcept
      -> bool;

  /// Whether there may be another attempt after so many: until then the request is needed.
  [[nodiscard]] auto may_repeat(unsigned attempts) const noexcept -> bool { return attempts < options_.most_attempts; }

 private:
  RetryOptions options_;
  double tokens_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/impl/retry_policy.ipp>
#endif
