// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/transport.hpp>
#include <distrib/rpc/error_categories.hpp>
#include <distrib/rpc/frame_limits.hpp>
#include <distrib/rpc/greeting.hpp>
#include <distrib/rpc/shared_secret.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace distrib {
inline namespace v0 {

/// How a client behaves on one connection. A connection that exceeds one of the longest times ends with
/// `rpc_errc::silent`.
struct RpcClientOptions {
  FrameLimits limits;  ///< The largest frame that is accepted from the server.
  std::uint32_t service = any_service;  ///< The number of the server's service that the client wants.
  /// Most calls in flight; the server may allow fewer. A further call fails with `rpc_errc::exhausted`.
  std::uint32_t max_calls = 1024;
  /// While more bytes than this wait to be written, further calls fail with `rpc_errc::exhausted`.
  std::size_t owed_bytes = std::size_t{1} << 30;
  std::chrono::milliseconds ping_after{10'000};  ///< Time without bytes from the server after which a ping is sent.
  std::chrono::milliseconds silent_after{30'000};  ///< Longest time without bytes from the server.
  /// Longest time without progress in a frame that the server has begun: counted from its first byte, and again from
  /// each further 64 KiB.
  std::chrono::milliseconds frame_within{30'000};
  /// Longest time until the server's greeting, with its proof of the secret if there is one.
  std::chrono::milliseconds greeting_within{30'000};
  /// Categories in which the server's errors are looked up by name, besides "distrib.rpc". They must outlive the
  /// client.
  ErrorCategories categories;
  /// If set, calls are sent only after the server has proved that it has the same secret.
  SharedSecret secret;
  /// Makes the connection secure: `Tls::from_files` of `net/tls/tls.hpp`. Null: it is plain. A client that gets a
  /// connected stream refuses a plain one if this is set.
  std::shared_ptr<const Transport> transport = {};
};

}  // namespace v0
}  // namespace distrib
