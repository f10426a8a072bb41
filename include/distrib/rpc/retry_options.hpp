// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace distrib {
inline namespace v0 {

/// How often calls are repeated. To repeat a call that may have been carried out takes a token.
struct RetryOptions {
  unsigned most_attempts = 3;  ///< Most attempts at one call, including the first. 1: no call is repeated.
  double most_tokens = 1'000;  ///< Number of tokens at the beginning, and the largest number.
  double per_success = 0.1;    ///< Number of tokens that each call adds that is answered without an error.
};

/// Pauses between attempts that fail. Each pause is a random time between half of its length and all of it, and
/// counts from the beginning of the attempt that failed.
struct BackoffOptions {
  /// Length of the first pause, at least 1 ms. Each further pause is twice as long.
  std::chrono::milliseconds first{50};
  std::chrono::milliseconds longest{2'000};  ///< Length of the longest pause.
};

}  // namespace v0
}  // namespace distrib
