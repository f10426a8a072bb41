// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace distrib {
inline namespace v0 {

/// How often calls are repeated.
struct RetryOptions {
  unsigned most_attempts = 3;  ///< Of one call, the first included; 1: none is repeated.
  double most_tokens = 1'000;  ///< A repeat of what may have been carried out takes one; so many at the begin,
  double per_success = 0.1;    ///< and each call that is answered brings so many back.
};

/// Pauses between tries that fail.
struct BackoffOptions {
  std::chrono::milliseconds first{50};       ///< The first one; doubled after each failure,
  std::chrono::milliseconds longest{2'000};  ///< up to this.
};

}  // namespace v0
}  // namespace distrib
