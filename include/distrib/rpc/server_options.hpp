// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/frame_limits.hpp>
#include <distrib/rpc/shared_secret.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {

/// How a server behaves. Over a limit of calls a request is refused with `rpc_errc::exhausted` at once; over a limit of
/// bytes no further request is taken, frame by frame, until there are fewer: clients find their connection full. One
/// request more than the limit may be taken, however large.
struct RpcServerOptions {
  FrameLimits limits;  ///< The largest frame that is taken.
  std::uint32_t services = 1;  ///< Greetings may ask for services 0 .. services - 1.
  std::uint32_t threads = 0;  ///< Of an `RpcPoolServer`: how many of the pool's, the first; 0: all.
  std::uint32_t max_calls = 1024;  ///< Most calls in flight on a connection,
  std::uint32_t server_calls = 1U << 16;  ///< and on all connections of a thread.
  std::size_t owed_bytes = std::size_t{64} << 20;  ///< Most bytes of answers that wait to be written on a connection.
  /// Most bytes of requests that are not answered on a connection. More than what handlers wait for before they answer:
  /// a request that is not read cannot be what they wait for.
  std::size_t held_bytes = std::size_t{1} << 30;
  std::size_t server_bytes = std::size_t{4} << 30;  ///< Most of both on all connections of a thread.
  std::chrono::milliseconds greeting_within{5'000};  ///< A peer that has not shown who it is by then is closed,
  std::chrono::milliseconds silent_after{60'000};  ///< and so is one that was silent for so long,
  /// and one whose frame does not come to its end: so long may it take from the first byte on, and from each further
  /// `frame_progress_bytes` on.
  std::chrono::milliseconds frame_within{30'000};
  SharedSecret secret;  ///< If there is one, clients prove that they have it, and are shown that the server does.
};

}  // namespace v0
}  // namespace distrib
