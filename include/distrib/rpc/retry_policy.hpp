// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/rpc/retry_options.hpp>

#include <algorithm>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Decides which failed calls are repeated.
///
/// - `rpc_errc::not_sent` and `closed`: the server has not carried out the call, so a call of any method is repeated.
/// - `rpc_errc::lost` and `silent`: the server may have carried out the call. Only idempotent methods are repeated, and
///   each repeat takes a token. So a server that fails under its load gets at most `most_tokens` repeats, and then
///   `per_success` (a tenth) for each call that it answers without an error.
/// - Any other error is final: the call is not repeated.
///
/// Source: gRPC's retry design (A6): transparent retries, throttling by a bucket of tokens.
///
/// A value.
class RetryPolicy {
 public:
  explicit RetryPolicy(const RetryOptions& options = {}) noexcept : options_{options}, tokens_{options.most_tokens} {}

  /// Reports that a call was answered without an error.
  void succeeded() noexcept { tokens_ = std::min(options_.most_tokens, tokens_ + options_.per_success); }

  /// True if a call that failed with `code` should be repeated, after `attempts` attempts. Takes the token if the
  /// repeat needs one.
  [[nodiscard]] DISTRIB_DECL auto again(const std::error_code& code, bool idempotent, unsigned attempts) noexcept
      -> bool;

  /// True if another attempt may follow after `attempts` attempts, so that the request must be kept.
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
