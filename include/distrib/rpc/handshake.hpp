// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/net/transport.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/frame.hpp>
#include <distrib/rpc/frame_limits.hpp>
#include <distrib/rpc/frame_queue.hpp>
#include <distrib/rpc/frame_reader.hpp>
#include <distrib/rpc/greeting.hpp>
#include <distrib/rpc/nonce.hpp>
#include <distrib/rpc/shared_secret.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Throws `rpc_errc::unauthorized` for a secret without a nonce: that is a mistake of the caller, not of the peer.
inline void check_nonce(const SharedSecret& secret, const Nonce& nonce) {
  if (secret && nonce == Nonce{}) throw_error(rpc_errc::unauthorized, "a core that has a shared secret needs a nonce");
}

}  // namespace detail

/// The client's half of the handshake: the client greets, and the server answers. With a shared secret each end proves
/// to the other that it has the secret; the client does so with a second greeting. It is a core: it performs no I/O.
///
/// Threads: one at a time.
class ClientHandshake {
 public:
  /// `greeting`: the limits and the service that the client wants. `secret`: empty for none. `binding`: of the
  /// connection; both ends prove the secret for it too, so that nothing can stand between them. Throws
  /// `rpc_errc::unauthorized` for a secret without a nonce.
  ClientHandshake(Greeting greeting, SharedSecret secret, const Nonce& nonce, const ChannelBinding& binding = {})
      : secret_{std::move(secret)}, binding_{binding} {
    detail::check_nonce(secret_, nonce);
    if (secret_) greeting.nonce = nonce;
    head_ = greeting.encode();
  }

  /// True if there is a secret: other frames must then wait, because before the client's proof the server accepts only
  /// greetings.
  [[nodiscard]] auto holds_back() const noexcept -> bool { return static_cast<bool>(secret_); }

  /// Returns the queue for the frames of the handshake if it `holds_back`. They are written before all other frames.
  [[nodiscard]] auto queue() noexcept -> FrameQueue& { return queue_; }

  /// Adds the greeting to `queue`.
  void greet(FrameQueue& queue) const { queue.add({FrameKind::greeting}, {{}, {}, head_}); }

  /// Reads the server's first frame into `server`, and ends the handshake. Adds to `queue` the client's proof if there
  /// is a secret, or an error frame if the result is `unauthorized`.
  ///
  /// Errors: `rpc_errc::protocol`, `unsupported_version`; `unauthorized` if the server's proof is wrong or missing, or
  /// if only one end has a secret.
  [[nodiscard]] DISTRIB_DECL auto take(const Frame& frame, FrameQueue& queue, Greeting& server) -> Error;

 private:
  DISTRIB_DECL auto check(const Frame& frame, Greeting& server, WireWriter& answer) const -> Error;

  SharedSecret secret_;
  ChannelBinding binding_;
  std::vector<std::byte> head_;
  FrameQueue queue_;
};

/// The server's half of the handshake. It is a core: it performs no I/O.
///
/// Threads: one at a time.
class ServerHandshake {
 public:
  /// `greeting`: the limits of the server. `services`: the number of services. `secret`: empty for none. `binding`: as
  /// for a client. Throws `rpc_errc::unauthorized` for a secret without a nonce.
  ServerHandshake(const Greeting& greeting, std::uint32_t services, SharedSecret secret, const Nonce& nonce,
                  const ChannelBinding& binding = {})
      : greeting_{greeting}, services_{services}, secret_{std::move(secret)}, binding_{binding} {
    detail::check_nonce(secret_, nonce);
    if (secret_) greeting_.nonce = nonce;
  }

  /// Reads a frame of the client; call it until `over()`. Adds the server's greeting to `queue` if the first frame is
  /// accepted.
  ///
  /// Errors: `rpc_errc::protocol`, `unsupported_version`, `unknown_service`, `unauthorized`.
  [[nodiscard]] auto take(const Frame& frame, FrameQueue& queue) -> Error {
    if (frame.header->kind != FrameKind::greeting) return {rpc_errc::protocol, "instead of a greeting"};
    return expected_ ? take_proof(frame) : take_greeting(frame, queue);
  }

  /// True if the client has greeted and, if there is a secret, has proved that it has the secret.
  [[nodiscard]] auto over() const noexcept -> bool { return over_; }

  /// Returns the largest frame that the client accepts.
  [[nodiscard]] auto limits() const noexcept -> FrameLimits { return limits_; }

  /// Returns the service that the client wants; it may be `any_service`.
  [[nodiscard]] auto service() const noexcept -> std::uint32_t { return service_; }

 private:
  DISTRIB_DECL auto take_greeting(const Frame& frame, FrameQueue& queue) -> Error;

  DISTRIB_DECL auto take_proof(const Frame& frame) -> Error;

  Greeting greeting_;
  std::uint32_t services_;
  std::uint32_t service_ = 0;
  FrameLimits limits_;
  SharedSecret secret_;
  ChannelBinding binding_;
  std::optional<Sha256Digest> expected_;  // the client's proof; set while it is awaited
  bool over_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/impl/handshake.ipp>
#endif
