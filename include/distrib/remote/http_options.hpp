// SPDX-License-Identifier: Apache-2.0
// Of the optional component distrib::http.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace distrib {
inline namespace v0 {

/// How long a client waits, and whom it trusts. Names are resolved by the system, by deadlines of its own.
struct HttpOptions {
  std::chrono::milliseconds connect_timeout{10'000};  ///< For a connection.
  std::chrono::milliseconds idle_timeout{30'000};     ///< For the next byte, in either direction.
  std::chrono::milliseconds timeout{300'000};         ///< For a request and its answer.
  /// Certificates, in PEM, of who signs those of https servers; empty: those of the system.
  std::string authority = {};
};

/// How often something is tried, and the pauses between, which double.
struct HttpRetryOptions {
  std::size_t attempts = 8;  ///< In a row, without progress.
  std::chrono::milliseconds first_pause{100};
  std::chrono::milliseconds longest_pause{5000};
  std::uint64_t progress_bytes = 1 << 20;  ///< So many bytes that came make the attempts begin anew.
};

}  // namespace v0
}  // namespace distrib
