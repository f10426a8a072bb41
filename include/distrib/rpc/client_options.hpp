// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/error_categories.hpp>
#include <distrib/rpc/frame_limits.hpp>
#include <distrib/rpc/greeting.hpp>
#include <distrib/rpc/shared_secret.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {

/// How a client behaves on one connection.
struct RpcClientOptions {
  FrameLimits limits;                            ///< The largest frame that is taken.
  std::uint32_t service = any_service;           ///< Which of the server's services is wanted.
  std::uint32_t max_calls = 1024;                ///< Most calls in flight; the server may allow fewer.
  /// While more bytes than these wait to be written, further calls fail with `rpc_errc::exhausted`.
  std::size_t owed_bytes = std::size_t{1} << 30;
  std::chrono::milliseconds ping_after{10'000};  ///< The server is asked for a sign of life when silent for so long,
  std::chrono::milliseconds silent_after{30'000};  ///< and given up when it was silent for so long,
  /// or when a frame of its own did not come to its end: so long may it take from the first byte on, and from each
  /// further `frame_progress_bytes` on.
  std::chrono::milliseconds frame_within{30'000};
  std::chrono::milliseconds greeting_within{30'000};  ///< A server that has not shown who it is by then is given up.
  ErrorCategories categories;                    ///< Errors of the server are looked up in these; must live on.
  SharedSecret secret;  ///< If there is one, calls wait until the server has proved that it has it too.
};

}  // namespace v0
}  // namespace distrib
